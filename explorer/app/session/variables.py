"""The variables of a query: names, how a form writes their values, and what of a row is observed.

The columns of a table that a circuit was trained on name its variables and have their units; the circuit itself reads
their codes. Without columns, variables are x0, x1 ... and their values are numbers.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from explorer.errors import CircuitError, FormError, listed
from explorer.learning.tables import BinomialColumn, CategoricalColumn, Column
from explorer_widgets.schema import TableView

UNKNOWN = "?"
"""The entry of a variable that is not observed."""
NONE = "–"
"""The cell of a variable without a deviation."""
UNREAD = "not read"
"""The entry of a variable that no layer reads."""
MAX_SHOWN = 24
"""Maximum number of variables that a table of rows has as columns."""
MAX_LABELS = 4
"""Maximum number of categories whose probabilities are written, and of values of an event."""
MAX_EVENT = 60
"""Maximum length of an event that is written, in characters."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A row (D,) of codes, and which of its entries are observed; the values of others are ignored."""

    x: tuple[float, ...]
    observed: tuple[bool, ...]

    @staticmethod
    def nothing(count: int) -> "Evidence":
        """No variable is observed."""
        return Evidence((0.0,) * count, (False,) * count)

    def without(self, variables: Set[int]) -> "Evidence":
        """The same, with these variables not observed."""
        return Evidence(self.x, tuple(known and v not in variables for v, known in enumerate(self.observed)))

    @staticmethod
    def parse(text: str, count: int) -> "Evidence":
        """Read `1, ?, 0`: a number for each observed variable, and ? for the others. Raises: FormError."""
        return Variables(count).parse(text)

    def __str__(self) -> str:
        return Variables(len(self.x)).text_of(self)


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a circuit; `columns` are those of the table that it was trained on, one for each, or none.

    `sizes` is the number of values of variables that are discrete, as far as it is known; no layer reads those that are
    `unread`. `noun` is what a variable is called: a variable or a pixel.
    """

    count: int
    columns: tuple[Column, ...] = ()
    sizes: Mapping[int, int] = field(default_factory=dict[int, int])
    unread: Set[int] = frozenset()
    noun: str = "variable"

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each variable."""
        return tuple(column.name for column in self.columns) or tuple(f"x{v}" for v in range(self.count))

    def labels(self, variable: int) -> tuple[str, ...]:
        """The categories of a variable; none if its values are numbers."""
        column = self.columns[variable] if self.columns else None
        return column.labels if isinstance(column, CategoricalColumn) else ()

    def hint(self, variable: int) -> str:
        """What may be written for a variable, as far as it is known."""
        if self.columns:
            column = self.columns[variable]
            return f"{column.low} to {column.high}" if isinstance(column, BinomialColumn) else ""
        return f"0 to {self.sizes[variable] - 1}" if variable in self.sizes else ""

    def fits(self, variable: int, entry: str) -> bool:
        """Whether an entry of another form is one of this variable: of its range, as far as it is known."""
        if variable in self.unread:
            return False
        try:
            return self._is_in_range(variable, self._code(variable, entry.strip()))
        except CircuitError:
            return False

    def keep(self, evidence: Evidence) -> Evidence:
        """What of a row of other variables is a row of these: those of the same number whose value is in the range."""
        entries = list(zip(evidence.x, evidence.observed, strict=True))[: self.count]
        entries += [(0.0, False)] * (self.count - len(entries))
        known = tuple(
            seen and v not in self.unread and self._is_in_range(v, code) for v, (code, seen) in enumerate(entries)
        )
        return Evidence(tuple(code if seen else 0.0 for (code, _), seen in zip(entries, known, strict=True)), known)

    def keep_chosen(self, text: str) -> str:
        """What of a choice of other variables, as `chosen` reads it, is one of these."""
        return ", ".join(entry for entry in (part.strip() for part in text.split(",")) if self._is_choice(entry))

    def log_scale(self, chosen: Sequence[bool]) -> float:
        """What the log-density of some cells is smaller than that of their codes by."""
        return math.fsum(column.log_scale for column, known in zip(self.columns, chosen, strict=False) if known)

    def parse(self, text: str) -> Evidence:
        """Read `1, ?, 0`: a value for each observed variable, and ? for the others. Raises: FormError, as `read`."""
        entries = text.replace(";", ",").split(",")
        if len(entries) != self.count:
            raise FormError(
                f"expected {self.count} entries, a number or {UNKNOWN} for each variable; got {len(entries)}"
            )
        return self.read(entries)

    def read(self, entries: Sequence[str]) -> Evidence:
        """Read an entry for each variable; an empty one or ? is not observed.

        Raises: FormError for a number that is none, or a value of a variable that no layer reads; DataTypeError,
        ValueRangeError for a cell that its column lacks.
        """
        known = [entry.strip() not in ("", UNKNOWN) for entry in entries]
        unread = [self.names[v] for v in sorted(self.unread) if known[v]]
        if unread:
            raise FormError(f"the circuit does not read {listed(unread)}; write {UNKNOWN} there")
        values = [self._code(v, entry.strip()) if known[v] else 0.0 for v, entry in enumerate(entries)]
        return Evidence(tuple(values), tuple(known))

    def text(self, variable: int, code: float) -> str:
        """A value of a variable, to four digits; an integer as it is."""
        if variable in self.unread:
            return UNREAD
        if self.columns:
            cell = self.columns[variable].decode(np.array([code]))[0]
            return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
        return f"{code:.4g}"

    def event(self, evidence: Evidence, chosen: Sequence[bool]) -> str:
        """Some observed values by name, `height = 180, team = blue`; empty if they are too many to write."""
        found = [v for v in range(self.count) if chosen[v]]
        shown = ", ".join(f"{self.names[v]} = {self.text(v, evidence.x[v])}" for v in found[:MAX_LABELS])
        return shown if len(found) <= MAX_LABELS and len(shown) <= MAX_EVENT else ""

    def text_of(self, evidence: Evidence) -> str:
        """The row that `parse` reads."""
        pairs = zip(evidence.x, evidence.observed, strict=True)
        return ", ".join(self._exact(v, code) if known else UNKNOWN for v, (code, known) in enumerate(pairs))

    def chosen(self, text: str) -> tuple[int, ...]:
        """Read names of variables, or, without columns, their numbers: `0, 2, 5-9`. Raises: FormError."""
        found: list[int] = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            if entry in self.names:
                found.append(self.names.index(entry))
            elif self.columns:
                raise FormError(f"expected names of columns ({listed(self.names, MAX_SHOWN)}); got {entry!r}")
            else:
                found += self._numbers(entry)
        return tuple(dict.fromkeys(found))

    def _numbers(self, entry: str) -> range:
        first, _, last = entry.partition("-")
        if not first.strip().isdecimal() or not (last or first).strip().isdecimal():
            raise FormError(f"expected numbers of variables, such as 0, 2, 5-9; got {entry!r}")
        found = range(int(first), int(last or first) + 1)
        if found and found[-1] >= self.count:
            raise FormError(f"the variables are 0 to {self.count - 1}; got {found[-1]}")
        return found

    def _code(self, variable: int, entry: str) -> float:
        if self.columns:
            code = float(self.columns[variable].encode(np.array([entry], dtype=object), "the form")[0])
            if math.isnan(code):
                raise FormError(f"expected a value or {UNKNOWN} for {self.names[variable]}; got {entry!r}")
            return code
        try:
            value = float(entry)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise FormError(f"expected a number or {UNKNOWN} for variable {variable}; got {entry!r}")
        return value

    def _is_in_range(self, variable: int, code: float) -> bool:
        size = self.sizes.get(variable)
        return size is None or (0 <= code < size and code == int(code))

    def _is_choice(self, entry: str) -> bool:
        try:
            return bool(self.chosen(entry))
        except FormError:
            return False

    def _exact(self, variable: int, code: float) -> str:
        return self.text(variable, code) if self.columns else f"{code:g}"


@dataclass(frozen=True, slots=True)
class Expected:
    """Mean and standard deviation (D,) of the codes of variables, of which some are observed; NaN if unread.

    Where `is_bound`, the deviation is at most this: it is too small to tell from rounding. `shares` are the
    probabilities of the categories of those variables that have some and are not observed.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    is_bound: tuple[bool, ...]
    shares: Mapping[int, tuple[float, ...]]

    @property
    def row(self) -> tuple[float, ...]:
        """The mean of each variable, of one with categories the most probable of them; 0 for those that are unread."""
        best = {v: float(max(range(len(one)), key=one.__getitem__)) for v, one in self.shares.items()}
        return tuple(best.get(v, 0.0 if math.isnan(mean) else mean) for v, mean in enumerate(self.mean))


def rows_table(
    rows: Sequence[tuple[str, Sequence[float]]], variables: Variables | None = None, evidence: Evidence | None = None
) -> TableView:
    """Rows (D,) of codes as a table, a column for each of the first variables; observed ones are marked."""
    count = min(MAX_SHOWN, len(rows[0][1]) if rows else 0)
    variables = variables or Variables(count)
    seen = evidence.observed if evidence is not None else (False,) * count
    names = [f"{name} (observed)" if known else name for name, known in zip(variables.names, seen, strict=False)]
    cells = [[name, *(variables.text(v, code) for v, code in enumerate(row[:count]))] for name, row in rows]
    return {"columns": ["row", *names[:count]], "rows": cells}


def expected_table(expected: Expected, variables: Variables, evidence: Evidence) -> TableView:
    """A row for each of the first variables: what was observed, or what to expect."""
    rows: list[list[str]] = []
    for v, name in enumerate(variables.names[:MAX_SHOWN]):
        mean, deviation = expected.mean[v], expected.deviation[v]
        if evidence.observed[v]:
            rows.append([name, f"{variables.text(v, evidence.x[v])} (observed)", NONE])
        elif math.isnan(mean):
            rows.append([name, "not read by this output", NONE])
        elif v in expected.shares:
            rows.append([name, _shares_text(variables.labels(v), expected.shares[v]), NONE])
        else:
            column = variables.columns[v] if variables.columns else None
            zero, unit = (0.0, 1.0) if column is None else (column.zero, column.unit)
            most = "at most " if expected.is_bound[v] and deviation else ""
            rows.append([name, f"{zero + unit * mean:.4g}", f"{most}{unit * deviation:.4g}"])
    return {"columns": ["variable", "mean, or probabilities", "standard\N{NO-BREAK SPACE}deviation"], "rows": rows}


def _shares_text(labels: Sequence[str], shares: Sequence[float]) -> str:
    """The most probable categories with their probabilities, and how probable the others are together."""
    order = sorted(range(len(labels)), key=lambda at: -shares[at])
    named = len(labels) if len(labels) <= MAX_LABELS + 1 else MAX_LABELS  # one other takes no less room than its name
    found = [f"{labels[at]}: {shares[at]:.3f}" for at in order[:named]]
    rest = order[named:]
    return ", ".join([*found, *([f"others: {math.fsum(shares[at] for at in rest):.3f}"] if rest else [])])
