"""The environment of `make cuda`: a Python whose torch finds a CUDA device, and what can be installed beside it.

A Python that has such a torch is used, and what it lacks is installed in `build/cuda`, an environment that sees the
packages of that Python. If there is none, torch is installed there too. What cannot be installed is noted, with why.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
VENV = CHECKOUT / "build" / "cuda"
OWN = CHECKOUT / ".venv"

PROBE = """
import json, sys, sysconfig
from importlib.util import find_spec
found = {"python": sys.version.split()[0], "paths": [p for p in sys.path if p.endswith("-packages")], "torch": "",
         "has_cuda": False, "missing": [name for name in sys.argv[1:] if find_spec(name) is None]}
try:
    import torch
    found |= {"torch": torch.__version__, "has_cuda": torch.cuda.is_available()}
except Exception as error:
    found["error"] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""
DESCRIPTION = """
import importlib.metadata, json, os, platform, sys, torch
versions = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
machine = {"cpus": os.cpu_count(), "system": platform.platform(), "device": platform.processor() or "cpu"}
if torch.cuda.is_available():
    of = torch.cuda.get_device_properties(0)
    machine |= {"device": of.name, "capability": f"{of.major}.{of.minor}", "memory_bytes": of.total_memory,
                "multiprocessors": of.multi_processor_count}
print(json.dumps({"machine": machine, "versions": {name: one for name, one in versions.items() if one}}))
"""
DESCRIBED = ("triton", "numpy", "libcirkit", "pyjuice", "nvidia-cutlass")


@dataclass(frozen=True, slots=True)
class Group:
    """Packages for one purpose: the names of their modules, and their requirements."""

    purpose: str
    requirements: Mapping[str, str]
    is_alone: bool = False
    """Whether they are installed without their dependencies, so that these replace nothing."""


TORCH = "torch>=2.6"
GROUPS: Sequence[Group] = (
    Group(
        "the package",
        {
            "torch": TORCH,
            "numpy": "numpy>=1.26",
            "graphviz": "graphviz>=0.20",
            "typer": "typer>=0.15",
            "rich": "rich>=13.8",
            "yaml": "pyyaml>=6",
        },
    ),
    Group("the tests", {"pytest": "pytest>=8.3", "hypothesis": "hypothesis>=6.115", "xdist": "pytest-xdist>=3.6"}),
    # libcirkit pins a scipy; PyJuice depends on `typing`, which has been a part of Python since 3.5
    Group("libcirkit", {"cirkit": "libcirkit>=0.2.1"}, is_alone=True),
    Group("what libcirkit needs", {"scipy": "scipy", "einops": "einops", "opt_einsum": "opt_einsum"}),
    Group("PyJuice", {"pyjuice": "pyjuice", "cutlass_library": "nvidia-cutlass"}, is_alone=True),
    Group(
        "what PyJuice needs",
        {
            "networkx": "networkx",
            "numba": "numba",
            "tqdm": "tqdm",
            "matplotlib": "matplotlib",
            "packaging": "packaging",
        },
    ),
)
UNREACHABLE = "the package index cannot be reached"


class EnvironmentMissingError(Exception):
    """There is no Python with a torch that can be used, and none can be made."""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python, the variables that its processes get, the modules that it lacks, and why they are not installed."""

    python: Path
    missing: Sequence[str] = ()
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables of a process, which imports the package from the checkout."""
        paths = [str(CHECKOUT), str(CHECKOUT / "widgets"), os.environ.get("PYTHONPATH", "")]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUNBUFFERED": "1"}


def prepare(*, needs_cuda: bool, wheels: Path | None, seconds: float, say: Callable[[str], None]) -> Environment:
    """Find the Python to use, and install what it lacks, in at most this time.

    Raises: EnvironmentMissingError without an NVIDIA device, or without torch where it cannot be installed.
    """
    deadline = monotonic() + seconds
    modules = [module for group in GROUPS for module in group.requirements]
    base = next(filter(None, (_usable(python, modules, needs_cuda) for python in _candidates())), None)
    if base is None and not needs_cuda:
        raise EnvironmentMissingError(f"no torch in {', '.join(map(str, _candidates()))}")
    if base is None and not _has_nvidia_device():
        raise EnvironmentMissingError("no NVIDIA device: nvidia-smi finds none, and no torch here does")
    if base is not None and (not base[1]["missing"] or not needs_cuda):
        return _with_reasons(Environment(base[0], base[1]["missing"]), {})
    python = _make(base)
    lacks = set(base[1]["missing"] if base is not None else modules)
    reasons: dict[str, str] = {}
    for group in GROUPS:
        asked = [requirement for module, requirement in group.requirements.items() if module in lacks]
        if asked and UNREACHABLE in reasons.values():
            reasons |= dict.fromkeys(lacks & group.requirements.keys(), UNREACHABLE)
        elif asked:
            say(f"Installing for {group.purpose}: {' '.join(asked)}")
            reasons |= _install(python, group, asked, wheels, deadline)
    found = _probe(python, modules)
    if found is None or not found["has_cuda"]:
        why = reasons.get("torch") or (found or {}).get("error") or "it finds no CUDA device"
        raise EnvironmentMissingError(f"torch of {python}: {why}")
    return _with_reasons(Environment(python, found["missing"]), reasons)


def describe(environment: Environment) -> dict[str, Any]:
    """Return the machine and the versions, as data of JSON types."""
    command = [environment.python, "-c", DESCRIPTION, *DESCRIBED]
    run = subprocess.run(command, env=environment.variables, capture_output=True, text=True, timeout=120, check=True)
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    if shutil.which("nvidia-smi"):
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        driver = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False).stdout.strip()
        found["versions"] |= {"driver": driver.splitlines()[0]} if driver else {}
    return found


def _candidates() -> list[Path]:
    """The environment of the checkout, that of an earlier run, and the Python that runs this."""
    made = [folder / "bin" / "python" for folder in (OWN, VENV)]
    return [*(python for python in made if python.exists()), Path(sys.executable)]


def _usable(python: Path, modules: Sequence[str], needs_cuda: bool) -> tuple[Path, dict[str, Any]] | None:
    found = _probe(python, modules)
    is_usable = found is not None and found["torch"] and (found["has_cuda"] or not needs_cuda)
    return (python, found) if found is not None and is_usable else None


def _probe(python: Path, modules: Sequence[str]) -> dict[str, Any] | None:
    """What a Python has; None if it does not run."""
    try:
        run = subprocess.run([python, "-c", PROBE, *modules], capture_output=True, text=True, timeout=120, check=True)
        return json.loads(run.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _has_nvidia_device() -> bool:
    if not shutil.which("nvidia-smi"):
        return False
    run = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False)
    return run.returncode == 0 and "GPU" in run.stdout


def _make(base: tuple[Path, dict[str, Any]] | None) -> Path:
    """Make `build/cuda`, which sees the packages of the base, unless it was made for this base before.

    `--system-site-packages` would not do: the base may be a virtual environment itself. Its pip is used if it has one.
    """
    python = VENV / "bin" / "python"
    paths: list[str] = base[1]["paths"] if base is not None else []
    if base is not None and base[0] == python:
        return python
    known = [file.read_text("utf-8").split("\n")[:-1] for file in VENV.glob("lib/python3*/site-packages/base.pth")]
    if known == [paths] and python.is_file():
        return python
    has_pip = any(Path(path, "pip").is_dir() for path in paths)
    command = [base[0] if base is not None else sys.executable, "-m", "venv", "--clear"]
    run = subprocess.run(
        [*command, *(["--without-pip"] if has_pip else []), VENV], capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise EnvironmentMissingError(f"no environment in {VENV}: {_last_line(run.stdout + run.stderr)}")
    (site,) = VENV.glob("lib/python3*/site-packages")
    (site / "base.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
    return python


def _install(python: Path, group: Group, asked: Sequence[str], wheels: Path | None, deadline: float) -> dict[str, str]:
    """Install the requirements of a group together, or else one by one; return why some modules are not installed."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-compile"]
    command += ["--no-index", "--find-links", str(wheels)] if wheels else ["--retries", "1", "--timeout", "10"]
    command += ["--no-deps"] if group.is_alone else []

    def why_not(*requirements: str) -> str:
        left = deadline - monotonic()
        if left <= 0:
            return "no time was left to install it"
        try:
            run = subprocess.run([*command, *requirements], capture_output=True, text=True, timeout=left, check=False)
        except subprocess.TimeoutExpired:
            return f"its installation took more than {left:.0f} s"
        if run.returncode and "connection" in run.stderr.lower():
            return UNREACHABLE
        return _last_line(run.stderr) if run.returncode else ""

    modules = {requirement: module for module, requirement in group.requirements.items()}
    reason = why_not(*asked)
    if not reason or len(asked) == 1 or reason == UNREACHABLE:
        return {modules[one]: reason for one in asked if reason}
    found = {modules[one]: why_not(one) for one in asked}
    return {module: reason for module, reason in found.items() if reason}


def _with_reasons(environment: Environment, known: Mapping[str, str]) -> Environment:
    reasons = {module: known.get(module, "not installed") for module in environment.missing}
    return Environment(environment.python, environment.missing, reasons)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it failed without a message")
