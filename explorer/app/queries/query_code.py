"""Writes Python code that asks the same as a query of the dashboard."""

from collections.abc import Mapping

from explorer.app.queries.answers import Answer
from explorer.app.queries.asking import KINDS
from explorer.app.queries.named_variables import Variables


def code_of(answer: Answer, step: int, source: str | None = None) -> str:
    """Return code that asks the same as was answered, of the step of a `trace`.

    `source` is the checkpoint of a circuit whose variables have columns: values are then written and printed as the
    table has them, not as codes.
    """
    query, variables = answer.query, answer.variables
    kind, columns = KINDS[query.kind], variables.columns
    table = source if columns else None
    is_moments = bool(table) and query.kind == "moments"
    function = kind.code.partition("(")[0].removeprefix("[")
    lines = ["import torch", *(["import explorer"] if table else [])]
    lines.append(
        "from explorer.app.queries.asking import expect"
        if is_moments
        else f"from explorer.backend.queries import {function}"
    )
    lines.append("")
    if table:
        lines.append(f"table = explorer.load({table!r})")
    lines.append(f"circuit = trace.circuit_at({step})")
    if kind.has_evidence:
        x, observed = (part[0].tolist() for part in query.evidence)
        known = {at: value for at, value in enumerate(x) if observed[at]}
        if table:
            cells = variables.decode(query.evidence.x)[0]
            values = {columns[at].name: cells[at] for at in known}
            lines.append(f"{'evidence' if is_moments else 'x, observed'} = table.encode({values!r})")
        else:
            lines += _codes(known, variables)
    if query.given is not None and kind.has_given:
        lines.append("given = torch.zeros(circuit.num_variables, dtype=torch.bool)")
        lines.append(f"given[{query.given.nonzero().flatten().tolist()}] = True")
    if kind.is_sampled:
        lines.append(f"generator = torch.Generator().manual_seed({query.seed})")
    root = "" if query.root is None else f", root={query.root}"
    asked = kind.code.format(count=query.num_samples, root=root)
    if answer.log_scale:
        lines.append("# the logarithm is of codes; minus this, it is of the values in the units of the table")
        lines.append(f"log_scale = {answer.log_scale!r}")
    printed = kind.printed.format(scale=" - log_scale" if answer.log_scale else "")
    if table and kind.is_sampled:
        printed = "*table.table(found[:, 0]), sep='\\n'"
    elif is_moments:
        asked = f"expect(circuit, table.variables, evidence, {query.root})"
        printed = "*found.moments(), sep='\\n'"
    elif table:
        printed = printed.replace("found.assignment", "table.table(found.assignment)")
    return "\n".join([*lines, f"found = {asked}", f"print({printed})"])


def _codes(known: Mapping[int, float], variables: Variables) -> list[str]:
    """Return lines that make the row `x` of codes and the mask `observed`; a comment has the values of columns."""
    is_discrete = variables.real is not None and not variables.real
    shown = ", ".join(f"{at}: {int(value) if is_discrete else value}" for at, value in known.items())
    dtype = ", dtype=torch.long" if is_discrete else ", dtype=torch.float64" if variables.real else ""
    lines = [
        f"x = torch.zeros(1, circuit.num_variables{dtype})",
        "observed = torch.zeros(circuit.num_variables, dtype=torch.bool)",
    ]
    if not known:
        return lines
    names = variables.names
    said = ", ".join(f"{names[at]} = {variables.text(at, value)}" for at, value in known.items())
    return [
        *([f"# as codes: {said}"] if variables.columns else []),
        f"known = {{{shown}}}",
        *lines,
        "x[0, list(known)] = torch.tensor(list(known.values()), dtype=x.dtype)",
        "observed[list(known)] = True",
    ]
