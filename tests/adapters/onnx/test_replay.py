"""The log of ONNX Runtime, and the packages that watching it needs."""

from importlib.machinery import ModuleSpec

import pytest

import explorer
from explorer import packages
from explorer.adapters.onnx.replay import Transformer, all_but_first, transformers_of
from explorer.errors import MissingPackageError


def line(seconds: str, name: str, changed: int) -> str:
    place = "[I:onnxruntime:, graph_transformer.cc:15 Apply]"
    return f"2026-11-28 23:59:{seconds} {place} GraphTransformer {name} modified: {changed} with status: OK\n"


LOG = (
    "2026-11-28 23:59:01.0 [I:onnxruntime:, inference_session.cc:2835 operator()] Initializing session.\n"
    + line("01.5", "Early", 0)
    + line("02.0", "Late", 0)
    + line("02.25", "Never", 0)
    + line("02.5", "Early", 1)
    + line("03.5", "Late", 1)
    + line("04.0", "Early", 1)
    + "2026-11-28 23:59:05.0 [I:onnxruntime:, graph_trans"
)


def test_a_log_has_transformers_in_the_order_of_their_first_changes():
    found = transformers_of(LOG)
    assert found == {"Never": Transformer(1, 0, 0.25), "Early": Transformer(3, 2, 0.75), "Late": Transformer(2, 1, 1.5)}
    assert list(found) == ["Never", "Early", "Late"]
    assert all_but_first(found, 0) == {"Never", "Early", "Late"}
    assert all_but_first(found, 1) == {"Never", "Late"}
    assert all_but_first(found, 2) == {"Never"}
    assert transformers_of("") == {}


def test_without_the_packages_the_command_that_installs_them_is_said(monkeypatch: pytest.MonkeyPatch):
    found = packages.find_spec

    def find(name: str) -> ModuleSpec | None:
        return None if name in ("onnx", "onnxruntime") else found(name)

    monkeypatch.setattr(packages, "find_spec", find)
    with pytest.raises(MissingPackageError, match=r"needs onnx and onnxruntime.*run: .*watch"):
        explorer.watch_onnx(b"")
