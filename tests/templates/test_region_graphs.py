"""Region graphs: what is refused, structure, files, and the algorithms that need no data."""

import json

import pytest
from inline_snapshot import snapshot

from explorer.errors import (
    CircuitError,
    FileFormatError,
    GraphError,
    ScopeError,
    ShapeError,
    StructureError,
    ValueRangeError,
)
from explorer.templates import (
    Partition,
    RegionGraph,
    RegionGraphBuilder,
    fully_factorized_regions,
    linear_tree,
    poon_domingos,
    quad_graph,
    quad_tree,
    random_binary_tree,
    tree_regions,
)

EXAMPLES = {
    "quad-tree-2": quad_tree((1, 3, 4)),
    "quad-tree-4": quad_tree((2, 5, 3), num_patch_splits=4),
    "quad-graph": quad_graph((1, 4, 4)),
    "poon-domingos": poon_domingos((1, 4, 4), delta=2),
    "random-binary-tree": random_binary_tree(7, num_repetitions=2),
    "linear-tree": linear_tree(5, num_repetitions=2, randomize=True),
    "fully-factorized": fully_factorized_regions(4),
    "tree": tree_regions([1, -1, 1, 2]),
}


@pytest.mark.parametrize(
    ("regions", "partitions", "error", "message"),
    [
        ((), (), StructureError, "at least one region"),
        (((),), (), ScopeError, "region 0 has no variables"),
        (((0, 0),), (), ScopeError, "once"),
        (((0, 1), (0,)), ((0, (1, 7)),), GraphError, "has the unknown region 7"),
        (((0, 1), (0, 1)), ((0, (1,)),), StructureError, "two or more children"),
        (((0, 1, 2), (0, 1), (1, 2)), ((0, (1, 2)),), ScopeError, r"disjoint; .*variables \[1\]"),
        (((0, 1), (0,)), ((0, (1, 1)),), ScopeError, r"disjoint; .*variables \[0\]"),
        (((0, 1, 2), (0,), (1,)), ((0, (1, 2)),), ScopeError, r"missing \[2\], unexpected \[\]"),
        (((0, 1), (0,), (1, 3)), ((0, (1, 2)),), ScopeError, r"missing \[\], unexpected \[3\]"),
    ],
)
def test_a_malformed_region_graph_is_refused(regions, partitions, error, message):
    with pytest.raises(error, match=message):
        RegionGraph(regions, tuple(Partition(*partition) for partition in partitions))


def test_regions_are_ordered_children_first_and_roots_are_not_children():
    b = RegionGraphBuilder()
    ab = b.merge(b.region([4]), b.region([2]))
    c = b.region([9])
    b.merge(c, ab)
    graph = b.build()
    assert graph.scope == (2, 4, 9)
    assert graph.leaves == (0, 1, 3)
    assert str(graph) == snapshot("""\
r0 = {4}
r1 = {2}
r3 = {9}
r2 = {2, 4} = r0 × r1
r4 = {2, 4, 9} = r3 × r2
roots: r4\
""")


@pytest.mark.parametrize("name", EXAMPLES)
def test_children_come_before_their_region(name):
    graph = EXAMPLES[name]
    position = {region: index for index, region in enumerate(graph.order)}
    assert all(position[c] < position[p.region] for p in graph.partitions for c in p.children)
    assert len(graph.roots) == 1
    assert graph.scope == tuple(range(graph.num_variables))


@pytest.mark.parametrize(
    ("name", "structured"),
    [
        ("quad-tree-2", True),
        ("quad-tree-4", True),
        ("quad-graph", False),
        ("poon-domingos", False),
        ("random-binary-tree", False),
        ("linear-tree", False),
        ("fully-factorized", True),
        ("tree", True),
    ],
)
def test_structural_properties(name, structured):
    graph = EXAMPLES[name]
    assert bool(graph.is_structured_decomposable) is structured
    assert bool(graph.is_structured_decomposable.reason) is not structured


def test_a_violated_property_names_its_location():
    graph = quad_graph((1, 2, 2))
    assert graph.is_structured_decomposable.reason == snapshot("regions r6 = r4 × r5 and r6 = r7 × r8 differ")


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_region_graph_survives_its_file(name, ending, tmp_path):
    path = tmp_path / f"graph.{ending}"
    EXAMPLES[name].save(path)
    assert RegionGraph.load(path) == EXAMPLES[name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "expected format 'circuit-explorer region graph'"),
        ({"version": 2}, "version 1; found 2"),
        ({"regions": [[0, 1], [0]]}, "invalid region graph"),
        ({"partitions": [{"region": 0}]}, "incomplete region graph: KeyError"),
        ({"regions": None}, "incomplete region graph: TypeError"),
    ],
)
def test_a_wrong_region_graph_file_is_refused(change, message, tmp_path):
    path = tmp_path / "graph.json"
    fully_factorized_regions(2).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FileFormatError, match=message):
        RegionGraph.load(path)


def test_a_truncated_region_graph_file_is_refused(tmp_path):
    path = tmp_path / "graph.json"
    fully_factorized_regions(2).save(path)
    path.write_text(path.read_text()[:-5])
    with pytest.raises(FileFormatError, match="truncated"):
        RegionGraph.load(path)


def test_quad_tree_of_an_odd_image():
    assert str(quad_tree((1, 2, 3), num_patch_splits=4)) == snapshot("""\
r0 = {0}
r1 = {1}
r2 = {2}
r3 = {3}
r4 = {4}
r5 = {5}
r7 = {2, 5} = r2 × r5
r6 = {0, 1, 3, 4} = r0 × r1 × r3 × r4
r8 = {0, 1, 2, 3, 4, 5} = r6 × r7
roots: r8\
""")


def test_channels_of_a_pixel_stay_together():
    assert quad_tree((3, 2, 2)).regions[0] == (0, 4, 8)


def test_poon_domingos_uses_the_first_delta_that_cuts():
    fine, coarse = poon_domingos((1, 4, 4), delta=1), poon_domingos((1, 4, 4), delta=2)
    both = poon_domingos((1, 4, 4), delta=[2, 1])
    assert (len(fine.regions), len(coarse.regions)) == (100, 9)
    assert len(coarse.regions) < len(both.regions) < len(fine.regions)
    assert all(len(both.regions[leaf]) == 1 for leaf in both.leaves)


def test_random_binary_tree_depth_and_repetitions():
    graph = random_binary_tree(8, depth=1, num_repetitions=3, seed=0)
    assert [len(graph.regions[leaf]) for leaf in graph.leaves] == [4] * 6
    assert len(graph.partitions_of[graph.roots[0]]) == 3
    assert random_binary_tree(8, seed=0) == random_binary_tree(8, seed=0) != random_binary_tree(8, seed=1)
    assert random_binary_tree(8, depth=0).leaves == (0,)


def test_linear_tree_follows_the_ordering():
    graph = linear_tree(4, ordering=(2, 0, 3, 1))
    assert [graph.regions[p.children[0]] for p in graph.partitions] == [(2,), (0,), (3,)]


@pytest.mark.parametrize("make", [random_binary_tree, linear_tree, fully_factorized_regions])
def test_one_variable_is_a_single_leaf(make):
    assert make(1) == RegionGraph(((0,),), ())


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: quad_tree((1, 0, 2)), ShapeError),
        (lambda: quad_graph((8, 8)), ShapeError),  # type: ignore[arg-type]
        (lambda: quad_tree((1, 2, 2), num_patch_splits=3), ValueRangeError),
        (lambda: poon_domingos((1, 2, 2), delta=0.5), ValueRangeError),
        (lambda: poon_domingos((1, 2, 2), delta=[]), ValueRangeError),
        (lambda: random_binary_tree(0), ValueRangeError),
        (lambda: random_binary_tree(4, depth=3), ValueRangeError),
        (lambda: random_binary_tree(4, num_repetitions=0), ValueRangeError),
        (lambda: linear_tree(3, ordering=[0, 1, 1]), ScopeError),
        (lambda: fully_factorized_regions(-1), ValueRangeError),
        (lambda: tree_regions([1, 0]), CircuitError),
        (lambda: tree_regions([-1, 5]), ValueRangeError),
    ],
)
def test_bad_arguments_are_refused(make, error):
    with pytest.raises(error):
        make()
