"""The answer to a query as the dashboard shows it: tables, rows with names, a note in words, and the same as Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, fsum, inf, log

from torch import Tensor

from explorer.app.queries.named_variables import MAX_LABELS, MAX_SHOWN, Evidence, Variables
from explorer.app.queries.query_kinds import KINDS, Expected, Found, Query, ask
from explorer.backend import TorchCircuit
from explorer.errors import CircuitError
from explorer.views import plural
from explorer_widgets.schema import TableView

NONE = "–"
"""The cell of a variable without a deviation."""
MAX_EXPONENT = 700
"""Exponentials of more are beyond the range of a float."""
Rows = tuple[tuple[str, tuple[float, ...]], ...]
"""Rows (D,) of codes with their names."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query: a table, named rows, a note; `expected` describes each of the first variables.

    `log_scale` was subtracted from the logarithms: densities are of cells, not of codes.
    """

    query: Query
    variables: Variables
    table: TableView
    rows: Rows = ()
    note: str = ""
    expected: TableView | None = None
    log_scale: float = 0.0


def answer(circuit: TorchCircuit, query: Query, variables: Variables | None = None) -> Answer:
    """Ask a circuit, and write the answer. Raises: as `ask`."""
    found = ask(circuit, query, variables)
    if found.completion is not None:
        return _completion_answer(found)
    if found.expected is not None:
        return _moments_answer(found, found.expected)
    if found.rows is not None:
        return _sample_answer(found, found.rows)
    assert found.values is not None
    shown = _number_answer(found, found.values)
    if query.kind != "marginal" or bool(found.query.evidence.observed.all()):
        return shown
    root = query.root or (0, 0)
    try:
        expected = ask(circuit, replace(query, kind="moments", root=root), found.variables).expected
    except CircuitError as error:
        return replace(shown, note=f"No expected values: {error}.")
    assert expected is not None
    rows = (("expected values", _row(expected.rows)),)
    return replace(shown, rows=rows, expected=expected_table(expected), note=f"What to expect {_given(found)}.")


def _number_answer(found: Found, values: Tensor) -> Answer:
    """Return the numbers (1, outputs, classes) as a table, with their exponentials; an entropy is also in bits."""
    shape = values.shape[1:]
    is_entropy = found.query.kind == "entropy"
    rows: list[list[str]] = []
    for output, row in enumerate(values[0]):
        for number, value in enumerate(row):
            place = "" if tuple(shape) == (1, 1) else f", output {output}, class {number}"
            size = value.real.item()
            angle = f" + {value.imag.item():.6g}i" if value.is_complex() and value.imag.item() else ""
            other = f"{decimal(size / log(2))} bits" if is_entropy else "" if angle else exponential(size)
            rows.append([f"{_event_name(found)}{place}", f"{in_nats(size)}{angle}", other])
    columns = ["query", "in nats", "in bits"] if is_entropy else ["query", "logarithm", exponential_name(found)]
    return Answer(found.query, found.variables, {"columns": columns, "rows": rows}, log_scale=float(found.log_scale[0]))


def exponential_name(found: Found, row: int = 0) -> str:
    """What the exponential of the number of a row is: a probability, a density, or only a value."""
    if found.variables.real is None or found.name != "log p":
        return "value"
    asked = _asked(found, row)
    return "density" if any(asked[v] for v in found.variables.real) else "probability"


def _asked(found: Found, row: int = 0) -> Tensor:
    """Return the variables (D,) of the probability that a row asks for."""
    observed, given = found.query.evidence.observed, found.query.given
    return observed[row] if given is None else observed[row] & ~given.expand(observed.shape)[row]


def _event_name(found: Found) -> str:
    """Return the name of a number: log p(x), log p(x0 = 1 | x2 = 0), log Z."""
    x, observed = found.query.evidence
    if found.name != "log p":
        return found.name
    if found.query.kind == "log-likelihood":
        return "log p(x)"
    asked = found.variables.event(x[0], _asked(found))
    if found.query.given is None:
        return f"log p({asked or 'observed'})"
    given = found.variables.event(x[0], observed[0] & ~_asked(found))
    return f"log p({asked} | {given})" if asked and given else "log p(asked | given)"


def _given(found: Found) -> str:
    x, observed = found.query.evidence
    known, noun = int(observed.sum()), found.variables.noun
    event = found.variables.event(x[0], observed[0])
    return f"given {event or plural(known, f'observed {noun}')}" if known else f"of each {noun}"


def _moments_answer(found: Found, expected: Expected) -> Answer:
    rows = (("mean", _row(expected.rows)), ("standard deviation", _row(expected.deviation.nan_to_num())))
    note = f"What to expect {_given(found)}, and how much it varies."
    return Answer(found.query, found.variables, {"columns": [], "rows": []}, rows, note, expected_table(expected))


def _completion_answer(found: Found) -> Answer:
    completion, scale = found.completion, float(found.log_scale[0])
    assert completion is not None
    assignment = _row(completion.assignment)
    rows = [["log p(completed)", in_nats(completion.log_probability[0].item() - scale)]]
    if is_exact := bool(completion.is_exact[0]):
        rows.append(["most probable", "yes: nothing that agrees with the evidence is more probable"])
    else:
        rows.append(["most probable", "not proved: the circuit is not known to be deterministic"])
        rows.append(["no completion has more than", in_nats(completion.log_bound[0].item() - scale)])
    named = (("most probable" if is_exact else "probable completion", assignment),)
    note = "The most probable completion." if is_exact else "A probable completion, maybe not the most probable one."
    return Answer(
        found.query, found.variables, {"columns": ["value", "result"], "rows": rows}, named, note, log_scale=scale
    )


def _sample_answer(found: Found, drawn: Tensor) -> Answer:
    rows = tuple((f"sample {number}", _row(row.unsqueeze(0))) for number, row in enumerate(drawn[0]))
    evidence, count = found.query.evidence, plural(len(rows), "sample")
    known = int(evidence.observed.sum())
    given = f"given {plural(known, f'observed {found.variables.noun}')}" if known else "of the joint distribution"
    return Answer(found.query, found.variables, rows_table(rows, found.variables, evidence), rows, f"{count} {given}.")


def _row(rows: Tensor) -> tuple[float, ...]:
    return tuple(rows[0].double().tolist())


# ---------------------------------------------------------------------- tables


def rows_table(rows: Rows, variables: Variables, evidence: Evidence) -> TableView:
    """Return rows (D,) of codes as a table, a column for each of the first variables; observed ones are marked."""
    seen = evidence.observed[0].tolist()
    names = [f"{name} (observed)" if known else name for name, known in zip(variables.names, seen, strict=True)]
    cells = [[name, *(variables.text(v, code) for v, code in enumerate(row[:MAX_SHOWN]))] for name, row in rows]
    return {"columns": ["row", *names[:MAX_SHOWN]], "rows": cells}


def expected_table(expected: Expected) -> TableView:
    """Return a row for each of the first variables: the observed value, or what to expect."""
    rows: list[list[str]] = []
    variables = expected.variables
    for v, name in enumerate(variables.names[:MAX_SHOWN]):
        moment = expected.in_units(v)
        if expected.evidence.observed[0, v]:
            rows.append([name, f"{variables.text(v, float(expected.evidence.x[0, v]))} (observed)", NONE])
        elif expected.mean[0, v].isnan():
            rows.append([name, "not read by this output", NONE])
        elif v in expected.shares:
            rows.append([name, _shares_text(variables.labels(v), expected.shares[v][0].tolist()), NONE])
        else:
            rows.append([name, f"{moment.mean:.4g}", f"{'at most ' * moment.is_bound}{moment.deviation:.4g}"])
    return {"columns": ["variable", "mean, or probabilities", "standard\N{NO-BREAK SPACE}deviation"], "rows": rows}


def _shares_text(labels: Sequence[str], shares: Sequence[float]) -> str:
    """Return the most probable categories with their probabilities, and how probable the others are together."""
    order = sorted(range(len(labels)), key=lambda at: -shares[at])
    named = len(labels) if len(labels) <= MAX_LABELS + 1 else MAX_LABELS  # one other takes no less room than its name
    found = [f"{labels[at]}: {shares[at]:.3f}" for at in order[:named]]
    rest = order[named:]
    return ", ".join([*found, *([f"others: {fsum(shares[at] for at in rest):.3f}"] if rest else [])])


# ---------------------------------------------------------------------- numbers in words


def in_nats(value: float) -> str:
    """Return a logarithm with its unit."""
    return f"{decimal(value)} nats"


def scale_words(log_scale: float) -> str:
    """Return how outputs of a circuit, which reads codes, differ from logarithms in the units of a table, if at all."""
    if not log_scale:
        return ""
    side = "more" if log_scale > 0 else "less"
    return f"In the units of the table. The circuit reads codes, so its outputs are {in_nats(abs(log_scale))} {side}."


def decimal(value: float) -> str:
    """Return a number of six digits."""
    return f"{value:.6g}".replace("-", "−")


def exponential(size: float) -> str:
    """Return the number with this logarithm, as far as a float can hold it."""
    if size == -inf:
        return "0"
    value = exp(size) if size < MAX_EXPONENT else inf
    return f"{value:.4g}".replace("-", "−") if 0 < value < inf else "out of the range of a float"


# ---------------------------------------------------------------------- the same in Python


def code_of(answer: Answer, step: int, source: str | None = None) -> str:
    """Return code that asks the same as was answered, of the step of a `trace`.

    `source` is the checkpoint of a circuit whose variables have columns: values are then written and printed as the
    table has them, not as codes.
    """
    query, variables = answer.query, answer.variables
    kind, columns = KINDS[query.kind], variables.columns
    table = source if columns else None
    asked = kind.code.format(count=query.num_samples, root="" if query.root is None else f", root={query.root}")
    printed = kind.printed.format(scale=" - log_scale" if answer.log_scale else "")
    module, function = "explorer.backend.queries", asked.partition("(")[0].removeprefix("[")
    evidence = "x, observed"
    if table and query.kind == "moments":
        module, function, evidence = "explorer.app.queries.query_kinds", "expect", "evidence"
        asked, printed = f"expect(circuit, table.variables, evidence, {query.root})", "*found.moments(), sep='\\n'"
    elif table and kind.is_sampled:
        printed = "*table.table(found[:, 0]), sep='\\n'"
    elif table:
        printed = printed.replace("found.assignment", "table.table(found.assignment)")
    lines = ["import torch", *(["import explorer"] if table else []), f"from {module} import {function}", ""]
    lines += [f"table = explorer.load({table!r})"] if table else []
    lines.append(f"circuit = trace.circuit_at({step})")
    if kind.has_evidence:
        x, observed = (part[0].tolist() for part in query.evidence)
        known = {at: value for at, value in enumerate(x) if observed[at]}
        if table:
            cells = variables.decode(query.evidence.x)[0]
            values = {columns[at].name: cells[at] for at in known}
            lines.append(f"{evidence} = table.encode({values!r})")
        else:
            lines += _codes(known, variables)
    if query.given is not None and kind.has_given:
        lines.append("given = torch.zeros(circuit.num_variables, dtype=torch.bool)")
        lines.append(f"given[{query.given.nonzero().flatten().tolist()}] = True")
    if kind.is_sampled:
        lines.append(f"generator = torch.Generator().manual_seed({query.seed})")
    if answer.log_scale:
        lines.append("# the logarithm is of codes; minus this, it is of the values in the units of the table")
        lines.append(f"log_scale = {answer.log_scale!r}")
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
