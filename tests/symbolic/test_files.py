"""Circuit files: saving and loading preserves circuits; incomplete files are refused."""

import copy
import gzip
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from explorer.errors import FileFormatError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ClampParameter,
    ConstantInitializer,
    ConstantValueLayer,
    DataType,
    DirichletInitializer,
    EvidenceLayer,
    ExpParameter,
    NormalInitializer,
    ScaledSigmoidParameter,
    SoftmaxParameter,
    SumLayer,
    TensorParameter,
    UniformInitializer,
    circuit_from_json,
    circuit_to_json,
    constant,
)
from tests.fuzzing import examples
from tests.oracle import constant_leaf_values, evaluate
from tests.reference import load_reference, reference_paths
from tests.strategies import circuits, random_inputs

Json = dict[str, Any]


def small() -> Circuit:
    shared = TensorParameter((2, 2), initializer=UniformInitializer(-1.0, 0.5), name="theta")
    probs = SoftmaxParameter((shared,))
    b = CircuitBuilder()
    left = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs), name="left")
    right = b.add(CategoricalLayer(scope=(3,), num_output_units=2, num_categories=2, probs=probs))
    weight = ClampParameter((TensorParameter((2, 2), initializer=DirichletInitializer(0.3, 0)),), vmin=0.1)
    return b.build(b.sum(b.hadamard(left, right), num_units=2, weight=weight, name="root"), left)


def again(circuit: Circuit) -> Circuit:
    return circuit_from_json(json.loads(json.dumps(circuit_to_json(circuit))))


def first_leaf(circuit: Circuit) -> TensorParameter:
    return next(iter(circuit.leaf_names))


def change_json(change: Callable[[Json], object]) -> Json:
    data = copy.deepcopy(circuit_to_json(small()))
    change(data)
    return data


# ---- round trip


def test_a_loaded_circuit_has_the_same_text_names_and_outputs(tmp_path):
    small().save(tmp_path / "c.json")
    loaded = Circuit.load(tmp_path / "c.json")
    assert str(loaded) == str(small())
    assert loaded.names == {0: "left", 3: "root"}
    assert loaded.outputs == (3, 0)
    assert list(loaded.leaf_names.values()) == ["theta", "3.weight"]


def test_a_shared_expression_is_shared_after_loading():
    layers = again(small()).layers
    assert layers[0].probs is layers[1].probs  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["c.json", "c.json.gz"])
def test_the_second_save_is_byte_identical(tmp_path, name):
    small().save(tmp_path / name)
    first = (tmp_path / name).read_bytes()
    Circuit.load(str(tmp_path / name)).save(str(tmp_path / name))
    assert (tmp_path / name).read_bytes() == first


def test_a_gz_file_is_the_same_text_compressed(tmp_path):
    small().save(tmp_path / "c.json")
    small().save(tmp_path / "c.json.gz")
    assert gzip.decompress((tmp_path / "c.json.gz").read_bytes()) == (tmp_path / "c.json").read_bytes()


def test_a_compressed_file_is_known_by_its_content_not_by_its_name(tmp_path):
    small().save(tmp_path / "c.json.gz")
    (tmp_path / "c.json").write_bytes((tmp_path / "c.json.gz").read_bytes())
    assert str(Circuit.load(tmp_path / "c.json")) == str(small())


@pytest.mark.parametrize(
    "initializer",
    [
        ConstantInitializer(0.5),
        ConstantInitializer([0.1, -np.inf]),
        UniformInitializer(-1.0, 2.0),
        NormalInitializer(3.0, 0.25),
        DirichletInitializer(0.5, 0),
    ],
)
def test_each_initializer_is_preserved(initializer):
    b = CircuitBuilder()
    leaf = TensorParameter((2,), learnable=False, initializer=initializer, name="x")
    loaded = first_leaf(again(b.build(b.add(ConstantValueLayer(num_output_units=2, value=leaf)))))
    assert (loaded.shape, loaded.learnable, loaded.name, loaded.dtype) == ((2,), False, "x", DataType.REAL)
    if isinstance(initializer, ConstantInitializer):
        assert isinstance(loaded.initializer, ConstantInitializer)
        np.testing.assert_array_equal(loaded.initializer.value, initializer.value)
    else:
        assert loaded.initializer == initializer


@pytest.mark.parametrize("value", [[1, 2], [0.1, 1 / 3], [1 + 2j, 0.1j]])
def test_constants_keep_their_type_and_every_digit(value):
    b = CircuitBuilder()
    circuit = b.build(b.add(ConstantValueLayer(num_output_units=2, value=constant(value))))
    before, after = first_leaf(circuit), first_leaf(again(circuit))
    assert (after.dtype, after.learnable) == (before.dtype, False)
    assert after.initializer.value.dtype == before.initializer.value.dtype  # type: ignore[attr-defined]
    np.testing.assert_array_equal(after.initializer.value, value)  # type: ignore[attr-defined]


def test_infinite_complex_constants_are_preserved():
    value = np.array([complex(1, np.inf), complex(-np.inf, 0)])
    b = CircuitBuilder()
    circuit = b.build(b.add(ConstantValueLayer(num_output_units=2, value=constant(value))))
    np.testing.assert_array_equal(first_leaf(again(circuit)).initializer.value, value)  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint16", "complex64", "bool", ">f4"])
def test_constants_keep_their_precision(dtype):
    value = np.array([1, 0], dtype)
    b = CircuitBuilder()
    circuit = b.build(b.add(ConstantValueLayer(num_output_units=2, value=constant(value))))
    after = first_leaf(again(circuit)).initializer.value  # type: ignore[attr-defined]
    assert after.dtype == value.dtype
    np.testing.assert_array_equal(after, value)


def test_constants_without_a_stated_precision_load_too():
    def forget(data: Json) -> None:
        for row in data["parameters"]:
            row["initializer"] = {"type": "ConstantInitializer", "value": [[0.5, 1], [1, 0]]}

    data = change_json(lambda d: forget({"parameters": [row for row in d["parameters"] if "initializer" in row]}))
    assert first_leaf(circuit_from_json(data)).initializer.value.dtype == np.float64  # type: ignore[attr-defined]


def test_config_of_operators_is_preserved():
    b = CircuitBuilder()
    node = b.add(ConstantValueLayer(num_output_units=2, log_space=True, value=constant([0.0, 1.0])))
    leaf = TensorParameter((1, 2))
    top = b.sum(
        node, num_units=1, weight=ScaledSigmoidParameter((ClampParameter((leaf,), vmax=1.5),), vmin=-1, vmax=0.5)
    )
    circuit = b.build(top)
    assert str(again(circuit)) == str(circuit)


def test_a_custom_layer_class_loads_as_well():
    class RenamedSumLayer(SumLayer):
        """Declared outside the package."""

    b = CircuitBuilder()
    node = b.add(ConstantValueLayer(num_output_units=1, value=constant([1.0])))
    top = b.add(RenamedSumLayer(num_input_units=1, num_output_units=1, weight=TensorParameter((1, 1))), [node])
    assert type(again(b.build(top)).layers[1]) is RenamedSumLayer


def test_a_circuit_made_with_numpy_numbers_is_saved(tmp_path):
    two = np.int64(2)
    leaf = ClampParameter((TensorParameter((2, 2)),), vmin=np.float32(0.5))  # type: ignore[arg-type]
    b = CircuitBuilder()
    b.add(CategoricalLayer(scope=(0,), num_output_units=two, num_categories=two, probs=leaf))  # type: ignore[arg-type]
    b.build(0).save(tmp_path / "c.json")
    assert Circuit.load(tmp_path / "c.json").layers[0].num_output_units == 2


@given(circuits(positive=False) | circuits(positive=False, complex_leaves=True))
def test_a_random_circuit_is_preserved_with_text_and_values(circuit):
    loaded = again(circuit)
    assert str(loaded) == str(circuit)
    assert list(loaded.leaf_names.values()) == list(circuit.leaf_names.values())
    assert circuit_to_json(loaded) == circuit_to_json(circuit)
    x = random_inputs(circuit)
    before = evaluate(circuit, constant_leaf_values(circuit), x)
    np.testing.assert_array_equal(evaluate(loaded, constant_leaf_values(loaded), x), before)


@examples(20)
@given(circuits(positive=False, complex_leaves=True))
def test_a_random_circuit_is_saved_byte_identically_after_loading(tmp_path_factory, circuit):
    tmp_path = tmp_path_factory.mktemp("files")
    circuit.save(tmp_path / "a.json.gz")
    Circuit.load(tmp_path / "a.json.gz").save(tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


@pytest.mark.parametrize("path", reference_paths(), ids=lambda path: path.stem)
def test_a_reference_circuit_is_preserved(path):
    circuit = load_reference(path)[0]
    assert str(again(circuit)) == str(circuit)


# ---- refused files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a circuit-explorer circuit file, or it is truncated"),
        (b"PK\x03\x04 no json", "is not a circuit-explorer circuit file"),
        (b"\xff\xfe\x00", "is not a circuit-explorer circuit file"),
        (b"[1, 2]", "it contains a list"),
        (b"{}", "expected format 'circuit-explorer circuit', found None"),
        (b'{"format": "circuit-explorer trace", "version": 1}', "found 'circuit-explorer trace'"),
        (b"\x1f\x8b no gzip", "is not a circuit-explorer circuit file"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path, content, message):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(FileFormatError, match=message) as caught:
        Circuit.load(tmp_path / "f")
    assert str(tmp_path / "f") in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"cannot read .*none: No such file"):
        Circuit.load(tmp_path / "none")
    with pytest.raises(FileFormatError, match="cannot read"):
        Circuit.load(tmp_path)


@pytest.mark.parametrize("name", ["c.json", "c.json.gz"])
def test_a_file_cut_off_anywhere_is_refused(tmp_path, name):
    small().save(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / name).write_bytes(whole[:length])
        with pytest.raises(FileFormatError):
            Circuit.load(tmp_path / name)


def test_a_damaged_compressed_file_is_refused(tmp_path):
    small().save(tmp_path / "c.json.gz")
    whole = bytearray((tmp_path / "c.json.gz").read_bytes())
    for place in range(12, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        (tmp_path / "c.json.gz").write_bytes(damaged)
        with pytest.raises(FileFormatError):
            Circuit.load(tmp_path / "c.json.gz")


@pytest.mark.parametrize("version", [2, 99, 0, -1, "1", 1.0, None])
def test_a_different_version_is_refused(version):
    with pytest.raises(FileFormatError, match=f"reads circuit-explorer circuit version 1; found {version!r}"):
        circuit_from_json(change_json(lambda data: data.update(version=version)))


@pytest.mark.parametrize("part", ["parameters", "layers", "outputs"])
def test_a_file_without_a_part_is_refused(part):
    with pytest.raises(FileFormatError, match=f"incomplete circuit: KeyError: '{part}'"):
        circuit_from_json(change_json(lambda data: data.pop(part)))


@pytest.mark.parametrize("field", ["id", "inputs", "type", "num_output_units", "num_categories", "scope"])
def test_a_layer_without_a_field_is_refused(field):
    with pytest.raises(FileFormatError, match=field):
        circuit_from_json(change_json(lambda data: data["layers"][0].pop(field)))


@pytest.mark.parametrize("field", ["size", "dtype", "initializer", "type"])
def test_a_leaf_without_a_field_is_refused(field):
    with pytest.raises(FileFormatError, match=field):
        circuit_from_json(change_json(lambda data: data["parameters"][0].pop(field)))


CHANGES: dict[str, tuple[Callable[[Json], object], str]] = {
    "layer type": (
        lambda d: d["layers"][0].update(type="OddLayer"),
        "no layer named 'OddLayer'; known are: .*SumLayer",
    ),
    "operator": (
        lambda d: d["parameters"][1].update(type="Odd"),
        "no parameter node named 'Odd'; known are: .*Softmax",
    ),
    "initializer": (lambda d: d["parameters"][0]["initializer"].update(type="Odd"), "no initializer named 'Odd'"),
    "dtype": (lambda d: d["parameters"][0].update(dtype="odd"), "'odd' is not a valid DataType"),
    "missing operand": (lambda d: d["parameters"][1].update({"in": [9]}), "IndexError"),
    "operand after use": (lambda d: d["parameters"].reverse(), "IndexError"),
    "missing parameter": (lambda d: d["layers"][0].update(probs=17), "IndexError"),
    "missing output": (lambda d: d["outputs"].append(17), "output 17 is not a node"),
    "cycle": (lambda d: d["layers"][2].update(inputs=[0, 3]), "node 2 reads node 3, which comes later"),
    "wrong shape": (lambda d: d["layers"][0].update(num_output_units=3), r"probs must have shape \(3, 2\)"),
    "range": (lambda d: d["layers"][0].update(num_categories=0), "num_categories >= 1; found 0"),
    "scope": (lambda d: d["layers"][0].update(scope=[0, 0]), "each variable may occur once"),
    "name": (lambda d: d["layers"][1].update(name="root"), "two layers have the name 'root'"),
    "no outputs": (lambda d: d.update(outputs=[]), "at least one output layer"),
    "ids twice": (lambda d: d["layers"][1].update(id=0), "two layers have the id 0"),
    "an operand from the end": (lambda d: d["parameters"][1].update({"in": [-1]}), "IndexError: parameter -1"),
    "an abstract layer": (
        lambda d: d["layers"][0].update(type="Layer"),
        "no layer named 'Layer'; known .*Binomial",
    ),
    "an odd precision": (
        lambda d: d["parameters"][0].update(initializer={"type": "ConstantInitializer", "value": 1, "dtype": "odd"}),
        "incomplete circuit: TypeError",
    ),
    "a value too large": (
        lambda d: d["parameters"][0].update(initializer={"type": "ConstantInitializer", "value": 999, "dtype": "|i1"}),
        "incomplete circuit: OverflowError",
    ),
    "layers no list": (lambda d: d.update(layers=3), "incomplete circuit: TypeError"),
    "layer no object": (lambda d: d.update(layers=["x"]), "incomplete circuit: TypeError"),
    "units a word": (lambda d: d["layers"][0].update(num_output_units="x"), "incomplete circuit|num_output_units"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_file_with_an_invalid_circuit_is_refused_with_the_reason(what):
    change, message = CHANGES[what]
    with pytest.raises(FileFormatError, match=message):
        circuit_from_json(change_json(change))


def test_the_message_names_the_file(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(change_json(CHANGES["layer type"][0])))
    with pytest.raises(FileFormatError, match=r"c\.json: invalid circuit"):
        Circuit.load(tmp_path / "c.json")


def test_unknown_fields_are_ignored():
    assert str(circuit_from_json(change_json(lambda d: d["layers"][0].update(colour="red")))) == str(small())


SILENT: dict[str, Callable[[Json], object]] = {
    "one layer id twice": lambda d: d["layers"].append(dict(d["layers"][0])),
    "an id that is not whole": lambda d: d["layers"][3].update(id=3.5),
    "an infinite id": lambda d: d["layers"][3].update(id=float("inf")),
    "an operand counted from the end": lambda d: d["parameters"][1].update({"in": [-1]}),
    "the base class of parameters": lambda d: d["parameters"][1].update(type="ParameterNode"),
    "an abstract operator": lambda d: d["parameters"][1].update(type="EntrywiseParameterOp"),
    "an abstract layer": lambda d: d["layers"][0].update(type="Layer"),
    "an abstract inner layer": lambda d: d["layers"][3].update(type="InnerLayer"),
    "a version that is true": lambda d: d.update(version=True),
    "a width that is not an integer": lambda d: d["layers"][0].update(num_output_units=2.0),
}


@pytest.mark.parametrize("what", SILENT)
def test_a_file_with_a_subtle_error_is_refused(what):
    with pytest.raises(FileFormatError):
        circuit_from_json(change_json(SILENT[what]))


def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "deep").write_text("[" * 100_000)
    with pytest.raises(FileFormatError):
        Circuit.load(tmp_path / "deep")


def test_a_deep_expression_is_saved_and_loaded_without_recursion():
    weight: Any = TensorParameter((1, 1))
    for _ in range(3000):
        weight = ExpParameter((weight,))
    b = CircuitBuilder()
    node = b.add(ConstantValueLayer(num_output_units=1, value=constant([1.0])))
    circuit = b.build(b.sum(node, num_units=1, weight=weight))
    assert len(again(circuit).layers) == 2


def test_evidence_is_preserved_with_its_observed_layer():
    b = CircuitBuilder()
    probs = TensorParameter((2, 3))
    observed = CategoricalLayer(scope=(4,), num_output_units=2, num_categories=3, probs=probs)
    b.add(EvidenceLayer(num_output_units=2, layer=observed, observation=constant([2])))
    b.add(CategoricalLayer(scope=(4,), num_output_units=2, num_categories=3, probs=probs))
    first, second = again(b.build(0, 1)).layers
    assert isinstance(first, EvidenceLayer)
    assert first.layer.scope == (4,)
    assert first.layer.probs is second.probs  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data["layers"][0].update(scope=[2**31]),
            "at most 1048575, .*found 2147483648",
        ),
        (lambda data: data["layers"][0].update(num_output_units=2**40), "num_output_units of a .* is 1099511627776"),
        (lambda data: data["parameters"][0].update(size=[2**40, 2]), "a parameter has 2199023255552 numbers"),
    ],
)
def test_a_circuit_file_with_sizes_beyond_all_circuits_is_refused(change, message):
    data = json.loads(json.dumps(small().to_json()))
    change(data)
    with pytest.raises(FileFormatError, match=message):
        circuit_from_json(data)
