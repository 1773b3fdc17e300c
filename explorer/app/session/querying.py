"""Asks the circuit of a step: a query with its evidence, and the answer as data."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import isnan, log

import torch
from torch import Tensor

from explorer.app.expected import category_probabilities, spread_of
from explorer.app.session.query_words import decimal, exponential, in_nats, place_of
from explorer.app.session.variables import Evidence, Expected, Variables, expected_table, rows_table
from explorer.backend import TorchCircuit, TorchInputLayer
from explorer.backend.queries import (
    conditional,
    entropy,
    log_likelihood,
    marginal,
    most_probable,
    partition_function,
    sample,
)
from explorer.bench.inputs import variable_kinds
from explorer.errors import CircuitError, FormError
from explorer.learning.tables import Column
from explorer.symbolic import Circuit, ConstantInitializer
from explorer.trace import Trace
from explorer.views import plural
from explorer_widgets.schema import TableView

MAX_SAMPLES = 64


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: one of `KINDS`; `given` are the variables that a conditional is given, of those observed.

    `root` is the (output, class) asked about, of a circuit with several; numbers are those of all outputs.
    """

    kind: str
    evidence: Evidence
    given: tuple[int, ...] = ()
    num_samples: int = 8
    seed: int = 0
    root: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query: a table, rows (D,) with their names, what they are, and the (output, class) asked about.

    `root` is None where all outputs are, or there is one only. `expected` describes each of the first variables.
    `log_scale` is what the logarithms were diminished by: densities are those of cells, not of codes.
    """

    query: Query
    table: TableView
    rows: tuple[tuple[str, tuple[float, ...]], ...] = ()
    note: str = ""
    root: tuple[int, int] | None = None
    expected: TableView | None = None
    log_scale: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A query with its tensors: x and observed (1, D); `real` are the variables with densities, None if unknown."""

    circuit: TorchCircuit
    query: Query
    x: Tensor
    observed: Tensor
    real: Set[int] | None
    root: tuple[int, int] | None
    variables: Variables

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
    """A kind of query: its title, what it says in a sentence, how it is asked, and the code that asks it.

    `printed` is what is printed of `found`, the result of that code.
    """

    name: str
    title: str
    meaning: str
    ask: Callable[[_Asked], Answer] = field(compare=False)
    code: str
    printed: str = "found{scale}"
    has_evidence: bool = True
    has_given: bool = False
    is_sampled: bool = False
    has_root: bool = False


def ask(circuit: TorchCircuit, query: Query, variables: Variables | None = None) -> Answer:
    """Ask a circuit. Raises: FormError, and what the query raises, as StructureError, ShapeError, ValueRangeError."""
    kind, count = KINDS[query.kind], circuit.num_variables
    variables = variables or describe_variables(circuit)
    if len(query.evidence.x) != count:
        raise FormError(f"expected a row of {count} variables; got {len(query.evidence.x)}")
    query = replace(query, evidence=query.evidence.without(variables.unread))
    if kind.has_given:
        _check_given(query, variables.names)
    _, real = _kinds(circuit)
    # not an integer type, in which 1.5 were 1
    dtype = torch.get_default_dtype() if real is None or real else torch.float64
    x = torch.tensor([query.evidence.x], dtype=dtype)
    root = None if circuit.output_shape == (1, 1) else query.root
    if root is not None and any(at >= size for at, size in zip(root, circuit.output_shape, strict=True)):
        outputs, classes = circuit.output_shape
        raise FormError(f"expected one of {outputs} outputs and {classes} classes, from 0 on; got {root}")
    asked = _Asked(circuit, query, x, torch.tensor([query.evidence.observed]), real, root, variables)
    with torch.no_grad():
        return kind.ask(asked)


def describe_variables(circuit: TorchCircuit, columns: tuple[Column, ...] = ()) -> Variables:
    """The variables of a circuit, with the columns of the table that it was trained on."""
    inputs = (layer for layer in circuit.layers if isinstance(layer, TorchInputLayer))
    read = {variable for layer in inputs for scope in layer.scope_idx for variable in scope}
    unread = frozenset(range(circuit.num_variables)) - read
    return Variables(circuit.num_variables, columns, _kinds(circuit)[0], unread)


def _kinds(circuit: TorchCircuit) -> tuple[Mapping[int, int], Set[int] | None]:
    """As `variable_kinds`; nothing and None for a circuit with input layers whose values are unknown."""
    try:
        return variable_kinds(circuit)
    except CircuitError:
        return {}, None


def is_untrained(trace: Trace) -> bool:
    """Whether the circuit of a trace begins with random values."""
    leaves = trace.subject.leaf_names if isinstance(trace.subject, Circuit) else ()
    return any(leaf.learnable and not isinstance(leaf.initializer, ConstantInitializer) for leaf in leaves)


def _check_given(query: Query, names: Sequence[str]) -> None:
    unknown = [at for at in query.given if not query.evidence.observed[at]]
    if unknown:
        raise FormError(f"variable {names[unknown[0]]} is given, so it needs a value; it is not observed")
    if len(query.given) == sum(query.evidence.observed):
        raise FormError("a conditional needs observed variables that are not given: those that are asked about")


# ---------------------------------------------------------------------- the kinds


def _ask_likelihood(asked: _Asked) -> Answer:
    unread, observed = asked.variables.unread, asked.query.evidence.observed
    missing = sum(not known and variable not in unread for variable, known in enumerate(observed))
    if missing:
        count = f"{plural(missing, 'variable')} {'is' if missing == 1 else 'are'} not observed"
        raise FormError(f"{count}: a log-likelihood is of a whole row; ask for the marginal")
    return _number_answer(asked, "log p(x)", log_likelihood(asked.circuit, asked.x), asked.query.evidence.observed)


def _ask_marginal(asked: _Asked) -> Answer:
    observed = asked.query.evidence.observed
    event = asked.variables.event(asked.query.evidence, observed) or "observed"
    found = _number_answer(asked, f"log p({event})", marginal(asked.circuit, asked.x, asked.observed), observed)
    if all(observed):
        return found
    try:
        expected = _expected(asked)
    except CircuitError as error:
        return replace(found, note=f"No expected values: {error}.")
    rows = (("expected values", expected.row),)
    return replace(
        found,
        rows=rows,
        expected=expected_table(expected, asked.variables, asked.query.evidence),
        note=f"What to expect {_given(asked)}.",
    )


def _ask_moments(asked: _Asked) -> Answer:
    expected = _expected(asked)
    spread = tuple(0.0 if isnan(deviation) else deviation for deviation in expected.deviation)
    rows = (("mean", expected.row), ("standard deviation", spread))
    note = f"What to expect {_given(asked)}, and how much it varies."
    table: TableView = {"columns": [], "rows": []}
    return Answer(
        asked.query, table, rows, note, asked.root, expected_table(expected, asked.variables, asked.query.evidence)
    )


def _given(asked: _Asked) -> str:
    known = sum(asked.query.evidence.observed)
    noun = asked.variables.noun
    event = asked.variables.event(asked.query.evidence, asked.query.evidence.observed)
    return f"given {event or plural(known, f'observed {noun}')}" if known else f"of each {noun}"


def _expected(asked: _Asked) -> Expected:
    """Mean and standard deviation of each variable, and the probabilities of the categories of columns."""
    root = asked.root or (0, 0)
    spread = spread_of(asked.circuit, asked.x, asked.observed, root)
    mean, deviation = (tuple(part[0].double().tolist()) for part in (spread.mean, spread.deviation))
    return Expected(mean, deviation, tuple(spread.is_bound[0].tolist()), _shares(asked, root))


def _shares(asked: _Asked, root: tuple[int, int]) -> dict[int, tuple[float, ...]]:
    """The probability of each category of the columns that are not observed, given those that are."""
    found: dict[int, tuple[float, ...]] = {}
    known = asked.query.evidence.observed
    for v in range(asked.variables.count):
        count = len(asked.variables.labels(v))
        if count and not known[v]:
            shares = category_probabilities(asked.circuit, v, count, asked.x, asked.observed, root)
            found[v] = tuple(shares[0].tolist())
    return found


def _ask_conditional(asked: _Asked) -> Answer:
    query = asked.observed & ~asked.given
    found = conditional(asked.circuit, asked.x, query, asked.given)
    masks = query[0].tolist(), asked.given.tolist()
    events = [asked.variables.event(asked.query.evidence, mask) for mask in masks]
    name = " | ".join(events) if all(events) else "asked | given"
    return _number_answer(asked, f"log p({name})", found, query[0].tolist())


def _ask_most_probable(asked: _Asked) -> Answer:
    found = most_probable(asked.circuit, asked.x, asked.observed, root=asked.root)
    row = tuple(found.assignment[0].double().tolist())
    scale = asked.variables.log_scale((True,) * asked.variables.count)
    reached, bound = found.log_probability[0].item() - scale, found.log_bound[0].item() - scale
    is_exact = bool(found.is_exact[0])
    rows = [["log p(completed)", in_nats(reached)]]
    if is_exact:
        rows.append(["most probable", "yes: nothing that agrees with the evidence is more probable"])
    else:
        rows.append(["most probable", "not proved: the circuit is not known to be deterministic"])
        rows.append(["no completion has more than", in_nats(bound)])
    table: TableView = {"columns": ["value", "result"], "rows": rows}
    named = (("most probable" if is_exact else "probable completion", row),)
    note = "The most probable completion." if is_exact else "A probable completion, maybe not the most probable one."
    return Answer(asked.query, table, named, note, asked.root, log_scale=scale)


def _ask_sample(asked: _Asked) -> Answer:
    count = asked.query.num_samples
    drawn = sample(asked.circuit, count, asked.x, asked.observed, generator=asked.generator, root=asked.root)
    rows = tuple((f"sample {number}", tuple(row.double().tolist())) for number, row in enumerate(drawn[:, 0]))
    known = sum(asked.query.evidence.observed)
    note = f"{plural(count, 'sample')} given {plural(known, f'observed {asked.variables.noun}')}." if known else ""
    note = note or f"{plural(count, 'sample')} of the joint distribution."
    return Answer(asked.query, rows_table(rows, asked.variables, asked.query.evidence), rows, note, asked.root)


def _ask_partition(asked: _Asked) -> Answer:
    return _number_answer(asked, "log Z", partition_function(asked.circuit).unsqueeze(0))


def _ask_entropy(asked: _Asked) -> Answer:
    found = entropy(asked.circuit)
    scale = -asked.variables.log_scale((True,) * asked.variables.count)
    name = "differential entropy" if asked.real else "entropy"
    rows = [
        [
            f"{name}{place_of(found.shape, output, number)}",
            in_nats(nats - scale),
            f"{decimal((nats - scale) / log(2))} bits",
        ]
        for output, row in enumerate(found.tolist())
        for number, nats in enumerate(row)
    ]
    return Answer(asked.query, {"columns": ["query", "in nats", "in bits"], "rows": rows}, log_scale=scale)


def _number_answer(asked: _Asked, name: str, found: Tensor, of: Sequence[bool] = ()) -> Answer:
    """The logarithms (1, outputs, classes) as a table; they are of some variables."""
    outputs, classes = found.shape[1:]
    scale = asked.variables.log_scale(of)
    what = "value"
    if asked.real is not None and name != "log Z":
        is_density = any(known and v in asked.real for v, known in enumerate(of))
        what = "density" if is_density else "probability"
    rows: list[list[str]] = []
    for output in range(outputs):
        for number in range(classes):
            value = found[0, output, number]
            where = place_of((outputs, classes), output, number)
            size = value.real.item() - scale
            angle = f" + {value.imag.item():.6g}i" if value.is_complex() and value.imag.item() else ""
            rows.append([f"{name}{where}", f"{in_nats(size)}{angle}", "" if angle else exponential(size)])
    return Answer(asked.query, {"columns": ["query", "logarithm", what], "rows": rows}, log_scale=scale)


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
            has_root=True,
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
            "The values of the rest that max-product finds most probable, given what is observed.",
            _ask_most_probable,
            "most_probable(circuit, x, observed{root})",
            "found.assignment, found.log_probability{scale}",
            has_root=True,
        ),
        QueryKind(
            "sample",
            "Sample",
            "Random samples, given what is observed.",
            _ask_sample,
            "sample(circuit, {count}, x, observed, generator=generator{root})",
            is_sampled=True,
            has_root=True,
        ),
        QueryKind(
            "moments",
            "Mean and deviation",
            "What to expect of each variable, given what is observed, and how much it varies.",
            _ask_moments,
            "[moments(circuit, order, x, observed) for order in (1, 2)]",
            has_root=True,
        ),
        QueryKind(
            "entropy",
            "Entropy",
            "How uncertain a row is: tractable with few possible rows, and for deterministic circuits.",
            _ask_entropy,
            "entropy(circuit)",
            has_evidence=False,
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
