"""Quick exports are the same as PyTorch's own, and a version of PyTorch without the patched functions is left alone."""

import pytest
import torch
from torch._decomp import decompositions_for_rng
from torch._decomp.decompositions_for_rng import PhiloxState
from torch._export import utils
from torch._subclasses import fake_impls
from torch.export import exported_program

from tests import quick_exports
from tests.tensor.models import example, model

MATERIALIZE = "_materialize_cpp_cia_ops"


@pytest.fixture
def unpatch(monkeypatch):
    """Restore PyTorch's own functions when called, until the end of the test."""
    quick_exports.install()
    patched, materialize = getattr(exported_program, quick_exports.NAME), getattr(utils, MATERIALIZE)
    collect, reset = getattr(exported_program, quick_exports.COLLECT), getattr(PhiloxState, "reset")  # noqa: B009

    def restore():
        monkeypatch.setattr(exported_program, quick_exports.NAME, patched._original)
        monkeypatch.setattr(exported_program, quick_exports.COLLECT, collect.__wrapped__)
        monkeypatch.setattr(utils, MATERIALIZE, materialize.__wrapped__)
        monkeypatch.setattr(PhiloxState, "reset", reset.__wrapped__)

    return restore


def is_patched():
    return isinstance(getattr(exported_program, quick_exports.NAME), quick_exports._Overrides)


@pytest.mark.parametrize(("module", "missing"), [
    (exported_program, quick_exports.NAME),
    (exported_program, quick_exports.COLLECT),
    (decompositions_for_rng, "PhiloxState"),
    (utils, "_special_op_to_preserve_cia"),
    (utils, MATERIALIZE),
    (fake_impls, "_deregister_op_impl"),
    (fake_impls, "op_implementations_dict"),
])  # fmt: skip
def test_a_version_of_pytorch_that_lacks_a_patched_function_is_left_alone(monkeypatch, unpatch, module, missing):
    unpatch()
    monkeypatch.delattr(module, missing)
    before = dict(vars(exported_program)), dict(vars(utils))
    quick_exports.install()
    assert (dict(vars(exported_program)), dict(vars(utils))) == before


def test_the_composite_operators_are_collected_again_when_there_is_a_new_operator():
    quick_exports.install()
    collect = getattr(exported_program, quick_exports.COLLECT)
    assert collect() is collect()
    before, library = collect(), torch.library.Library("quick_exports_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    assert torch.ops.quick_exports_test.twice(torch.ones(())) == 2
    assert collect() - before == {torch.ops.quick_exports_test.twice.default}
    library._destroy()


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore::FutureWarning")  # PyTorch's own
@pytest.mark.parametrize("name", ["resnet_small", "transformer_sdpa"])
def test_a_quick_export_has_the_same_graph_as_one_without_the_patch(unpatch, name):
    def text():
        return str(torch.export.export(model(name), (example(name),)).run_decompositions({}).graph)

    assert is_patched()
    first, remembered = text(), text()
    unpatch()
    assert not is_patched()
    assert first == remembered == text()
