"""Circuits of the peer are recorded, shown and traced without being converted by hand."""

import pytest
import torch

import explorer
from explorer.backend import queries
from explorer.errors import DataTypeError
from explorer.symbolic import Circuit

pytest.importorskip("cirkit")
pytestmark = pytest.mark.peer

from tests.symbolic.cirkit.peer_circuits import chain, compile_peer, image  # noqa: E402


def test_a_circuit_of_the_peer_is_recorded():
    trace = explorer.record(chain(), preset="handbook", fold=False)
    assert isinstance(trace.subject, Circuit)
    assert trace.options["preset"] == "handbook"


def test_a_compiled_circuit_of_the_peer_is_recorded_with_its_values():
    peer, _context = compile_peer(image("quad-tree-2"), "lse-sum", fold=True, optimize=True)
    x = torch.randint(256, (2, 9))
    torch.testing.assert_close(explorer.record(peer).compiled(x), peer(x), rtol=1e-5, atol=1e-6)


def test_a_circuit_of_the_peer_is_shown():
    pytest.importorskip("anywidget")
    widget = explorer.show(chain())
    assert getattr(widget, "step", None) == 0


def test_a_fast_circuit_of_the_peer_must_be_converted():
    peer, _context = compile_peer(chain())
    with pytest.raises(DataTypeError, match=r"found TorchCircuit; compile from_cirkit\(circuit\) first"):
        explorer.fast(peer)
    with pytest.raises(DataTypeError, match=r"found TorchCircuit of cirkit; compile from_cirkit\(circuit\) first"):
        queries.partition_function(peer)
