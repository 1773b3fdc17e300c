"""The reference circuits: the right values in every mode and preset, and the handbook's counts."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from explorer.compiler import TorchCompiler
from explorer.errors import LimitWarning
from explorer.symbolic import Circuit
from explorer.templates import gallery, image_data, load_named
from tests.fuzzing import covering
from tests.levels.modes import MODE_IDS, MODES, PRESETS, Mode, Watcher, compile_circuit, layer_types, output
from tests.oracle import assert_equals_oracle, constant_leaf_values
from tests.reference import Expected, load_reference, reference_paths

PATHS = reference_paths()
SIX_ROUNDS = "17_sumchain_40"
EACH_CIRCUIT = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


def poon_domingos_4x4() -> Circuit:
    return image_data(
        (1, 4, 4),
        "poon-domingos",
        input_layer="categorical",
        num_categories=2,
        num_input_units=3,
        sum_product_layer="cp",
        num_sum_units=3,
    )


def assert_expected(found: np.ndarray, expected: Expected) -> None:
    assert found.shape == expected.output_shape
    if expected.semiring == "complex-lse-sum":  # a logarithm is defined up to 2 pi i
        np.testing.assert_allclose(np.real(found), np.real(expected.output), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            np.exp(1j * np.imag(found)), np.exp(1j * np.imag(expected.output)), rtol=0, atol=1e-9
        )
    else:
        np.testing.assert_allclose(found, expected.output, rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    ("path", "preset", "mode"), covering(PATHS, PRESETS, MODES), ids=lambda value: getattr(value, "stem", None)
)
def test_a_reference_circuit_has_its_output(path: Path, preset: str, mode: Mode):
    circuit, x, expected = load_reference(path)
    found = output(compile_circuit(circuit, expected.semiring, preset=preset, **mode), x)
    assert_expected(found, expected)
    assert_equals_oracle(found, expected.semiring, circuit, constant_leaf_values(circuit), x)


@EACH_CIRCUIT
@EACH_MODE
def test_a_reference_circuit_has_its_counts_under_the_handbook_preset(path: Path, mode: Mode):
    circuit, _, expected = load_reference(path)
    counts = expected.modes.get(MODE_IDS[MODES.index(mode)])
    if counts is None:  # 24: the independent system loses an output when it optimizes
        assert (path.stem, mode["optimize"]) == ("24_out_interior", True)
        return
    watcher = Watcher()
    compiler = TorchCompiler(semiring=expected.semiring, preset="handbook", listeners=(watcher,), **mode)
    limit = path.stem == SIX_ROUNDS and mode["optimize"]
    with pytest.warns(LimitWarning, match="limit of 5 rounds") if limit else nullcontext():
        found = compiler.compile(circuit)
    assert len(found.layers) == counts["layers"]
    assert found.num_folds == counts["folds"]
    assert Counter(layer_types(found)) == counts["layers_by_type"]
    if mode["optimize"]:
        assert watcher.applied() == {rule: number for rule, number in counts["matches"].items() if number}
        rounds = [{name: done[name] for name in ("shatter", "fuse")} for done in watcher.rounds()]
        assert rounds == counts["rounds"]
    else:
        assert watcher.applied() == {}
    assert [event.limit for event in watcher.limits] == ([5] if limit else [])


@EACH_CIRCUIT
def test_the_default_preset_never_needs_more_layers_for_a_reference_circuit(path: Path):
    circuit, _, expected = load_reference(path)
    default, handbook = (compile_circuit(circuit, expected.semiring, preset=preset) for preset in PRESETS)
    assert len(default.layers) <= len(handbook.layers)


@pytest.mark.parametrize(
    "name",  # there is a smaller Poon-Domingos circuit below
    [pytest.param(name, marks=[pytest.mark.fuzz] * (name in ("poon-domingos", "mnist"))) for name in gallery.names()],
)
def test_the_default_preset_never_needs_more_layers_for_a_gallery_circuit(name: str):
    circuit = load_named(name)
    default, handbook = (len(compile_circuit(circuit, preset=preset).layers) for preset in PRESETS)
    assert default <= handbook
    if name == "mnist":
        assert (default, handbook) == (22, 24)
    if name == "sum-chain":
        assert (default, handbook) == (2, 3)


def test_the_default_preset_needs_fewer_layers_for_a_poon_domingos_circuit():
    circuit = poon_domingos_4x4()
    default, handbook = (len(compile_circuit(circuit, preset=preset).layers) for preset in PRESETS)
    assert (default, handbook) == (17, 18)
