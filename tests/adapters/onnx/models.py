"""Small ONNX models."""

from typing import Any

import numpy as np
import pytest

onnx: Any = pytest.importorskip("onnx", reason="needs onnx and onnxruntime: pip install 'circuit-explorer[watch]'")
pytest.importorskip("onnxruntime", reason="needs onnx and onnxruntime: pip install 'circuit-explorer[watch]'")
helper: Any = onnx.helper
FLOAT = onnx.TensorProto.FLOAT


def weight(name: str, *shape: int) -> Any:
    values = np.random.default_rng(sum(map(ord, name))).standard_normal(shape).astype("f4")
    return onnx.numpy_helper.from_array(values, name)


def scalar(name: str, value: float) -> Any:
    return onnx.numpy_helper.from_array(np.array(value, "f4"), name)


def model_of(graph: Any, opset: int = 17) -> Any:
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def mlp(rows: int | str = 8, **more: Any) -> Any:
    """Two linear layers as MatMul and Add, with a GELU that is written by Erf, and a softmax."""
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "w1"], ["a"], name="/up/MatMul"),
        node("Add", ["a", "b1"], ["b"], name="/up/Add"),
        node("Div", ["b", "root"], ["scaled"], name="/gelu/Div"),
        node("Erf", ["scaled"], ["e"], name="/gelu/Erf"),
        node("Add", ["e", "one"], ["e1"], name="/gelu/Add"),
        node("Mul", ["b", "e1"], ["m"], name="/gelu/Mul"),
        node("Mul", ["m", "half"], ["g"], name="/gelu/Mul_1"),
        node("Identity", ["g"], ["same"], name="/Identity"),
        node("MatMul", ["same", "w2"], ["c"], name="/down/MatMul"),
        node("Add", ["c", "b2"], ["d"], name="/down/Add"),
        node("Softmax", ["d"], ["y"], name="/Softmax"),
    ]
    inputs = [helper.make_tensor_value_info("x", FLOAT, [rows, 32])]
    outputs = [helper.make_tensor_value_info("y", FLOAT, [rows, 10])]
    weights = [weight("w1", 32, 64), weight("b1", 64), weight("w2", 64, 10), weight("b2", 10)]
    weights += [scalar("root", 2**0.5), scalar("one", 1.0), scalar("half", 0.5)]
    return model_of(helper.make_graph(nodes, "mlp", inputs, outputs, weights), **more)


def branches() -> Any:
    """An If with branches that read a value from outside, and an output that is an initializer."""
    out = [helper.make_tensor_value_info("z", FLOAT, [4])]
    then = helper.make_graph([helper.make_node("Add", ["doubled", "w"], ["z"])], "then", [], out)
    other = helper.make_graph([helper.make_node("Mul", ["doubled", "doubled"], ["z"])], "other", [], out)
    nodes = [
        helper.make_node("Add", ["x", "x"], ["doubled"]),
        helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=other),
    ]
    inputs = [helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])]
    inputs += [helper.make_tensor_value_info("x", FLOAT, [4])]
    outputs = [helper.make_tensor_value_info(name, FLOAT, [4]) for name in ("y", "w")]
    return model_of(helper.make_graph(nodes, "branches", inputs, outputs, [weight("w", 4)]))
