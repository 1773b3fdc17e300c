"""The values of a circuit for some inputs, as plain data made of literal runs."""

from dataclasses import replace

import numpy as np

from explorer.views import Input, StepRun, TraceIndex, no_values, values_view
from explorer.views.closeup.values import digits_on
from explorer.views.plates.geometry import Grid
from explorer.views.scopes import slice_scopes
from tests.views.showing import index_of

ROW = Input("row 0", np.array([0.0, 1.0]))


def run_of(step, output, layers, dtype="float32", difference=(0.0, 1e-4), num_outputs=1):
    logs = {node: np.array(logs) for node, logs in layers.items()}
    return StepRun(step, np.array([output], dtype), logs, [difference], num_outputs)


def values(*found):
    return values_view(index_of("conflict"), [ROW], found, most=1.0)


def test_outputs_that_differ_by_rounding_are_one_number():
    view = values(run_of(0, -183.47502, {}), run_of(3, -183.47510, {}))
    assert view["runs"][0]["outputs"] == {"0": "−183.48", "3": "−183.48"}
    assert view["runs"][0]["same"] == "The output is −183.48 after each of these 2 steps."


def test_an_output_that_differs_is_not_hidden():
    view = values(run_of(0, -183.4, {}), run_of(3, -183.6, {}, difference=(0.2, 0.018)))
    assert view["runs"][0]["outputs"] == {"0": "−183.4", "3": "−183.6"}
    assert view["runs"][0]["same"] == "The output is not the same after all of these 2 steps."


def test_rounding_that_shows_is_named():
    view = values(run_of(0, -5000.1, {}), run_of(3, -5000.5, {}, difference=(0.4, 0.5)))
    assert view["runs"][0]["outputs"] == {"0": "−5000.1", "3": "−5000.5"}
    expected = "The output is −5000.1 after each of these 2 steps, up to rounding errors of 0.4."
    assert view["runs"][0]["same"] == expected


def test_the_first_of_several_outputs_is_not_the_output():
    same = [run_of(0, -1.0, {}, num_outputs=4), run_of(3, -1.0, {}, num_outputs=4)]
    assert values(*same)["runs"][0]["same"] == "Output 1 of 4 is −1 after each of these 2 steps."
    other = run_of(3, -1.0, {}, difference=(float("nan"), 1e-4), num_outputs=4)
    assert values(same[0], other)["runs"][0]["same"] == "An output is not the same after all of these 2 steps."


def test_double_precision_shows_more_digits():
    view = values(run_of(0, -1 / 3, {}, "float64"))
    assert view["runs"][0]["outputs"] == {"0": "−0.3333333333"}


def test_cells_are_compared_by_the_logarithm_per_variable():
    inputs = {0: [[-1.0]], 1: [[-3.0]], 4: [[-4.0]]}  # 4 reads the variables of 0 and 1
    view = values(run_of(0, -4.0, inputs))
    assert view["runs"][0]["cells"] == {"0": [-1.0, 100], "1": [-3.0, 0], "4": [-4.0, 50]}
    assert view["scale"] == ["-3", "-1", "log-likelihood per variable (mean of the units)"]


def test_slices_have_the_values_of_the_layers_that_they_were():
    index = index_of("conflict")
    group = next(group for group in index.groups if len(group.members) > 1)
    step = next(step.index for step in index.trace.steps if group.node in step.snapshot.graph.nodes)
    logs = {group.node: [[-float(i + 1)] for i in range(len(group.members))]}
    cells = values(run_of(step, 0.0, logs))["runs"][0]["cells"]
    assert {layer: value for layer, (value, _) in cells.items()} == {
        str(layer): -float(i + 1) for i, layer in enumerate(group.members)
    }


def test_slices_that_were_folded_before_the_trace_have_their_own_variables():
    trace = index_of("conflict").trace
    index = TraceIndex(replace(trace, steps=(replace(trace.steps[-1], index=0, folds=()),)))
    scopes = slice_scopes(index, 0)
    assert list(scopes.values()) == [[0b0001, 0b0010, 0b0100, 0b1000], [0b0011, 0b1100], [0b1111]]
    logs = {node: np.array([[-2.0 * scope.bit_count()] for scope in found]) for node, found in scopes.items()}
    view = values_view(index, [ROW], [StepRun(0, np.zeros(1), logs, [(0.0, 0.0)])], most=1.0)
    assert view["scale"][:2] == ["-2", "-2"]


def test_a_value_without_a_finite_logarithm_has_no_colour():
    assert values(run_of(0, 0.0, {0: [[-np.inf]], 1: [[-1.0]]}))["runs"][0]["cells"] == {"1": [-1.0, 0]}


def test_steps_that_were_not_run_are_named():
    assert values(run_of(3, 0.0, {}))["note"].startswith("Not run, because they have too many layers: steps 0 to ")


def test_digits_are_drawn_in_the_middle_of_every_channel():
    one = digits_on(Grid(2, 9, 7))["1"].reshape(2, 9, 7)
    assert [int(line.sum()) for line in one[0]] == [0, 1, 2, 1, 1, 1, 1, 3, 0]
    assert (one[0] == one[1]).all()
    assert digits_on(Grid(1, 28, 28))["7"].sum() == 16 * digits_on(Grid(1, 8, 8))["7"].sum()
    assert digits_on(Grid(1, 4, 4)) == {}


def test_no_values_say_why():
    assert no_values("no tensors")["missing"] == "no tensors"
