"""The comparison of squared circuits with the peer: equal values, never more parameters."""

import pytest

from benchmarks.operator_times import OperatorTime, exceeding, measure_operators, squared_case
from benchmarks.peer import peer_is_installed


@pytest.mark.peer
@pytest.mark.skipif(not peer_is_installed(), reason="libcirkit is not installed")
@pytest.mark.parametrize("layer", ["cp", "tucker"])
def test_a_square_has_the_values_of_the_peer_and_no_more_parameters(layer: str):
    found = measure_operators(squared_case(layer, 2), repeats=1)  # which compares the values
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
