"""Writes Python code that asks the same as a query of the dashboard."""

from explorer.app.session.querying import KINDS, Answer, QueryKind
from explorer.app.session.variables import Variables


def code_of(answer: Answer, step: int, is_discrete: bool, variables: Variables | None = None) -> str:
    """Return code that asks the same as was answered, of the step of a `trace`."""
    query = answer.query
    kind = KINDS[query.kind]
    named = variables if variables is not None and variables.columns else None
    lines = ["import torch", f"from explorer.backend.queries import {_function(kind)}", ""]
    lines.append(f"circuit = trace.circuit_at({step})")
    if kind.has_evidence:
        known = {at: value for at, value in enumerate(query.evidence.x) if query.evidence.observed[at]}
        shown = ", ".join(f"{at}: {int(value) if is_discrete else value}" for at, value in known.items())
        dtype = ", dtype=torch.long" if is_discrete else ""
        if named is not None and known:
            said = ", ".join(f"{named.names[at]} = {named.text(at, value)}" for at, value in known.items())
            lines.append(f"# as codes: {said}")
        lines += [
            f"known = {{{shown}}}",
            f"x = torch.zeros(1, circuit.num_variables{dtype})",
            "observed = torch.zeros(circuit.num_variables, dtype=torch.bool)",
        ]
        if known:
            lines.append("x[0, list(known)] = torch.tensor(list(known.values()), dtype=x.dtype)")
            lines.append("observed[list(known)] = True")
    if kind.has_given:
        lines.append("given = torch.zeros(circuit.num_variables, dtype=torch.bool)")
        lines.append(f"given[{list(query.given)}] = True")
    if kind.is_sampled:
        lines.append(f"generator = torch.Generator().manual_seed({query.seed})")
    root = "" if answer.root is None else f", root={answer.root}"
    asked = kind.code.format(count=query.num_samples, root=root)
    if answer.log_scale:
        lines.append("# the logarithm is of codes; minus this, it is of the values in the units of the table")
        lines.append(f"log_scale = {answer.log_scale!r}")
    printed = kind.printed.format(scale=" - log_scale" if answer.log_scale else "")
    return "\n".join([*lines, f"found = {asked}", f"print({printed})"])


def _function(kind: QueryKind) -> str:
    return kind.code.partition("(")[0].removeprefix("[")
