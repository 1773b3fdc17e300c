"""A lean install: everything that needs no extra works without the packages that only an extra installs."""

import json
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


@pytest.mark.parametrize("what", ["modules", "entries", "commands"])
def test_without_extras_everything_works_or_says_what_to_install(
    lean: LeanEnvironment, tmp_path: Path, what: str
) -> None:
    result = lean.run("-W", "error", "-m", "tests.lean_program", what, *optional_packages(), cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == {}
