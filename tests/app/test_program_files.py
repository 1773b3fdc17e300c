"""Files of programs, named by the user: a model of ONNX, an exported program of PyTorch."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from explorer.app.circuits import load_circuit_or_trace
from explorer.app.session.library import Library
from explorer.app.session.opening import open_trace
from explorer.app.session.reproduce import tensor_python_of
from explorer.errors import FileFormatError
from explorer.trace import PROGRAM, TENSOR, WATCHED, Trace
from tests.app.commands.running import run


class Named(nn.Module):
    """A module with an input that is passed by name."""

    def forward(self, x: Tensor, *, shift: Tensor) -> Tensor:
        """Add the two."""
        return x + shift


@pytest.fixture
def exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with an exported program, in the folder of the commands."""
    monkeypatch.chdir(tmp_path)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    torch.export.save(torch.export.export(model, (torch.ones(2, 3),)), "a.pt2")
    return "a.pt2"


def test_an_exported_program_is_recorded_at_the_level_asked_for(exported: str) -> None:
    tensor, program = (load_circuit_or_trace(exported, level) for level in (TENSOR, PROGRAM))
    assert isinstance(tensor, Trace)
    assert isinstance(program, Trace)
    assert (tensor.level.name, program.level.name) == (TENSOR, PROGRAM)
    saved = torch.export.load(exported).module()
    x = torch.randn(2, 3)
    assert torch.equal(tensor.compiled(x), saved(x))
    assert "1 linear, 1 relu" in run("show", exported).output


def copied_code(trace: Trace, name: str) -> str:
    """The code that "Copy as Python" gives for the trace of a file."""
    opened, state = open_trace(trace, name)
    return tensor_python_of(name, state.options, opened.tensor, 0, is_live=opened.is_live, is_trace=True)


def test_copied_code_records_an_exported_program_again(exported: str) -> None:
    trace = load_circuit_or_trace(exported, TENSOR)
    assert isinstance(trace, Trace)
    space: dict[str, object] = {}
    exec(copied_code(trace, exported), space)
    assert isinstance(space["trace"], Trace)
    assert len(space["trace"].steps) == len(trace.steps)


def test_it_is_said_that_loading_a_program_can_run_code(exported: str) -> None:
    assert f"loading {exported} can run code that is in it" in " ".join(run("show", exported).output.split())


def test_what_cannot_be_called_with_saved_inputs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = torch.export.export(Named(), (torch.ones(2),), {"shift": torch.ones(2)})
    torch.export.save(program, "named.pt2")
    with pytest.raises(FileFormatError, match=r"named\.pt2 has named inputs \(shift\); record it in Python"):
        load_circuit_or_trace("named.pt2")
    Path("broken.pt2").write_bytes(b"PK\3\4")
    with pytest.raises(FileFormatError, match=r"broken\.pt2 is not an exported program .*torch\.export\.save"):
        load_circuit_or_trace("broken.pt2")


@pytest.mark.parametrize(("name", "what"), [("a.pt2", "exported program"), ("a.onnx", "ONNX model")])
def test_a_program_is_not_taken_from_a_browser(exported: str, name: str, what: str) -> None:
    raw = Path(exported).read_bytes()
    with pytest.raises(FileFormatError, match=rf"{name} seems to be an {what}.*circuit-explorer serve {name}"):
        Library().upload(name, raw)
    Path(name).write_bytes(raw)
    assert name not in Library(folder=Path()).names()


def test_a_model_of_onnx_is_optimized_by_its_runtime(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="needs onnx (the extra `watch`)")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime (the extra `watch`)")
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, 3]) for name in "xy")
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [3, 3], [1.0] * 9)
    nodes = [onnx.helper.make_node("Gemm", ["x", "w"], ["a"]), onnx.helper.make_node("Relu", ["a"], ["y"])]
    graph = onnx.helper.make_graph(nodes, "small", [x], [y], [weight])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    trace = load_circuit_or_trace(str(tmp_path / "m.onnx"))
    assert isinstance(trace, Trace)
    assert trace.level.name == WATCHED
    assert (trace.stats(0)["calls"], trace.stats(-1)["calls"]) == (2, 1)
    space: dict[str, object] = {}
    exec(copied_code(trace, str(tmp_path / "m.onnx")), space)
    assert isinstance(space["trace"], Trace)
