"""`explorer.watch_onnx`: what a trace of ONNX Runtime has, and that each of its states computes the same."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import explorer
from explorer.errors import CircuitError, DataTypeError, FileFormatError, ShapeError, UnknownNameError
from explorer.trace import Trace
from explorer.trace.trace_files import load_trace
from tests.adapters.onnx.models import FLOAT, branches, helper, mlp, model_of, onnx, weight

FULLY_OPTIMIZED = """
import sys, onnx, onnxruntime
options = onnxruntime.SessionOptions()
options.optimized_model_filepath, options.log_severity_level = sys.argv[2], 4
onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print(*(node.op_type for node in onnx.load(sys.argv[2]).graph.node))
"""


def changing(trace: Trace) -> list[str]:
    return [step.at.pass_name for step in trace.steps if step.changed]


def titles(trace: Trace, step: int = -1) -> list[str]:
    nodes = trace.steps[step].snapshot.graph.nodes.values()
    return [node.title for node in nodes if node.kind != "input"]


def test_a_trace_has_a_step_for_each_transformer_and_every_state_computes_the_same():
    trace = explorer.watch_onnx(mlp().SerializeToString(), name="mlp")
    assert titles(trace, 0).count("Erf") == 1
    assert "MatMulAddFusion" in changing(trace)
    gelu = next(step for step in trace.steps if step.changed and "Gelu" in step.at.pass_name)
    before, after = (trace.steps[number].snapshot.graph.nodes for number in (gelu.index - 1, gelu.index))
    (rewrite,) = gelu.rewrites
    assert sorted(before[node].title for node in rewrite.removed) == ["Add", "Div", "Erf", "Mul", "Mul"]
    assert [after[node].title for node in rewrite.added] == ["Gelu"]
    assert {one.about.get("module") for one in after.values() if one.title == "Gelu"} == {"gelu"}
    checks = trace.check()
    assert all(check.ok for check in checks), checks
    assert len([step for step in trace.steps if not step.changed]) > 10


def test_the_last_state_is_what_the_runtime_makes_of_the_model(tmp_path: Path):
    model = tmp_path / "mlp.onnx"
    onnx.save(mlp(), str(model))
    command = [sys.executable, "-c", FULLY_OPTIMIZED, str(model), str(tmp_path / "optimized.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert titles(explorer.watch_onnx(model)) == done.stdout.split()


def test_outputs_are_those_of_the_model():
    x = torch.randn(8, 32, generator=torch.Generator().manual_seed(5))
    trace = explorer.watch_onnx(mlp().SerializeToString(), {"x": x})
    w1, b1, w2, b2 = (
        torch.tensor(onnx.numpy_helper.to_array(one))
        for one in (weight("w1", 32, 64), weight("b1", 64), weight("w2", 64, 10), weight("b2", 10))
    )
    wanted = torch.softmax(torch.nn.functional.gelu(x @ w1 + b1) @ w2 + b2, -1)
    for step in trace.steps:
        if step.changed:  # float32: sums of 64 terms in another order
            torch.testing.assert_close(step.snapshot.results((x,)), (wanted,), rtol=1e-4, atol=1e-6)


def test_bytes_of_a_symbolic_dimension_are_those_of_the_inputs():
    trace = explorer.watch_onnx(mlp("batch").SerializeToString(), [torch.zeros(5, 32)])
    first = next(one for one in trace.steps[0].snapshot.graph.nodes.values() if one.title == "MatMul")
    assert first.config["results"] == ["f32[5,64]"]
    assert (first.config["bytes"], first.config["read_bytes"], first.config["parameter_bytes"]) == (1280, 640, 8192)
    assert list(first.parameters) == ["w1"]
    default = explorer.watch_onnx(mlp("batch").SerializeToString())
    assert default.examples[0].shape == (2, 32)
    with pytest.raises(CircuitError, match=r"ONNX Runtime cannot run this state on these inputs: .*x"):
        default.steps[0].snapshot.results((torch.zeros(2, 31),))


def test_values_that_only_a_subgraph_reads_are_inputs_of_its_node():
    trace = explorer.watch_onnx(branches().SerializeToString(), level="off")
    graph = trace.steps[0].snapshot.graph
    found = {record.title: node for node, record in graph.nodes.items()}
    assert found["Add"] in graph.inputs[found["If"]]
    assert graph.nodes[found["If"]].config["then_branch"] == "graph of Add"
    assert len(graph.outputs) == 2
    assert all(check.ok for check in trace.check())


def test_a_saved_trace_is_read_back(tmp_path: Path):
    trace = explorer.watch_onnx(mlp().SerializeToString())
    trace.save(tmp_path / "onnx.json.gz")
    read = load_trace(tmp_path / "onnx.json.gz")
    assert [step.changed for step in read.steps] == [step.changed for step in trace.steps]
    assert read.steps[-1].snapshot.graph.nodes == trace.steps[-1].snapshot.graph.nodes


def test_external_data_is_read_from_the_folder_of_the_model(tmp_path: Path):
    path = tmp_path / "mlp.onnx"
    onnx.save(mlp(), str(path), save_as_external_data=True, location="weights", size_threshold=0)
    trace = explorer.watch_onnx(path)
    assert all(check.ok for check in trace.check())
    (tmp_path / "weights").unlink()
    assert all(check.ok for check in trace.check())
    with pytest.raises(FileFormatError, match=r"mlp\.onnx is not an ONNX model, or it is truncated or too large"):
        explorer.watch_onnx(path)


@pytest.mark.parametrize("content", [b"", b"not a model", mlp().SerializeToString()[:2000]])
def test_files_that_are_no_models_are_refused(content: bytes, tmp_path: Path):
    (tmp_path / "bad.onnx").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"bad\.onnx"):
        explorer.watch_onnx(tmp_path / "bad.onnx")


def test_models_that_the_runtime_does_not_know_are_refused_in_its_words():
    future = mlp()
    future.opset_import[0].version = 999
    with pytest.raises(FileFormatError, match=r"opset (version )?999|till opset"):
        explorer.watch_onnx(future.SerializeToString())
    unknown = mlp()
    unknown.graph.node[0].op_type = "Matmull"
    with pytest.raises(FileFormatError, match="Matmull"):
        explorer.watch_onnx(unknown.SerializeToString())
    with pytest.raises(FileFormatError, match="cannot read"):
        explorer.watch_onnx("missing.onnx")


def test_inputs_and_levels_that_do_not_fit_are_refused():
    model = mlp().SerializeToString()
    with pytest.raises(UnknownNameError, match="level"):
        explorer.watch_onnx(model, level="most")
    for wrong in ({"z": torch.zeros(8, 32)}, [], [torch.zeros(8, 32), torch.zeros(1)]):
        with pytest.raises(DataTypeError, match="each input of the model: x"):
            explorer.watch_onnx(model, wrong)
    for shape in ((8,), (7, 32)):
        with pytest.raises(ShapeError, match=r"the input x has shape \[8, 32\]"):
            explorer.watch_onnx(model, [torch.zeros(shape)])
    texts = [helper.make_tensor_value_info(name, onnx.TensorProto.STRING, [2]) for name in ("s", "t")]
    graph = helper.make_graph([helper.make_node("Identity", ["s"], ["t"])], "texts", texts[:1], texts[1:])
    with pytest.raises(DataTypeError, match="type string: pass inputs="):
        explorer.watch_onnx(model_of(graph).SerializeToString())


def test_a_chain_of_fusions_is_a_change_each():
    nodes = [helper.make_node("MatMul", [f"x{n}", f"w{n}"], [f"a{n}"]) for n in range(3)]
    nodes += [helper.make_node("Add", [f"a{n}", f"b{n}"], [f"x{n + 1}"]) for n in range(3)]
    nodes = [nodes[n // 2 + 3 * (n % 2)] for n in range(6)]
    ends = [helper.make_tensor_value_info(name, FLOAT, [2, 4]) for name in ("x0", "x3")]
    weights = [one for n in range(3) for one in (weight(f"w{n}", 4, 4), weight(f"b{n}", 4))]
    trace = explorer.watch_onnx(
        model_of(helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)).SerializeToString()
    )
    step = next(step for step in trace.steps if step.at.pass_name == "MatMulAddFusion")
    assert [(len(one.removed), len(one.added)) for one in step.rewrites] == [(2, 1)] * 3
