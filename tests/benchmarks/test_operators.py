"""The comparison of squared circuits with the peer: equal values, never more parameters."""

import pytest

from benchmarks.operator_times import SQUARED_UNITS, OperatorTime, exceeding, measure_operators, squared_case
from benchmarks.peer import peer_is_installed


@pytest.mark.peer
@pytest.mark.skipif(not peer_is_installed(), reason="libcirkit is not installed")
@pytest.mark.parametrize(
    ("layer", "units"),
    [
        pytest.param(layer, units, marks=[] if units in (2, 16) else [pytest.mark.fuzz])
        for layer in SQUARED_UNITS
        for units in SQUARED_UNITS[layer]
    ],
)
def test_a_square_has_the_values_of_the_peer_and_no_more_parameters(layer: str, units: int):
    found = measure_operators(squared_case(layer, units), repeats=1)  # which compares the values
    assert found.peer_parameters is not None
    assert found.parameters <= found.peer_parameters
    if layer == "tucker":  # the peer stores permutations as dense matrices
        assert found.parameters * 10 < found.peer_parameters


def test_what_is_more_than_the_peers_is_said():
    row = OperatorTime("cp K=2", 3, 100, 0.1, 0.2, 3, 90, 0.2, 0.1)
    assert exceeding(row) == [
        "cp K=2: parameters: 100, the peer 90",
        "cp K=2: seconds of the integral: 0.2, the peer 0.1",
    ]
