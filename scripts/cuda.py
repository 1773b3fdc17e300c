"""`make cuda`: test and measure everything that needs a CUDA device, what matters most first, in at most eight minutes.

Each part runs in a process with a time budget. A part that fails or exceeds its budget is noted as such, and the next
one starts. The log and the measurements of a part, `summary.json` and `tables.md` are written as soon as it ends. Only
the standard library is imported: the parts run in the environment that `cuda_environment` finds or makes.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from scripts.cuda_environment import CHECKOUT, Environment, EnvironmentMissingError, describe, prepare
from scripts.cuda_tables import SUMMARY, TABLES, WANTED_MS, tables_of

RESULTS, REHEARSALS = CHECKOUT / "benchmarks" / "results", CHECKOUT / "build" / "rehearsals"
BUDGET_S = 480
"""The budget of everything, with what is installed first."""
GRACE_S = 8
"""How long a part may take to write what it has, when its time is over."""
MIN_S = 5
"""No part starts with less time than this."""

FINISHED, FAILED, OVER_BUDGET, NOT_RUN = "finished", "failed", "over budget", "not run"

CASES = ("L1", "L7", "L4", "L2", "L3", "L6", "L5")
"""The cases of the suite, those with a wanted time first, the slowest to compile last."""
QUICK = ("triton", "parameters compared", "layers", "libcirkit")
"""The entrants that Inductor does not compile."""
WATCHED = ("digits", "digits:train")
INDUCTOR = {
    "TORCHINDUCTOR_FX_GRAPH_CACHE": "1",
    "TORCHINDUCTOR_AUTOGRAD_CACHE": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "4",  # of each of up to 14 processes, which need memory
}


@dataclass(frozen=True, slots=True)
class Part:
    """A command of Python with a budget in seconds; `{file}` in it is the file of its measurements, NAME + `ending`."""

    name: str
    command: tuple[str, ...]
    budget_s: float
    ending: str = ".json"
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a part; `file` and `log` are names in the folder of results, empty if there is none."""

    name: str
    status: str
    seconds: float
    budget_s: float
    note: str = ""
    file: str = ""
    log: str = ""


Stage = tuple[Part, ...]
"""Parts that run at the same time."""


def stages(device: str, cases: Sequence[str], num_cpus: int, has_xdist: bool, seconds: float = BUDGET_S) -> list[Stage]:
    """Return all parts in order, for this much time.

    What Inductor compiles for the last ones takes minutes, so it is compiled into its cache while the tests run, which
    measure nothing; that is at most a quarter of the time. Rehearsed, the same parts are as small as they can be.
    """
    first_s = seconds / 4
    is_rehearsal = device == "cpu"
    repeats = ("--repeats", "1") if is_rehearsal else ()
    kinds = {"forward": (), "training": ("--train", "--no-forward")}

    def suite(name: str, chosen: Sequence[str], kind: str, budget_s: float, *more: str) -> Part:
        where = ("--device", device, *(("--threads", "1") if is_rehearsal else ()))
        command = ("-m", "explorer", "bench", "suite", *chosen, *where, *kinds[kind], *more, "--json", "{file}")
        return Part(name, command, budget_s, variables=INDUCTOR)

    def test(name: str, files: Sequence[str], *more: str) -> Part:
        parallel = ("-n", str(max(1, min(8, num_cpus // 2))), "--dist", "worksteal") if has_xdist else ()
        releases = ("-W", "default::DeprecationWarning", "-W", "default::FutureWarning")  # of any installed packages
        command = ("-m", "pytest", "-v", "-p", "no:cacheprovider", *releases, *parallel, *more, *files)
        return Part(name, (*command, "--junitxml", "{file}"), first_s, ".xml")

    def pyjuice(name: str, chosen: Sequence[str], *more: str) -> Part:
        batch = "4" if is_rehearsal else "256"
        command = ("-m", "explorer", "bench", "pyjuice", *chosen, "--device", device, "--batch", batch)
        return Part(name, (*command, *(repeats or ("--repeats", "20")), *more, "--json", "{file}"), 70)

    def recorded(circuit: str, *more: str) -> Part:
        command = ("-m", "explorer", "time", circuit, "--device", "cpu" if is_rehearsal else "both", *more)
        seconds = "0.2" if is_rehearsal else "4"
        return Part(f"recorded-{circuit}", (*command, "--seconds", seconds, "--json", "{file}"), 50, ".timing.json")

    rivals = {
        f"rivals-{kind}-{case}": suite(f"rivals-{kind}-{case}", (case,), kind, 45, *repeats)
        for kind in kinds
        for case in cases
    }
    compiling = [
        suite(f"compile-{kind}-{case}", (case,), kind, first_s, "--repeats", "1") for kind in kinds for case in cases
    ]
    first = rivals.keys() & {f"rivals-forward-{case}" for case in WANTED_MS}
    only = [word for name in QUICK for word in ("--only", name)]
    kernels = ("tests/runtime/test_triton.py", "tests/runtime/test_triton_training.py")
    elsewhere = ("tests/bench/test_step_times.py", "tests/benchmarks/test_suite.py", "tests/learning/test_methods.py")
    watch = ("-m", "explorer", "bench", "watch", "--device", device)
    models = ("kronecker",) if is_rehearsal else (*WATCHED, "--build")
    trees = ("L1",) if is_rehearsal else ("L1", "HCLT-128", "L4", "PD-16", "HCLT-512", "PD-64")
    return [
        (
            test("tests-runtime", ("tests/runtime/test_work.py",) if is_rehearsal else kernels),
            Part("watch-self-test", ("-m", "explorer", "watch", "--self-test"), first_s, ending=""),
            *compiling,
        ),
        (suite("suite-forward", cases, "forward", 60, *repeats, *only),),
        (suite("suite-training", cases, "training", 60, *repeats, *only),),
        (pyjuice("pyjuice-forward", trees),),
        *((part,) for name, part in rivals.items() if name in first),
        (pyjuice("pyjuice-em", trees[:4], "--em"),),
        (recorded("digits", "--modes", "--layers", "--sweep", "--backends"),),
        (Part("watch", (*watch, *models, "--json", "{file}"), 100 if is_rehearsal else 60),),
        *((part,) for name, part in rivals.items() if name not in first),
        (test("tests-others", elsewhere, "-m", "cuda"),),
        (recorded("mnist", "--steps", "-1", "--layers", "--sweep", "--backends"),),
    ]


class StagedRun:
    """A run of all stages into a folder, which has the summary and the tables of what has ended so far."""

    def __init__(self, folder: Path, about: Mapping[str, Any], environment: Environment, deadline: float) -> None:
        self.folder = folder
        self.outcomes: list[Outcome] = []
        self._about, self._environment, self._deadline = about, environment, deadline
        self._started, self._lock = monotonic(), Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._write()

    def run(self, all_stages: Sequence[Stage], num_cpus: int) -> None:
        """Run the stages one after the other, and the parts of a stage at the same time, one per processor."""
        for stage in all_stages:
            started = monotonic()
            with ThreadPoolExecutor(max(1, min(num_cpus, len(stage)))) as pool:
                list(pool.map(lambda part, started=started: self._end(self._run(part, started)), stage))

    def _run(self, part: Part, started: float) -> Outcome:
        """Run a part; its budget begins with its stage."""
        left = min(started + part.budget_s, self._deadline - GRACE_S) - monotonic()
        if left < min(MIN_S, part.budget_s / 2):
            return Outcome(part.name, NOT_RUN, 0.0, part.budget_s, "no time was left")
        say(f"{part.name}: at most {left:.0f} s")
        file, log = self.folder / f"{part.name}{part.ending}", self.folder / f"{part.name}.log"
        command = [str(self._environment.python), *(word.replace("{file}", str(file)) for word in part.command)]
        begun = monotonic()
        code = run_limited(command, log, left, {**self._environment.variables, **part.variables})
        status = OVER_BUDGET if code is None else FAILED if code else FINISHED
        note = last_line(log) if status == FAILED else ""
        names = (path.name if path.is_file() else "" for path in (file, log))
        return Outcome(part.name, status, round(monotonic() - begun, 1), part.budget_s, note, *names)

    def _end(self, outcome: Outcome) -> None:
        with self._lock:
            self.outcomes.append(outcome)
            self._write()
        say(f"{outcome.name}: {outcome.status} after {outcome.seconds:.0f} s {outcome.note}".rstrip())

    def _write(self) -> None:
        """Write the summary and the tables."""
        seconds = round(monotonic() - self._started, 1)
        summary = {**self._about, "seconds": seconds, "parts": [asdict(one) for one in self.outcomes]}
        write(self.folder / SUMMARY, json.dumps(summary, indent=2) + "\n")
        write(self.folder / TABLES, tables_of(self.folder))


def run_limited(command: Sequence[str], log: Path, seconds: float, variables: Mapping[str, str]) -> int | None:
    """Run a command with its output in a file, and return its status; None if it took longer.

    Then it is interrupted, as by Ctrl-C, so that it writes what it has; what is left of it later is killed.
    """
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=CHECKOUT,
            env=variables,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_S)
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # workers of Inductor outlive what started them
            process.wait()


def last_line(log: Path) -> str:
    """Return the last line of a log that has a letter, shortened."""
    lines = log.read_text("utf-8", "replace").splitlines()
    return next((line.strip()[:300] for line in reversed(lines) if any(map(str.isalpha, line))), "")


def write(path: Path, text: str) -> None:
    """Replace a file at once, so that it is whole at any time."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def new_folder(parent: Path, device: str) -> Path:
    """Return the folder for results of today on a device, with a number if there are results of today already."""
    words = "".join(one if one.isalnum() else " " for one in device.lower()).split()
    name = f"{date.today().isoformat()}-{'-'.join(word for word in words if word != 'nvidia') or 'device'}"
    numbered = (parent / (name if number == 1 else f"{name}-{number}") for number in range(1, 1000))
    return next(folder for folder in numbered if not folder.exists())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything; or print the tables of a folder of results."""
    parser = argparse.ArgumentParser(prog="make cuda", description="Test and measure everything on CUDA.")
    parser.add_argument("--rehearse", action="store_true", help="small cases on the CPU, into build/rehearsals")
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="install from this folder, without a network")
    parser.add_argument("--seconds", type=float, default=BUDGET_S, help=f"the budget of everything [{BUDGET_S}]")
    parser.add_argument("--table", type=Path, metavar="RESULTS", help="only print the tables of these results")
    asked = parser.parse_args(arguments)
    if asked.table is not None:
        sys.stdout.write(tables_of(asked.table))
        return 0
    deadline = monotonic() + asked.seconds
    try:
        environment = prepare(
            needs_cuda=not asked.rehearse,
            wheels=asked.wheels and asked.wheels.resolve(),
            seconds=asked.seconds / 2,
            say=say,
        )
    except EnvironmentMissingError as error:
        sys.stderr.write(f"make cuda: {error}\n")
        return 1
    about: dict[str, Any] = {
        "date": date.today().isoformat(),
        "commit": commit(),
        **describe(environment),
        "budget_s": asked.seconds,
        "not_installed": dict(environment.reasons),
    }
    device = "cpu" if asked.rehearse else "cuda"
    folder = new_folder(REHEARSALS if asked.rehearse else RESULTS, about["machine"]["device"])
    num_cpus = os.cpu_count() or 1
    cases, has_xdist = ("S1",) if asked.rehearse else CASES, "xdist" not in environment.missing
    parts = stages(device, cases, num_cpus, has_xdist, seconds=max(deadline - monotonic(), 0.0))
    run = StagedRun(folder, about, environment, deadline)
    run.run(parts, num_cpus)
    say(f"\n{(folder / TABLES).read_text('utf-8')}\nWrote {folder}.")
    return int(any(outcome.status == FAILED for outcome in run.outcomes))


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def commit() -> str:
    """Return the commit of the checkout, with a + if there are changes; empty if unknown."""
    try:
        asked = ["git", "describe", "--always", "--dirty=+", "--abbrev=12"]
        return subprocess.run(
            asked, cwd=CHECKOUT, capture_output=True, text=True, timeout=30, check=False
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


if __name__ == "__main__":
    sys.exit(main())
