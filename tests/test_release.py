"""What a release consists of: its number, and its dependencies, are the same wherever they are written."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OF_CONDA = {"torch": "pytorch", "graphviz": "python-graphviz"}
"""Names on conda-forge of packages that have another name on PyPI."""


def on_conda(requirement: str) -> str:
    name, _, least = requirement.partition(">=")
    return f"{OF_CONDA.get(name, name)}>={least}"


def packages(listed: list[object]) -> set[str]:
    return {one.replace(" ", "") for one in listed if isinstance(one, str)}


def test_the_number_of_the_release_is_the_same_everywhere():
    recipe, citation = (yaml.safe_load((ROOT / file).read_text()) for file in ("conda/recipe.yaml", "CITATION.cff"))
    assert recipe["context"]["version"] == citation["version"] == PROJECT["version"]
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text()


def test_conda_installs_what_pip_installs():
    recipe, environment = (
        yaml.safe_load((ROOT / file).read_text()) for file in ("conda/recipe.yaml", "environment.yml")
    )
    needed = {f"python{PROJECT['requires-python']}", *map(on_conda, PROJECT["dependencies"])}
    assert packages(recipe["requirements"]["run"]) == needed
    optional = {
        on_conda(one.partition(";")[0]) for extra in ("digits", "ui") for one in PROJECT["optional-dependencies"][extra]
    }
    *names, by_pip = environment["dependencies"]
    installed = packages(names) | packages(by_pip["pip"])
    assert needed | optional <= installed
    assert packages(recipe["requirements"]["run_constraints"]) <= optional
