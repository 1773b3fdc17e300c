"""Asks the circuit of a step: a query with its evidence, the answer as data, and the same as Python code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, isfinite

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.queries import (
    conditional,
    log_likelihood,
    marginal,
    moments,
    most_probable,
    partition_function,
    sample,
)
from explorer.bench.inputs import variable_kinds
from explorer.errors import FormError
from explorer.symbolic import Circuit, ConstantInitializer
from explorer.trace import Trace
from explorer.views import plural
from widgets.schema import TableView

UNKNOWN = "?"
"""The entry of a variable that is not observed."""
MAX_SHOWN = 24
"""Maximum number of variables that a table of rows has as columns."""
MEANS = "The expected value of each variable, given what is observed."
MAX_SAMPLES = 64
MAX_EXPONENT = 700
"""Exponentials of more are beyond the range of a float."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row (D,), and which of its entries are observed; the values of others are ignored."""

    x: tuple[float, ...]
    observed: tuple[bool, ...]

    @staticmethod
    def nothing(count: int) -> "Evidence":
        """No variable is observed."""
        return Evidence((0.0,) * count, (False,) * count)

    @staticmethod
    def parse(text: str, count: int) -> "Evidence":
        """Read `1, ?, 0`: a number for each observed variable, and ? for the others. Raises: FormError."""
        entries = [entry.strip() for entry in text.replace(";", ",").split(",")]
        if len(entries) != count:
            raise FormError(f"expected {count} entries, a number or {UNKNOWN} for each variable; got {len(entries)}")
        values = [0.0 if entry in ("", UNKNOWN) else _number(entry, at) for at, entry in enumerate(entries)]
        return Evidence(tuple(values), tuple(entry not in ("", UNKNOWN) for entry in entries))

    def __str__(self) -> str:
        pairs = zip(self.x, self.observed, strict=True)
        return ", ".join(f"{value:g}" if known else UNKNOWN for value, known in pairs)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: one of `KINDS`; `given` are the variables that a conditional is given, of those observed."""

    kind: str
    evidence: Evidence
    given: tuple[int, ...] = ()
    num_samples: int = 8
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query: a table, rows (D,) with their names, what they are, and the (output, class) asked about.

    `root` is None where all outputs are, or there is one only.
    """

    query: Query
    table: TableView
    rows: tuple[tuple[str, tuple[float, ...]], ...] = ()
    note: str = ""
    root: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A query with its tensors: x and observed (1, D)."""

    circuit: TorchCircuit
    query: Query
    x: Tensor
    observed: Tensor
    is_density: bool
    root: tuple[int, int] | None

    @property
    def generator(self) -> torch.Generator:
        return torch.Generator(self.x.device).manual_seed(self.query.seed)

    @property
    def given(self) -> Tensor:
        """The variables that a conditional is given, as a mask (D,)."""
        found = torch.zeros(self.x.shape[1], dtype=torch.bool)
        found[list(self.query.given)] = True
        return found


@dataclass(frozen=True, slots=True)
class QueryKind:
    """A kind of query: its title, what it says in a sentence, and how it is asked."""

    name: str
    title: str
    meaning: str
    ask: Callable[[_Asked], Answer] = field(compare=False)
    code: str
    has_evidence: bool = True
    has_given: bool = False
    is_sampled: bool = False


def ask(circuit: TorchCircuit, query: Query) -> Answer:
    """Ask a circuit. Raises: FormError, and what the query raises, as StructureError, ShapeError, ValueRangeError."""
    kind, count = KINDS[query.kind], circuit.num_variables
    if len(query.evidence.x) != count:
        raise FormError(f"expected a row of {count} variables; got {len(query.evidence.x)}")
    if kind.has_given:
        _check_given(query, count)
    _, real = variable_kinds(circuit)
    dtype = torch.get_default_dtype() if real else torch.float64  # not an integer type, in which 1.5 were 1
    x = torch.tensor([query.evidence.x], dtype=dtype)
    root = None if circuit.output_shape == (1, 1) else (0, 0)
    asked = _Asked(circuit, query, x, torch.tensor([query.evidence.observed]), bool(real), root)
    with torch.no_grad():
        return kind.ask(asked)


def is_untrained(trace: Trace) -> bool:
    """Whether the circuit of a trace begins with random values."""
    leaves = trace.subject.leaf_names if isinstance(trace.subject, Circuit) else ()
    return any(leaf.learnable and not isinstance(leaf.initializer, ConstantInitializer) for leaf in leaves)


def parse_variables(text: str, count: int) -> tuple[int, ...]:
    """Read `0, 2, 5-9`: the numbers of variables. Raises: FormError."""
    found: list[int] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        first, _, last = entry.partition("-")
        if not first.strip().isdigit() or not (last or first).strip().isdigit():
            raise FormError(f"expected numbers of variables, such as 0, 2, 5-9; got {entry!r}")
        found += range(int(first), int(last or first) + 1)
        if found and found[-1] >= count:
            raise FormError(f"the variables are 0 to {count - 1}; got {found[-1]}")
    return tuple(dict.fromkeys(found))


def code_of(answer: Answer, step: int, is_discrete: bool) -> str:
    """Return code that asks the same as was answered, of the step of a `trace`."""
    query = answer.query
    kind = KINDS[query.kind]
    lines = ["import torch", f"from explorer.backend.queries import {_function(kind)}", ""]
    lines.append(f"circuit = trace.circuit_at({step})")
    if kind.has_evidence:
        known = {at: value for at, value in enumerate(query.evidence.x) if query.evidence.observed[at]}
        shown = ", ".join(f"{at}: {int(value) if is_discrete else value}" for at, value in known.items())
        dtype = ", dtype=torch.long" if is_discrete else ""
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
    return "\n".join([*lines, kind.code.format(count=query.num_samples, root=root)])


def _function(kind: QueryKind) -> str:
    return kind.code.partition("(")[0]


def _number(entry: str, variable: int) -> float:
    try:
        value = float(entry)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise FormError(f"expected a number or {UNKNOWN} for variable {variable}; got {entry!r}")
    return value


def _check_given(query: Query, count: int) -> None:
    unknown = [at for at in query.given if not query.evidence.observed[at]]
    if unknown:
        raise FormError(f"variable {unknown[0]} is given, so it needs a value; it is not observed")
    if len(query.given) == sum(query.evidence.observed):
        raise FormError("a conditional needs observed variables that are not given: those that are asked about")


# ---------------------------------------------------------------------- the kinds


def _ask_likelihood(asked: _Asked) -> Answer:
    missing = sum(not known for known in asked.query.evidence.observed)
    if missing:
        count = f"{plural(missing, 'variable')} {'is' if missing == 1 else 'are'} not observed"
        raise FormError(f"{count}: a log-likelihood is of a whole row; ask for the marginal")
    return _number_answer(asked, "log p(x)", log_likelihood(asked.circuit, asked.x))


def _ask_marginal(asked: _Asked) -> Answer:
    found = _number_answer(asked, "log p(observed)", marginal(asked.circuit, asked.x, asked.observed))
    if all(asked.query.evidence.observed):
        return found
    output, number = asked.root or (0, 0)
    mean = moments(asked.circuit, 1, asked.x, asked.observed)[0, output, number]
    row = tuple(torch.where(mean.isnan(), 0.0, mean).double().tolist())  # NaN: the output does not read the variable
    return Answer(found.query, found.table, (("expected values", row),), MEANS)


def _ask_conditional(asked: _Asked) -> Answer:
    query = asked.observed & ~asked.given
    return _number_answer(asked, "log p(asked | given)", conditional(asked.circuit, asked.x, query, asked.given))


def _ask_most_probable(asked: _Asked) -> Answer:
    found = most_probable(asked.circuit, asked.x, asked.observed, root=asked.root)
    row = tuple(found.assignment[0].double().tolist())
    log, bound, is_exact = found.log_probability[0].item(), found.log_bound[0].item(), bool(found.is_exact[0])
    rows = [["log p(completed)", _nats(log)]]
    if is_exact:
        rows.append(["most probable", "yes: nothing that agrees with the evidence is more probable"])
    else:
        rows.append(["most probable", "not proved: the circuit is not deterministic"])
        rows.append(["no completion has more than", _nats(bound)])
    table: TableView = {"columns": ["value", "result"], "rows": rows}
    named = (("most probable" if is_exact else "probable", row),)
    note = "" if is_exact else "What max-product finds; it may not be the maximum."
    return Answer(asked.query, table, named, note, asked.root)


def _ask_sample(asked: _Asked) -> Answer:
    count = asked.query.num_samples
    drawn = sample(asked.circuit, count, asked.x, asked.observed, generator=asked.generator, root=asked.root)
    rows = tuple((f"sample {number}", tuple(row.double().tolist())) for number, row in enumerate(drawn[:, 0]))
    known = sum(asked.query.evidence.observed)
    note = f"{plural(count, 'sample')} given {plural(known, 'observed variable')}." if known else ""
    note = note or f"{plural(count, 'sample')} of the joint distribution."
    return Answer(asked.query, rows_table(rows), rows, note, asked.root)


def _ask_partition(asked: _Asked) -> Answer:
    return _number_answer(asked, "log Z", partition_function(asked.circuit).unsqueeze(0))


def _number_answer(asked: _Asked, name: str, found: Tensor) -> Answer:
    """The logarithms (1, outputs, classes) as a table."""
    outputs, classes = found.shape[1:]
    what = "density" if asked.is_density and name != "log Z" else "value"
    rows: list[list[str]] = []
    for output in range(outputs):
        for number in range(classes):
            value = found[0, output, number]
            where = "" if (outputs, classes) == (1, 1) else f", output {output}, class {number}"
            log = value.real.item()
            angle = f" + {value.imag.item():.6g}i" if value.is_complex() and value.imag.item() else ""
            rows.append([f"{name}{where}", f"{_nats(log)}{angle}", "" if angle else _plain(log)])
    return Answer(asked.query, {"columns": ["query", "logarithm", what], "rows": rows})


def _nats(log: float) -> str:
    return f"{log:.6g} nats".replace("-", "−")


def _plain(log: float) -> str:
    """The number itself, as far as a float can hold it."""
    if log == -inf:
        return "0"
    value = exp(log) if log < MAX_EXPONENT else inf
    return f"{value:.4g}".replace("-", "−") if 0 < value < inf else "out of the range of a float"


def rows_table(rows: Sequence[tuple[str, Sequence[float]]]) -> TableView:
    """Rows (D,) as a table, a column for each of the first variables."""
    count = min(MAX_SHOWN, len(rows[0][1]) if rows else 0)
    columns = ["row", *(f"x{variable}" for variable in range(count))]
    return {"columns": columns, "rows": [[name, *(f"{value:.4g}" for value in row[:count])] for name, row in rows]}


KINDS: Mapping[str, QueryKind] = {
    kind.name: kind
    for kind in (
        QueryKind(
            "log-likelihood",
            "Log-likelihood",
            "How probable a whole row is.",
            _ask_likelihood,
            "log_likelihood(circuit, x)",
        ),
        QueryKind(
            "marginal",
            "Marginal",
            "How probable the observed values are, whatever the others are; and what to expect of these.",
            _ask_marginal,
            "marginal(circuit, x, observed)",
        ),
        QueryKind(
            "conditional",
            "Conditional",
            "How probable the other observed values are, given some of them.",
            _ask_conditional,
            "conditional(circuit, x, observed & ~given, given)",
            has_given=True,
        ),
        QueryKind(
            "most-probable",
            "Most probable",
            "The completion of what is observed that max-product finds.",
            _ask_most_probable,
            "most_probable(circuit, x, observed{root})",
        ),
        QueryKind(
            "sample",
            "Sample",
            "Random rows, given what is observed.",
            _ask_sample,
            "sample(circuit, {count}, x, observed, generator=generator{root})",
            is_sampled=True,
        ),
        QueryKind(
            "partition-function",
            "Partition function",
            "The sum, or integral, of the circuit over all rows.",
            _ask_partition,
            "partition_function(circuit)",
            has_evidence=False,
        ),
    )
}
"""The kinds of queries by name, in the order in which they are offered."""
