"""A lean install: everything that needs no extra works without the packages that only an extra installs."""

from pathlib import Path

import pytest

from tests.lean import LeanEnvironment, optional_packages


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> LeanEnvironment:
    return LeanEnvironment(tmp_path_factory.mktemp("lean"))


def test_a_lean_environment_has_no_package_of_an_extra(lean: LeanEnvironment, tmp_path: Path) -> None:
    code = "import sys; from importlib.util import find_spec; print([name for name in sys.argv[1:] if find_spec(name)])"
    result = lean.run("-c", code, *optional_packages(), cwd=tmp_path)
    assert result.stdout == "[]\n", result.stderr
    assert {"triton", "panel", "sklearn"} & set(optional_packages())


FAST = """
import torch
from explorer import gallery, record
circuit = record(gallery.load_named("digits")).compiled
fast = circuit.fast()
fast(torch.zeros(2, 64, dtype=torch.long)).sum().backward()
"""


def test_a_circuit_is_fast_without_triton(lean: LeanEnvironment, tmp_path: Path) -> None:
    result = lean.run("-c", FAST, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
