"""A lean install: everything that needs no extra works without the packages that only an extra installs."""

import json
from pathlib import Path

import pytest

from tests.lean import LeanEnvironment, optional_packages

TASKS = ("commands", "entries", "modules")


@pytest.fixture(scope="module")
def lean(tmp_path_factory: pytest.TempPathFactory) -> LeanEnvironment:
    return LeanEnvironment(tmp_path_factory.mktemp("lean"))


def test_a_lean_environment_has_no_package_of_an_extra(lean: LeanEnvironment, tmp_path: Path) -> None:
    # A folder of the checkout such as build/ has no origin: it is no package.
    found = "[name for name in sys.argv[1:] if getattr(find_spec(name), 'origin', None)]"
    code = f"import sys; from importlib.util import find_spec; print({found})"
    result = lean.run("-c", code, *optional_packages(), cwd=tmp_path)
    assert result.stdout == "[]\n", result.stderr
    assert {"triton", "panel", "sklearn"} & set(optional_packages())


@pytest.fixture(scope="module")
def failures(lean: LeanEnvironment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Return what failed, of all in one process: each would load PyTorch again."""
    folder = tmp_path_factory.mktemp("work")
    result = lean.run("-W", "error", "-m", "tests.lean_program", ",".join(TASKS), *optional_packages(), cwd=folder)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", TASKS)
def test_without_extras_everything_works_or_says_what_to_install(
    failures: dict[str, dict[str, str]], what: str
) -> None:
    assert failures[what] == {}
