"""The region graph: the recursive partition of the variables of a circuit, as versioned JSON too."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from explorer.errors import (
    CircuitError,
    DataTypeError,
    FileFormatError,
    GraphError,
    ScopeError,
    ShapeError,
    StructureError,
    ValueRangeError,
)
from explorer.files import check_format, read_json, write_json
from explorer.symbolic import Finding, Scope, make_scope, shared_variables, union
from explorer.symbolic.checks import is_integer


@dataclass(frozen=True, slots=True)
class Partition:
    """One way to split a region: the children are regions with disjoint scopes that together have its scope."""

    region: int
    children: tuple[int, ...]


@dataclass(frozen=True)
class RegionGraph:
    """Regions (sets of variables) and partitions (a region split into regions).

    The id of a region is its position. A region may have several partitions (a mixture of ways to split it) or none (a
    leaf, for input layers). Two regions may have the same scope. Regions that are not children are the roots. Circuits
    built on a region graph are smooth and decomposable, because this is checked here. A child is smaller than its
    region, so there are no cycles.

    Raises: ScopeError for an empty region, for children that overlap or do not cover the region; GraphError for a
    region that does not exist; StructureError without a region, or for a partition with fewer than two children.
    Source: Dennis and Ventura 2012, Learning the architecture of sum-product networks using clustering on variables.

    >>> g = RegionGraph(((0, 1), (0,), (1,)), (Partition(0, (1, 2)),))
    >>> print(g)
    r1 = {0}
    r2 = {1}
    r0 = {0, 1} = r1 × r2
    roots: r0
    """

    regions: tuple[Scope, ...]
    partitions: tuple[Partition, ...]

    def __post_init__(self) -> None:
        if not self.regions:
            raise StructureError("a region graph needs at least one region; found none")
        object.__setattr__(self, "regions", tuple(map(make_scope, self.regions)))
        object.__setattr__(self, "partitions", tuple(Partition(p.region, tuple(p.children)) for p in self.partitions))
        for region, scope in enumerate(self.regions):
            if not scope:
                raise ScopeError(f"region {region} has no variables; a region needs at least one")
        masks = [sum(1 << variable for variable in scope) for scope in self.regions]
        for partition in self.partitions:
            self._check(partition, masks)

    @cached_property
    def scope(self) -> Scope:
        """All variables."""
        return union(self.regions[root] for root in self.roots)

    @property
    def num_variables(self) -> int:
        """The number of variables."""
        return len(self.scope)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The regions, children before parents: smaller scopes first, then by id."""
        return tuple(sorted(range(len(self.regions)), key=lambda region: len(self.regions[region])))

    @cached_property
    def partitions_of(self) -> Mapping[int, tuple[Partition, ...]]:
        """The partitions of each region, in order; an empty tuple for a leaf."""
        found: dict[int, list[Partition]] = {region: [] for region in range(len(self.regions))}
        for partition in self.partitions:
            found[partition.region].append(partition)
        return {region: tuple(partitions) for region, partitions in found.items()}

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The regions that are not children, by id."""
        children = {child for partition in self.partitions for child in partition.children}
        return tuple(region for region in range(len(self.regions)) if region not in children)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The regions without partitions, by id."""
        return tuple(region for region, partitions in self.partitions_of.items() if not partitions)

    @cached_property
    def is_structured_decomposable(self) -> Finding:
        """Whether all partitions of a scope split it in the same way; if not, with the reason."""
        splits: dict[Scope, tuple[Partition, list[Scope]]] = {}
        for partition in self.partitions:
            split = sorted(self.regions[child] for child in partition.children)
            first, known = splits.setdefault(self.regions[partition.region], (partition, split))
            if known != split:
                one, other = self._text(first), self._text(partition)
                return Finding(False, f"regions r{first.region} = {one} and r{partition.region} = {other} differ")
        return Finding(True)

    def save(self, path: "str | Path") -> None:
        """Write the region graph as versioned JSON (gzip if the name ends in .gz)."""
        write_json(region_graph_to_json(self), path)

    @staticmethod
    def load(path: "str | Path") -> "RegionGraph":
        """Read a region graph file. Raises: FileFormatError for a foreign, truncated or newer file."""
        return region_graph_from_json(read_json(path, FORMAT), where=str(path))

    def __str__(self) -> str:
        lines: list[str] = []
        for region in self.order:
            splits = " | ".join(map(self._text, self.partitions_of[region]))
            lines.append(f"r{region} = {_scope_text(self.regions[region])}" + (f" = {splits}" if splits else ""))
        return "\n".join([*lines, "roots: " + ", ".join(f"r{root}" for root in self.roots)])

    def __repr__(self) -> str:
        counts = f"{len(self.regions)} regions, {len(self.partitions)} partitions"
        return f"<RegionGraph: {self.num_variables} variables, {counts}>"

    def _text(self, partition: Partition) -> str:
        return " × ".join(f"r{child}" for child in partition.children)

    def _check(self, partition: Partition, masks: Sequence[int]) -> None:
        for region in (partition.region, *partition.children):
            if not 0 <= region < len(self.regions):
                raise GraphError(f"{partition} has the unknown region {region}; ids are 0 to {len(self.regions) - 1}")
        if len(partition.children) < 2:
            raise StructureError(f"{partition} must have two or more children; omit it if the region is a leaf")
        covered = 0
        for child in partition.children:
            if covered & masks[child]:
                shared = shared_variables(self.regions[c] for c in partition.children)
                raise ScopeError(
                    f"{partition}: the children must be disjoint; variables {list(shared)} are in two of them"
                )
            covered |= masks[child]
        if covered != masks[partition.region]:
            wanted, found = self.regions[partition.region], union(self.regions[c] for c in partition.children)
            raise ScopeError(
                f"{partition}: the children must have all variables of the region and no others; "
                f"missing {sorted(set(wanted) - set(found))}, unexpected {sorted(set(found) - set(wanted))}"
            )


@dataclass
class RegionGraphBuilder:
    """Collects regions and partitions; `region` and `merge` return the id of the new region.

    >>> b = RegionGraphBuilder()
    >>> root = b.merge(b.region([0]), b.region([1]))
    >>> b.build().regions[root]
    (0, 1)
    """

    _regions: list[Scope] = field(default_factory=list[Scope])
    _partitions: list[Partition] = field(default_factory=list[Partition])

    def region(self, variables: Iterable[int]) -> int:
        """Add a region, a leaf unless it is split afterwards. Raises: ScopeError."""
        self._regions.append(make_scope(variables))
        return len(self._regions) - 1

    def split(self, region: int, children: Sequence[int]) -> None:
        """Add a partition of a region."""
        self._partitions.append(Partition(region, tuple(children)))

    def merge(self, *children: int) -> int:
        """Add the union of these regions, partitioned into them."""
        region = self.region(variable for child in children for variable in self._regions[child])
        self.split(region, children)
        return region

    def scope(self, region: int) -> Scope:
        """The variables of a region."""
        return self._regions[region]

    def build(self) -> RegionGraph:
        """The region graph. Raises what `RegionGraph` raises."""
        return RegionGraph(tuple(self._regions), tuple(self._partitions))


def _scope_text(scope: Scope) -> str:
    return "{" + ", ".join(map(str, scope)) + "}"


ImageShape = tuple[int, int, int]


def check_at_least_one(**given: int) -> None:
    """Raises: DataTypeError, ValueRangeError unless every number is an integer of at least one."""
    for name, value in given.items():
        if not is_integer(value):
            raise DataTypeError(f"{name} must be an integer; found {value!r}")
        if value < 1:
            raise ValueRangeError(f"{name} must be at least 1; found {value}")


def check_image_shape(shape: ImageShape) -> None:
    """Raises: ShapeError unless this is (channels, height, width), each at least one."""
    given = tuple(shape) if isinstance(shape, tuple | list) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
    if len(given) != 3 or not all(is_integer(size) and size >= 1 for size in given):
        raise ShapeError(f"an image shape is (channels, height, width), integers of at least 1; found {shape!r}")


FORMAT = "circuit-explorer region graph"
VERSION = 1


def region_graph_to_json(region_graph: RegionGraph) -> dict[str, Any]:
    """The region graph as JSON data, in which positions identify regions."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "regions": [list(scope) for scope in region_graph.regions],
        "partitions": [{"region": p.region, "children": list(p.children)} for p in region_graph.partitions],
    }


def region_graph_from_json(data: Mapping[str, Any], where: str = "region graph data") -> RegionGraph:
    """The region graph of JSON data. Raises: FileFormatError, with the reason."""
    check_format(data, FORMAT, VERSION, where)
    try:
        regions = tuple(tuple(map(int, scope)) for scope in data["regions"])
        partitions = tuple(
            Partition(int(row["region"]), tuple(map(int, row["children"]))) for row in data["partitions"]
        )
        return RegionGraph(regions, partitions)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{where}: incomplete region graph: {type(error).__name__}: {error}") from error
    except CircuitError as error:
        raise FileFormatError(f"{where}: invalid region graph: {error}") from error
