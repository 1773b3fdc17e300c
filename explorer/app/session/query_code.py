"""Writes Python code that asks the same as a query of the dashboard."""

from collections.abc import Mapping

import numpy as np

from explorer.app.session.querying import KINDS, Answer, QueryKind
from explorer.app.session.variables import Variables


def code_of(
    answer: Answer, step: int, is_discrete: bool, variables: Variables | None = None, source: str | None = None
) -> str:
    """Return code that asks the same as was answered, of the step of a `trace`.

    `source` is the checkpoint of the circuit, whose columns are those of the `variables`: values are then written and
    printed as the table has them, not as codes.
    """
    query = answer.query
    kind = KINDS[query.kind]
    columns = variables.columns if variables is not None else ()
    table = source if columns else None
    lines = ["import torch", *(["import explorer"] if table else [])]
    if table and query.kind == "moments":
        lines += ["from explorer.app.expected import category_probabilities, spread_of", ""]
    else:
        lines += [f"from explorer.backend.queries import {_function(kind)}", ""]
    if table:
        lines.append(f"table = explorer.load({table!r})")
    lines.append(f"circuit = trace.circuit_at({step})")
    if kind.has_evidence:
        known = {at: value for at, value in enumerate(query.evidence.x) if query.evidence.observed[at]}
        if table:
            cells = {columns[at].name: columns[at].decode(np.array([value]))[0] for at, value in known.items()}
            lines.append(f"x, observed = table.encode({cells!r})")
            lines += [] if is_discrete else ["x = x.to(torch.get_default_dtype())"]
        else:
            lines += _codes(known, is_discrete, variables if columns else None)
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
    if table and query.kind == "moments":
        return "\n".join([*lines, _MOMENTS.format(root=answer.root or (0, 0))])
    printed = kind.printed.format(scale=" - log_scale" if answer.log_scale else "")
    if table and query.kind == "sample":
        return "\n".join([*lines, f"found = {asked}", "print(*table.table(found[:, 0]), sep='\\n')"])
    if table:
        printed = printed.replace("found.assignment", "table.table(found.assignment)")
    return "\n".join([*lines, f"found = {asked}", f"print({printed})"])


_MOMENTS = """found = spread_of(circuit, x, observed, {root})
for at, column in enumerate(table.columns):
    if labels := getattr(column, "labels", ()):
        shares = category_probabilities(circuit, at, len(labels), x, observed, {root})[0]
        print(column.name, dict(zip(labels, shares.tolist())))
    else:
        mean, deviation = (column.unit * part[0, at].item() for part in (found.mean, found.deviation))
        print(column.name, column.zero + mean, deviation)"""
"""The moments of the columns of a table, in their units; of categories, their probabilities."""


def _codes(known: Mapping[int, float], is_discrete: bool, named: Variables | None) -> list[str]:
    """Lines that make the row `x` of codes and the mask `observed`; `named` are the columns of a table without file."""
    shown = ", ".join(f"{at}: {int(value) if is_discrete else value}" for at, value in known.items())
    dtype = ", dtype=torch.long" if is_discrete else ""
    lines = [
        f"x = torch.zeros(1, circuit.num_variables{dtype})",
        "observed = torch.zeros(circuit.num_variables, dtype=torch.bool)",
    ]
    if not known:
        return lines
    said = ", ".join(f"{named.names[at]} = {named.text(at, value)}" for at, value in known.items()) if named else ""
    return [
        *([f"# as codes: {said}"] if said else []),
        f"known = {{{shown}}}",
        *lines,
        "x[0, list(known)] = torch.tensor(list(known.values()), dtype=x.dtype)",
        "observed[list(known)] = True",
    ]


def _function(kind: QueryKind) -> str:
    return kind.code.partition("(")[0].removeprefix("[")
