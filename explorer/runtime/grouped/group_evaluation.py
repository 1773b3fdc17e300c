"""The evaluation of a circuit in groups: what each group reads, its values in steps, and the bounds on their errors.

See `explorer/runtime/README.md`. Shapes: values (G, B, K) float, scales (G, B) double, bounds (G, B) float.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.errors import LoweringError
from explorer.runtime.grouped.groups import Group, Groups, Read, TableReads
from explorer.runtime.grouped.kernels import (
    Values,
    exponential,
    from_logarithms,
    kronecker,
    mixing,
    multiply,
    put,
    rescale,
    tensor_dot,
    tucker,
    weighted_sum,
)
from explorer.runtime.kernel_types import SINGLE
from explorer.runtime.packed_tensors import PackedTensors
from explorer.runtime.plan import Kind

Outputs = tuple[Tensor, Tensor, Tensor]
"""Logarithms (B, outputs, classes), the values that they are of, and bounds (B, outputs, 1) on errors of these."""

MAX_DENSITIES = 16
"""Logarithms of more densities than that are added in double precision."""


@dataclass(frozen=True, eq=False)
class Given:
    """The inputs of calls: states (S, B) int64 of variables, points (P, B) float, logarithms (G, B, K) of groups."""

    states: Tensor
    points: Tensor
    densities: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False)
class Indices:
    """The indices, which depend neither on x nor on parameters: reads of tables, rows of groups, columns of densities.

    `positions` says where the values are that a rearranging group reads.
    """

    tables: TableReads
    rows: tuple[Tensor, ...]
    points: tuple[tuple[Tensor, ...], ...]
    positions: tuple[Tensor, ...]


Compute = Callable[[slice, Tensor | None, Tensor | None], Tensor]
"""(calls of a group, memory for their products, memory for the result) -> their values before they are rescaled."""
Finish = Callable[[slice, Tensor, Tensor | None], Values]
"""(calls of a group, their values before they are rescaled, memory for the result) -> their values."""


def evaluate_groups(groups: Groups, constants: PackedTensors, indices: Indices, given: Given, step: int = 0) -> Outputs:
    """The outputs of a circuit.

    `step` is how many numbers of a row the products of a step have at most, so that they stay in the cache; 0 for no
    limit.
    """
    return _Evaluation(groups, constants, indices, given, step).outputs()


class _Evaluation:
    def __init__(self, groups: Groups, constants: PackedTensors, indices: Indices, given: Given, step: int) -> None:
        self.groups = groups
        self.constants = constants
        self.indices = indices
        self.given = given
        self.step = step
        self.batch = given.states.shape[1]
        self.densities = 0
        self.values: dict[int, Values] = {}
        self.tables: dict[int, tuple[Tensor, Values]] = {}
        for at, width in enumerate(groups.tables):
            reads, table = indices.tables, constants.tables[at]
            rows = torch.index_select(given.states, 0, reads.variables[at]) + reads.starts[at]  # (T, B)
            flat = rows.view(-1)
            scales = torch.index_select(table.scales, 0, flat).view(rows.shape)
            bounds = torch.index_select(table.bounds, 0, flat).view(rows.shape)
            self.tables[width] = (rows, Values(table.rows, scales, bounds))

    def outputs(self) -> Outputs:
        for number, group in enumerate(self.groups.groups):
            self.values[number] = self._group(number, group)
            for one in group.frees:
                del self.values[one]
        reads = self.groups.outputs
        values = torch.cat([self._operand(read, 0, 1) for read in reads]).transpose(0, 1)
        scales = torch.cat([self._scale(read, 1) for read in reads]).t().unsqueeze(2)
        bounds = torch.cat([self._bound(read, 1) for read in reads]).t().unsqueeze(2)
        return (torch.log(values.double()) + scales).float(), values, bounds

    # ------------------------------------------------------------------ reads

    def _operand(self, read: Read, start: int, stop: int) -> Tensor:
        """The values (G, B, K) that calls start .. stop-1 of a group read."""
        if read.is_table:
            rows, table = self.tables[read.width]
            chosen = rows[read.start + start : read.start + stop]
            return torch.index_select(table.values, 0, chosen.reshape(-1)).view(stop - start, self.batch, read.width)
        found = self.values[read.group].values
        if read.index >= 0:
            return torch.index_select(found, 0, self.indices.rows[read.index][start:stop])
        return found[read.start + start : read.start + stop]

    def _scale(self, read: Read, count: int) -> Tensor:
        return self._of_calls(read, count, lambda values: values.scales)

    def _bound(self, read: Read, count: int) -> Tensor:
        return self._of_calls(read, count, lambda values: values.bounds)

    def _of_calls(self, read: Read, count: int, pick: Callable[[Values], Tensor]) -> Tensor:
        """The scales or bounds of the calls that a group reads."""
        if read.is_table:
            return pick(self.tables[read.width][1])[read.start : read.start + count]
        found = pick(self.values[read.group])
        if read.index >= 0:
            return torch.index_select(found, 0, self.indices.rows[read.index])
        return found[read.start : read.start + count]

    def _product_scale(self, reads: Sequence[Read], count: int) -> Tensor:
        found = self._scale(reads[0], count)
        for read in reads[1:]:
            found = found + self._scale(read, count)
        return found

    def _product_bound(self, reads: Sequence[Read], count: int) -> Tensor:
        """|x y - x' y'| <= Y e_x + X e_y + e_x e_y for x <= X, y <= Y, and what underflows."""
        found, most = self._bound(reads[0], count), self._largest(reads[0])
        for read in reads[1:]:
            one, largest = self._bound(read, count), self._largest(read)
            found = found * (largest + one) + (one * most + SINGLE.smallest)
            most *= largest
        return found

    def _largest(self, read: Read) -> float:
        return 1.0 if read.is_table else 2.0

    # ------------------------------------------------------------------ groups

    def _group(self, number: int, group: Group) -> Values:
        count = len(group.members)
        if group.kind is Kind.GAUSSIAN:
            return self._in_steps(
                group,
                lambda calls, scratch, out: self._gaussian(number, group, calls, scratch, out),
                lambda calls, values, out: from_logarithms(values, out),
            )
        if group.kind is Kind.DENSITY:
            self.densities += 1
            return from_logarithms(self.given.densities[self.densities - 1])
        by: list[Tensor] | None = None
        scale = self._product_scale(group.reads[0], count)
        if group.terms > 1:
            scales = [scale, *(self._product_scale(term, count) for term in group.reads[1:])]
            for one in scales[1:]:
                scale = torch.maximum(scale, one)
            by = [exponential(one - scale) for one in scales]
        bound = self._sum_bound(number, group, by)
        return self._in_steps(
            group,
            lambda calls, scratch, out: self._some(number, group, by, calls, scratch, out),
            lambda calls, values, out: rescale(values, scale[calls], bound[calls], out),
        )

    def _sum_bound(self, number: int, group: Group, by: Sequence[Tensor] | None) -> Tensor:
        """The bound before values are rescaled."""
        count = len(group.members)
        if group.kind in (Kind.PRODUCT, Kind.KRONECKER, Kind.REARRANGE):
            return self._product_bound(group.reads[0], count)
        norms = self.constants.numbers[number][-1]  # (G, H, 1)
        summands = self.constants.numbers[number][0].shape[1] // (group.terms if group.kind is Kind.SUM else 1)
        most, underflow = 2.0**group.factors, 4 * (summands + 1) * SINGLE.smallest
        total: Tensor | None = None
        for h, term in enumerate(group.reads):
            error = self._product_bound(term, count)
            if by is not None:
                error = torch.where(by[h] == 0, (error + most) * SINGLE.dropped, error * by[h])
            one = norms[:, h] * (error + most * SINGLE.smallest) + underflow
            total = one if total is None else total + one
        assert total is not None
        return total

    def _in_steps(self, group: Group, compute: Compute, finish: Finish) -> Values:
        """The values of a group, computed and finished some calls at a time, which are then still in the cache."""
        count = len(group.members)
        size = max(1, self.step // group.in_width) if self.step else count
        if size >= count:
            every = slice(0, count)
            return finish(every, compute(every, None, None), None)
        empty = self.given.points.new_empty
        found, scratch = empty((count, self.batch, group.width)), empty((size, self.batch, group.in_width))
        finished: list[Values] = []
        done = 0
        for start in range(0, count, size):
            stop = min(start + size, count)
            values = compute(slice(start, stop), scratch[: stop - start], found[start:stop])
            put(found[start:stop], values)
            if stop == count or (stop + size - done) * group.width > self.step:
                calls = slice(done, stop)
                finished.append(finish(calls, found[calls], found[calls]))
                done = stop
        return Values(found, torch.cat([one.scales for one in finished]), torch.cat([one.bounds for one in finished]))

    def _some(
        self,
        number: int,
        group: Group,
        by: Sequence[Tensor] | None,
        calls: slice,
        scratch: Tensor | None,
        out: Tensor | None,
    ) -> Tensor:
        """Some calls of a group before they are rescaled, in `out` if given; `scratch` is memory for a product."""
        terms = [[self._operand(read, calls.start, calls.stop) for read in term] for term in group.reads]
        factors = None if by is None else [one[calls].unsqueeze(2) for one in by]
        numbers = self.constants.numbers[number]
        weight = numbers[0][calls] if numbers else None
        match group.kind, weight:
            case Kind.PRODUCT, _:
                return multiply(terms[0], None, out)
            case Kind.KRONECKER, _:
                return kronecker(terms[0][0], terms[0][1], out)
            case Kind.REARRANGE, _:
                return torch.index_select(terms[0][0], 2, self.indices.positions[number], out=out)
            case Kind.SUM, Tensor():
                return weighted_sum(terms, factors, weight, scratch, out)
            case Kind.MIXING, Tensor():
                return mixing(terms, factors, weight, scratch, out)
            case Kind.TUCKER, Tensor():
                return tucker(terms[0][0], terms[0][1], weight, scratch, out)
            case Kind.TENSOR_DOT, Tensor():
                return tensor_dot(terms[0][0], weight, out)
            case _:
                raise LoweringError(f"kernel calls of kind {group.kind.value} are not evaluated in groups")

    def _gaussian(self, number: int, group: Group, calls: slice, scratch: Tensor | None, out: Tensor | None) -> Tensor:
        """sum_c constant_c - (factor_c (x_c - mean_c))^2."""
        means, factors, constant = self.constants.numbers[number]
        found = constant[calls]
        many = len(group.variables) > MAX_DENSITIES
        found = found.double() if many else found
        for c in range(len(group.variables)):
            x = torch.index_select(self.given.points, 0, self.indices.points[number][c][calls])
            z = torch.sub(x.unsqueeze(2), means[c, calls], out=scratch)
            z = torch.mul(z, factors[c, calls], out=scratch)
            found = found - z.double().square() if many else torch.addcmul(found, z, z, value=-1, out=out)
        return put(out, found)
