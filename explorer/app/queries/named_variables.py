"""The variables of a circuit by name: how their values are written, read and encoded, and which of them are observed.

The columns of a table that a circuit was trained on name its variables and have their units; the circuit itself reads
their codes. Without columns, variables are x0, x1 ... and their values are numbers.
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.backend.queries.fold_structure import scopes_of
from explorer.backend.queries.stages import stages_of
from explorer.bench.programs import variable_kinds
from explorer.errors import CircuitError, DataTypeError, FormError, ValueRangeError, listed, unknown_name
from explorer.learning.tables import BinomialColumn, CategoricalColumn, Column, log_scales, row_words

UNKNOWN = "?"
"""The entry of a variable that is not observed."""
UNREAD = "not read"
"""The entry of a variable on which no output depends."""
MAX_SHOWN = 24
"""Maximum number of variables that a table of rows has as columns."""
MAX_LABELS = 4
"""Maximum number of categories with written probabilities, and of values of an event."""
MAX_EVENT = 60
"""Maximum length of an event that is written, in characters."""
Cell = str | float | int | None
"""A value of a variable as a user reads it."""


class Evidence(NamedTuple):
    """Rows x (B, D) of codes, and which of their entries are observed (B, D); the values of others are ignored."""

    x: Tensor
    observed: Tensor

    @staticmethod
    def nothing(count: int) -> "Evidence":
        """Return one row without any observed value."""
        return Evidence(torch.zeros((1, count), dtype=torch.float64), torch.zeros((1, count), dtype=torch.bool))


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of a circuit; `columns` describe them if it was trained on a table, one for each.

    `sizes` is the number of values of discrete variables, as far as it is known; `real` are the variables that have
    densities, None if unknown. No output depends on those that are `unread`. `noun` is "variable" or "pixel".
    """

    count: int
    columns: tuple[Column, ...] = ()
    sizes: Mapping[int, int] = field(default_factory=dict[int, int])
    real: Set[int] | None = frozenset()
    unread: Set[int] = frozenset()
    noun: str = "variable"

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each variable."""
        return tuple(column.name for column in self.columns) or tuple(f"x{v}" for v in range(self.count))

    @property
    def is_read(self) -> Tensor:
        """Mask (D,) of the variables on which some output depends; the values of all others mean nothing."""
        return torch.tensor([v not in self.unread for v in range(self.count)], dtype=torch.bool)

    def labels(self, variable: int) -> tuple[str, ...]:
        """Return the categories of a variable; none if its values are numbers."""
        column = self.columns[variable] if self.columns else None
        return column.labels if isinstance(column, CategoricalColumn) else ()

    def hint(self, variable: int) -> str:
        """Return the range of a variable's values, as far as it is known."""
        if self.columns:
            column = self.columns[variable]
            return f"{column.low} to {column.high}" if isinstance(column, BinomialColumn) else ""
        return f"0 to {self.sizes[variable] - 1}" if variable in self.sizes else ""

    # ------------------------------------------------------------------ values and codes

    def code(self, variable: int, entry: str) -> float:
        """Return the code of a value. Raises: UnknownNameError for an unknown category; FormError."""
        name = listed([self.names[variable]])
        try:
            code = float(self._codes(variable, np.array([entry], dtype=object), "", ())[0])
        except (DataTypeError, ValueRangeError):
            code = math.nan
        if not math.isnan(code):
            return code
        if labels := self.labels(variable):
            raise unknown_name(f"category of {name}", entry, labels)
        what = self.columns[variable].describe() if self.columns else _describe(self.sizes.get(variable))
        raise FormError(f"{entry!r} is not a value of {name} ({what})")

    def encode(self, cells: Sequence[np.ndarray], where: str, lines: Sequence[int] = ()) -> Evidence:
        """Encode the cells of each variable in a table `where`; a missing cell is not observed.

        Raises: DataTypeError, ValueRangeError, which name the variable, the row and its line.
        """
        codes = [self._codes(v, column, where, lines) for v, column in enumerate(cells)]
        rows = torch.from_numpy(np.stack(codes, axis=1)) if codes else torch.zeros((1, 0))
        observed = ~torch.isnan(rows)
        return Evidence(torch.where(observed, rows, 0.0), observed)

    def decode(self, rows: Tensor, known: Tensor | None = None) -> list[list[Cell]]:
        """Return the cells of each row (B, D) of codes; None for entries that are not `known` (B, D)."""
        if known is not None:
            rows = torch.where(known, rows.double(), math.nan)
        if self.columns:
            codes = rows.double().numpy()
            by_column = [column.decode(codes[:, v]) for v, column in enumerate(self.columns)]
            return [list(row) for row in zip(*by_column, strict=True)]
        return [[None if cell != cell else cell for cell in row] for row in rows.tolist()]

    def log_scale(self, density: Tensor) -> Tensor:
        """Return the log-density (B,) of codes minus the log-density of their cells; `density` (B, D) are the cells."""
        return log_scales(self.columns, density) if self.columns else torch.zeros(len(density), dtype=torch.float64)

    def _codes(self, variable: int, cells: np.ndarray, where: str, lines: Sequence[int]) -> np.ndarray:
        if self.columns:
            return self.columns[variable].encode(cells, where, lines)
        return _numbers(cells, self.names[variable], where, self.sizes.get(variable), lines)

    # ------------------------------------------------------------------ the form of a row

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

        Raises: FormError for a variable that no layer reads; the errors of `code`.
        """
        known = [entry.strip() not in ("", UNKNOWN) for entry in entries]
        unread = [self.names[v] for v in sorted(self.unread) if known[v]]
        if unread:
            raise FormError(f"the circuit does not read {listed(unread)}; write {UNKNOWN} there")
        values = [self.code(v, entry.strip()) if known[v] else 0.0 for v, entry in enumerate(entries)]
        return Evidence(torch.tensor([values], dtype=torch.float64), torch.tensor([known]))

    def fits(self, variable: int, entry: str) -> bool:
        """Whether an entry of a form for other variables is a value of this one."""
        try:
            return variable not in self.unread and not math.isnan(self.code(variable, entry.strip()))
        except CircuitError:
            return False

    def keep(self, evidence: Evidence) -> Evidence:
        """Return the part of a row of other variables that these may have: equal numbers, values in their range."""
        found = Evidence.nothing(self.count)
        for v, (code, seen) in enumerate(zip(evidence.x[0].tolist(), evidence.observed[0].tolist(), strict=True)):
            size = self.sizes.get(v)
            is_value = size is None or (0 <= code < size and code == int(code))
            if seen and v < self.count and v not in self.unread and is_value:
                found.x[0, v], found.observed[0, v] = code, True
        return found

    def chosen(self, text: str) -> tuple[int, ...]:
        """Read names of variables, or, without columns, their numbers: `0, 2, 5-9`. Raises: FormError."""
        found: list[int] = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            if entry in self.names:
                found.append(self.names.index(entry))
            elif self.columns:
                raise FormError(f"expected names of columns ({listed(self.names, MAX_SHOWN)}); got {entry!r}")
            else:
                found += self._range(entry)
        return tuple(dict.fromkeys(found))

    def keep_chosen(self, text: str) -> str:
        """Return the entries that `chosen` reads in a choice of other variables."""
        kept: list[str] = []
        for entry in filter(None, (part.strip() for part in text.split(","))):
            try:
                self.chosen(entry)
            except FormError:
                continue
            kept.append(entry)
        return ", ".join(kept)

    def _range(self, entry: str) -> range:
        first, _, last = entry.partition("-")
        if not first.strip().isdecimal() or not (last or first).strip().isdecimal():
            raise FormError(f"expected numbers of variables, such as 0, 2, 5-9; got {entry!r}")
        found = range(int(first), int(last or first) + 1)
        if found and found[-1] >= self.count:
            raise FormError(f"the variables are 0 to {self.count - 1}; got {found[-1]}")
        return found

    # ------------------------------------------------------------------ values in words

    def text(self, variable: int, code: float) -> str:
        """Return a value of a variable, to four digits; an integer as it is."""
        if variable in self.unread:
            return UNREAD
        cell = self.columns[variable].decode(np.array([code]))[0] if self.columns else code
        return f"{cell:.4g}" if isinstance(cell, float) else str(cell)

    def event(self, x: Tensor, chosen: Tensor) -> str:
        """Return values of a row (D,) by name, `height = 180, team = blue`; empty if they are too many to write."""
        found = [int(v) for v in chosen.nonzero()]
        shown = ", ".join(f"{self.names[v]} = {self.text(v, float(x[v]))}" for v in found[:MAX_LABELS])
        return shown if len(found) <= MAX_LABELS and len(shown) <= MAX_EVENT else ""


def describe_variables(circuit: TorchCircuit, columns: tuple[Column, ...] = ()) -> Variables:
    """Return the variables of a circuit, with the columns of the table that it was trained on."""
    stages = stages_of(circuit)
    scopes = scopes_of(stages)
    unread = frozenset(
        variable
        for variable in range(circuit.num_variables)
        if not any(scopes[position][fold] >> variable & 1 for position, fold in stages.outputs)
    )
    try:
        sizes, real = variable_kinds(circuit)
    except CircuitError:  # the values of an input layer are unknown
        return Variables(circuit.num_variables, columns, {}, None, unread)
    return Variables(circuit.num_variables, columns, sizes, real, unread)


def _describe(num_values: int | None) -> str:
    return "a number" if num_values is None else f"an integer from 0 to {num_values - 1}"


def _numbers(cells: np.ndarray, name: str, where: str, num_values: int | None, lines: Sequence[int]) -> np.ndarray:
    """Return the number of each cell, in 0 .. num_values-1 if that is given. Raises: DataTypeError, ValueRangeError."""
    found = np.full(len(cells), math.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        try:
            found[row] = float(cell)
        except ValueError:
            at = row_words(row, lines)
            raise DataTypeError(f"{where}: the value {cell!r} of {name} in {at} is not a number") from None
        if math.isinf(found[row]):
            raise ValueRangeError(f"{where}: the value of {name} in {row_words(row, lines)} is infinite")
        if num_values is not None and not (0 <= found[row] < num_values and found[row].is_integer()):
            raise ValueRangeError(
                f"{where}: the value {cell!r} of {name} in {row_words(row, lines)} is not {_describe(num_values)}"
            )
    return found
