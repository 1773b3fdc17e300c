"""The kinds of queries: how each is asked of a circuit, and what it finds, in the units of a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import torch
from torch import Tensor

from explorer.app.queries.named_variables import Evidence, Variables, describe_variables
from explorer.backend import TorchCircuit, queries
from explorer.backend.queries.fold_structure import scopes_of
from explorer.backend.queries.likelihood import log_ratio
from explorer.backend.queries.masks import check_root
from explorer.backend.queries.stages import stages_of
from explorer.errors import FormError, ShapeError

MIN_VARIANCE = 1e-9
"""Variances below this share of E[X^2] are rounding: they are differences of two numbers that are almost equal."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A query of a kind about rows; `given` (D,) or (B, D) are the observed entries that a conditional is given.

    `root` is the (output, class) asked about; logarithms are of all. `other` is the second circuit of a divergence.
    `is_deterministic` is None if the zeros of the parameters have to show it.
    """

    kind: str
    evidence: Evidence
    given: Tensor | None = None
    num_samples: int = 8
    seed: int = 0
    root: tuple[int, int] | None = None
    other: TorchCircuit | None = None
    is_deterministic: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The result of a query: `values` (B, outputs, classes) with their name, or rows, or moments.

    `query` has the evidence that the circuit reads. `log_scale` (B,) was subtracted from logarithms: they are of cells,
    not of codes. `rows` (B, N, D) are codes; `completion` says how probable they are, on the scale of codes.
    """

    query: Query
    variables: Variables
    name: str = ""
    values: Tensor | None = None
    log_scale: Tensor = field(default_factory=lambda: torch.zeros(1, dtype=torch.float64))
    rows: Tensor | None = None
    completion: queries.MostProbable | None = None
    expected: "Expected | None" = None


class Moment(NamedTuple):
    """Mean and standard deviation of a column, or of the indicator `column=label` of a category."""

    name: str
    mean: float
    deviation: float
    is_bound: bool


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Mean and standard deviation (B, D) of the codes of variables given evidence; NaN where the output reads none.

    Where `is_bound`, the deviation is at most this: it is too small to tell from rounding. `shares` (B, count) are the
    probabilities of the categories of those variables that have some.
    """

    variables: Variables
    evidence: Evidence
    mean: Tensor
    deviation: Tensor
    is_bound: Tensor
    shares: Mapping[int, Tensor]

    @property
    def rows(self) -> Tensor:
        """The mean (B, D) of each variable, of one with categories the most probable of them; 0 for unread ones."""
        found = self.mean.nan_to_num()
        for v, shares in self.shares.items():
            found[:, v] = shares.argmax(1).to(found.dtype)
        return found

    def in_units(self, v: int, row: int = 0) -> Moment:
        """Return the moments of a variable of numbers in the unit of its column; observed values do not vary."""
        columns = self.variables.columns
        zero, unit = (columns[v].zero, columns[v].unit) if columns else (0.0, 1.0)
        known = bool(self.evidence.observed[row, v])
        mean = float((self.evidence.x if known else self.mean)[row, v])
        deviation = 0.0 if known else float(self.deviation[row, v])
        is_bound = bool(self.is_bound[row, v]) and deviation > 0
        return Moment(self.variables.names[v], zero + unit * mean, unit * deviation, is_bound)

    def moments(self, row: int = 0) -> list[Moment]:
        """Return the moments of the variables that the output reads, with a line for each category."""
        found: list[Moment] = []
        for v, name in enumerate(self.variables.names):
            if v in self.shares:
                shares = self.shares[v][row]
                deviations = (shares * (1 - shares)).clamp(min=0).sqrt().tolist()
                labelled = zip(self.variables.labels(v), shares.tolist(), deviations, strict=True)
                found += [Moment(f"{name}={label}", mean, deviation, False) for label, mean, deviation in labelled]
            elif not self.mean[row, v].isnan():
                found.append(self.in_units(v, row))
        return found


def ask(circuit: TorchCircuit, query: Query, variables: Variables | None = None) -> Found:
    """Ask a circuit a query about its variables, by default x0, x1 ...

    Raises: FormError, ShapeError for a query without an answer; the errors of `explorer.backend.queries`.
    """
    variables = variables or describe_variables(circuit)
    x, observed = query.evidence
    if x.shape[1] != circuit.num_variables:
        raise FormError(f"expected a row of {circuit.num_variables} variables; got {x.shape[1]}")
    if query.root is not None:
        check_root(query.root, circuit.output_shape)
    # doubles: in an integer type 1.5 were 1; a layer of unknown values may accept no doubles
    x = x.to(torch.get_default_dtype() if variables.real is None else torch.float64)
    root = None if circuit.output_shape == (1, 1) else query.root
    query = replace(query, evidence=Evidence(x, observed & variables.is_read), root=root)
    with torch.no_grad():
        return KINDS[query.kind].ask(circuit, query, variables)


def expect(circuit: TorchCircuit, variables: Variables, evidence: Evidence, root: tuple[int, int] | None) -> Expected:
    """Return mean and deviation of each variable, and the probabilities of categories, given evidence.

    Raises: the errors of `explorer.backend.queries.moments`.
    """
    output, number = check_root(root, circuit.output_shape)
    x, observed = evidence
    first, second = (queries.moments(circuit, order, x, observed)[:, output, number] for order in (1, 2))
    variance, least = second - first.square(), MIN_VARIANCE * second
    is_bound = variance < least
    deviation = torch.where(is_bound, least, variance).sqrt()
    labelled = [v for v in range(variables.count) if variables.labels(v) and not first[:, v].isnan().any()]
    shares = {v: _shares(circuit, v, len(variables.labels(v)), evidence, (output, number)) for v in labelled}
    return Expected(variables, evidence, first, deviation, is_bound, shares)


def _shares(circuit: TorchCircuit, v: int, count: int, evidence: Evidence, root: tuple[int, int]) -> Tensor:
    """Return the probability (B, count) of each value of a variable given evidence: 1 for an observed value."""
    output, number = root
    x, observed = evidence
    values = torch.arange(count, device=x.device)
    seen = (x[:, v, None] == values).double()
    if bool(observed[:, v].all()):
        return seen
    rows, known = x.repeat_interleave(count, 0), observed.repeat_interleave(count, 0)
    rows[:, v], known[:, v] = values.to(x.dtype).repeat(len(x)), True
    given = observed.repeat_interleave(count, 0)
    given[:, v] = False
    logs = log_ratio(stages_of(circuit), rows, known, given)[:, output, number].reshape(len(x), count)
    return torch.where(observed[:, v, None], seen, logs.exp())


# ---------------------------------------------------------------------- the kinds


def _logarithms(query: Query, variables: Variables, found: Tensor, density: Tensor) -> Found:
    """Return logarithms of codes as logarithms of cells; `density` (B, D) are the cells asked about."""
    scale = variables.log_scale(density)
    return Found(query, variables, "log p", found - scale[:, None, None], scale)


def _log_likelihood(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    x, observed = query.evidence
    missing = variables.is_read & ~observed
    if bool(missing.any()):
        row, v = (int(i) for i in missing.nonzero()[0])
        name = variables.names[v]
        what = f"{name} is not observed" if len(x) == 1 else f"row {row + 1} has no value of {name}"
        raise ShapeError(f"{what}; a log-likelihood needs the values of all variables: ask for the marginal")
    return _logarithms(query, variables, queries.log_likelihood(circuit, x), observed)


def _marginal(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    return _logarithms(query, variables, queries.marginal(circuit, *query.evidence), query.evidence.observed)


def _conditional(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    x, observed = query.evidence
    assert query.given is not None
    given = query.given.expand(x.shape)
    unknown = given & ~observed
    if bool(unknown.any()):
        name = variables.names[int(unknown.nonzero()[0][1])]
        raise FormError(f"variable {name} is given, so it needs a value; it is not observed")
    asked = observed & ~given
    if not bool(asked.any()):
        raise FormError("a conditional needs observed variables that are not given: those that are asked about")
    return _logarithms(query, variables, queries.conditional(circuit, x, asked, given), asked)


def _most_probable(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    known = query.is_deterministic
    found = queries.most_probable(circuit, *query.evidence, root=query.root, is_deterministic=known)
    scale = variables.log_scale(torch.ones_like(query.evidence.observed))
    return Found(query, variables, log_scale=scale, rows=found.assignment.unsqueeze(1), completion=found)


def _sample(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    generator = torch.Generator(query.evidence.x.device).manual_seed(query.seed)
    rows = queries.sample(circuit, query.num_samples, *query.evidence, generator=generator, root=query.root)
    return Found(query, variables, rows=rows.transpose(0, 1))


def _moments(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    return Found(query, variables, expected=expect(circuit, variables, query.evidence, query.root))


def _entropy(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    found, stages = queries.entropy(circuit), stages_of(circuit)
    scopes = scopes_of(stages)
    outputs = [scopes[position][fold] for position, fold in stages.outputs]
    read = torch.tensor([[bool(scope >> v & 1) for v in range(variables.count)] for scope in outputs])
    scale = -variables.log_scale(read)
    name = "differential entropy" if variables.real else "entropy"
    return Found(query, variables, name, (found - scale[:, None]).unsqueeze(0), scale)


def _divergence(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    assert query.other is not None
    return Found(query, variables, "KL(p || q)", queries.divergence(circuit, query.other).unsqueeze(0))


def _partition(circuit: TorchCircuit, query: Query, variables: Variables) -> Found:
    return Found(query, variables, "log Z", queries.partition_function(circuit).unsqueeze(0))


@dataclass(frozen=True, slots=True)
class QueryKind:
    """A kind of query: its title, its meaning in a sentence, how it is asked, and the code that asks it.

    `printed` is the part of `found`, the result of that code, which is printed. The dashboard needs an `other` circuit
    for a divergence, so it does not offer it.
    """

    name: str
    title: str
    meaning: str
    ask: Callable[[TorchCircuit, Query, Variables], Found] = field(compare=False)
    code: str
    printed: str = "found{scale}"
    has_evidence: bool = True
    has_given: bool = False
    is_sampled: bool = False
    has_root: bool = False
    has_other: bool = False


KINDS: Mapping[str, QueryKind] = {
    kind.name: kind
    for kind in (
        QueryKind(
            "log-likelihood",
            "Log-likelihood",
            "How probable a whole row is.",
            _log_likelihood,
            "log_likelihood(circuit, x)",
        ),
        QueryKind(
            "marginal",
            "Marginal",
            "How probable the observed values are, whatever the others are; and what to expect of these.",
            _marginal,
            "marginal(circuit, x, observed)",
            has_root=True,
        ),
        QueryKind(
            "conditional",
            "Conditional",
            "How probable the other observed values are, given some of them.",
            _conditional,
            "conditional(circuit, x, observed & ~given, given)",
            has_given=True,
        ),
        QueryKind(
            "most-probable",
            "Most probable",
            "The values of the rest that max-product finds most probable, given what is observed.",
            _most_probable,
            "most_probable(circuit, x, observed{root})",
            "found.assignment, found.log_probability{scale}",
            has_root=True,
        ),
        QueryKind(
            "sample",
            "Sample",
            "Random samples, given what is observed.",
            _sample,
            "sample(circuit, {count}, x, observed, generator=generator{root})",
            is_sampled=True,
            has_root=True,
        ),
        QueryKind(
            "moments",
            "Mean and deviation",
            "What to expect of each variable, given what is observed, and how much it varies.",
            _moments,
            "[moments(circuit, order, x, observed) for order in (1, 2)]",
            has_root=True,
        ),
        QueryKind(
            "entropy",
            "Entropy",
            "How uncertain a row is: tractable with few possible rows, and for deterministic circuits.",
            _entropy,
            "entropy(circuit)",
            has_evidence=False,
        ),
        QueryKind(
            "divergence",
            "Divergence",
            "How far the distribution of the circuit is from that of another one.",
            _divergence,
            "divergence(circuit, other)",
            has_evidence=False,
            has_other=True,
        ),
        QueryKind(
            "partition",
            "Partition function",
            "The sum, or integral, of the circuit over all rows.",
            _partition,
            "partition_function(circuit)",
            has_evidence=False,
        ),
    )
}
"""The kinds of queries by name, in the order in which they are offered."""
