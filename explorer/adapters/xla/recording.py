"""`watch_xla`: the dump of a compilation by XLA, the states of a module and the log of its fusion pass, as a trace."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from explorer import errors
from explorer.adapters.snapshot import WatchedSnapshot
from explorer.adapters.timeline import Timeline, changes_between, first_refusal
from explorer.adapters.xla.fusion_log import FusionRun, parse_log
from explorer.adapters.xla.hlo import HloModule, KnownText, parse_hlo
from explorer.adapters.xla.states import HloStates, round_of
from explorer.errors import FileFormatError, UnknownNameError, UserCodeError, unknown_name
from explorer.files import read_bytes
from explorer.levels import Change, Recorded, pause_garbage_collection, run_options
from explorer.packages import require
from explorer.trace import WATCHED, Recorder, RuleDescription, Stage, Trace

FUNCTION = re.compile(r"(.+\.py):(\w+)")
LOGGING = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "instruction_fusion=5"}
FUSION = "fusion"
"""The pass whose decisions are logged."""
NO_LOG = (
    "The dump has no log of this pass, so its reasons are unknown: set TF_CPP_MIN_LOG_LEVEL=0 and "
    "TF_CPP_VMODULE=instruction_fusion=5, and write the output into a file of the folder that ends in .log."
)
PURPOSES: Mapping[str, str] = {
    "algsimp": "Simplify algebra: x * 1 is x, and a division by a constant is a multiplication.",
    "call-inliner": "Replace calls by the instructions of the computation that they call.",
    "cse": "Compute equal instructions once.",
    "dce": "Remove instructions that nothing reads.",
    FUSION: "Fuse a producer into a consumer, so that its value is not written to memory.",
    "fusion-wrapper": "Make single instructions fusions of their own, for the code generator.",
    "layout-assignment": "Choose the order of axes in memory.",
}
"""The purposes of passes that change most programs."""
STATE = re.compile(
    r"(module_\d+\.(.+?))\.(?:(\d{4,9})\.(.+?)\.after_(.+?)(?:\.before_.+)?|(before|.*after)_optimizations)\.txt"
)
"""The name of the file of a state: `module_0001.jit_f.0033.PIPELINE.after_PASS.before_PASS.txt`."""
START = "pipeline-start"
"""Named as the pass by the state before a pipeline, although it is not a pass."""
TOP = "HLO_passes"
"""The start of the names of the pipelines that no other one contains."""
FIRST, LAST = "before optimizations", "after optimizations"
HOW = "make a dump with XLA_FLAGS='--xla_dump_to=FOLDER --xla_dump_hlo_pass_re=.*'"


@dataclass(frozen=True, slots=True)
class Dump:
    """The states of a module as paths of passes and files, in order; `others` are the further modules of the dump."""

    name: str
    files: list[tuple[tuple[Stage | str, ...], Path]]
    runs: list[FusionRun]
    others: list[str]


def watch_xla(source: str | Path, module: str = "") -> Trace:
    """Return the trace of a compilation by XLA.

    `source` is a folder that XLA dumped into, with the log of its fusion pass if a file there ends in `.log`; or
    FILE.py:FUNCTION, a function that returns a function of JAX and a tuple of its arguments. FILE.py is executed, with
    all rights of the user, in a process of its own, on JAX_PLATFORMS, by default `cpu`. `module` names a module of a
    dump with several, by default the largest.

    Raises: UnknownNameError for an unknown file, function, folder or module; MissingPackageError without jax;
    UserCodeError if the user's code or its compilation fails; DataTypeError if the function returns anything else;
    FileFormatError for a folder without a dump.
    """
    found = FUNCTION.fullmatch(str(source))
    if found is None:
        return _trace(_find_dump(Path(source), module), "", {}, "XLA")
    file = Path(found[1]).resolve()
    if not file.is_file():
        raise UnknownNameError(f"file not found: {found[1]!r}; the form is FILE.py:FUNCTION")
    require("watching XLA", "watch", "jax")
    with TemporaryDirectory() as folder:
        version = _run(file, found[2], Path(folder))["version"]
        lines = {f"{file.name}:{n}": text.strip() for n, text in enumerate(_read_text(file).splitlines(), 1)}
        return _trace(_find_dump(Path(folder), module), found[2], lines, f"XLA, jax {version}")


def _run(file: Path, name: str, folder: Path) -> Mapping[str, Any]:
    """Compile the user's function in a process of its own. Raises: the error that happened there."""
    environment = {"JAX_PLATFORMS": "cpu", **os.environ, **LOGGING, "JAX_ENABLE_COMPILATION_CACHE": "false"}
    command = [sys.executable, "-P", str(Path(__file__).with_name("running.py")), str(file), name, str(folder)]
    output, told = folder / "output.txt", folder / "told.json"
    with output.open("wb") as stream:
        code = subprocess.run(command, env=environment, stderr=stream, check=False).returncode
    where = f"{file.name}:{name}"
    if not told.is_file():
        _, begins, trace = _read_text(output).rpartition("Traceback (most recent call last)")
        raise UserCodeError(
            f"{where}: its process ended with code {code}; its last output:\n{(begins + trace)[-4_000:]}"
        )
    result = json.loads(_read_text(told))
    if "error" in result:
        raise getattr(errors, result["error"])(f"{where}: {result['message']}")
    return result


def _find_dump(folder: Path, module: str) -> Dump:
    """Find the files of a module, by default those of the largest.

    Raises: UnknownNameError for an unknown folder or module; FileFormatError if the folder has no state.
    """
    if not folder.is_dir():
        raise UnknownNameError(f"folder not found: {str(folder)!r}; {HOW}, or name FILE.py:FUNCTION")
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    found: dict[str, list[tuple[re.Match[str], Path]]] = {}
    for path in paths:
        if (match := STATE.fullmatch(path.name)) is not None:
            found.setdefault(match[1], []).append((match, path))
    if not found:
        raise FileFormatError(
            f"{folder} has no state of XLA, such as module_0001.jit_f.before_optimizations.txt; {HOW}"
        )
    named = [name for name, files in found.items() if module in ("", name, files[0][0][2])]
    if not named:
        raise unknown_name("module", module, list(found))
    chosen = max(named, key=lambda name: sum(path.stat().st_size for _, path in found[name]))
    rounds: dict[str, int] = {}
    files: dict[int, tuple[tuple[Stage | str, ...], Path]] = {}
    for match, path in found[chosen]:
        number, pipeline, name = match[3], match[4], match[5]
        if name == START:
            rounds[pipeline] = rounds.get(pipeline, 0) + 1
        elif number is None:
            files[-1 if match[6] == "before" else 10**9] = ((FIRST if match[6] == "before" else LAST,), path)
        else:
            turn = [Stage("round", rounds[pipeline])] if rounds.get(pipeline, 1) > 1 else []
            files[int(number)] = ((*(() if pipeline.startswith(TOP) else (pipeline, *turn)), name), path)
    runs = [run for path in paths if path.suffix == ".log" for run in parse_log(_read_text(path))]
    return Dump(chosen, [files[key] for key in sorted(files)], runs, [name for name in found if name != chosen])


def _read_text(path: Path) -> str:
    """Read a file of a dump. Raises: FileFormatError if it cannot be read."""
    return read_bytes(path).decode("utf-8", errors="replace")


@pause_garbage_collection()
def _trace(dump: Dump, subject: str, lines: Mapping[str, str], compiler: str) -> Trace:
    """The trace of a dump. Raises: FileFormatError if no file of it has an entry computation."""
    recorder = Recorder()
    timeline = Timeline((recorder,))
    names = dict.fromkeys([*(str(path[-1]) for path, _ in dump.files if path[-1] != FIRST), FUSION])
    subject = subject or dump.name.partition(".")[2]
    options = run_options(WATCHED, subject, list(names), compiler=compiler)
    timeline.begin(options, [_rule(name) for name in names])
    states = HloStates(timeline.numbers.__next__, lines)
    known = KnownText()
    present: HloModule | None = None
    body: str | None = None
    missing = [f"The dump has further modules: {', '.join(dump.others)}."] if dump.others else []
    for path, file in dump.files:
        header, _, text = _read_text(file).partition("\n")
        if text == body:
            if path[-1] != LAST:
                timeline.unchanged(path, 0.0)
            continue
        module, numbers = parse_hlo(text, known), states.numbers
        missing += [f"{file.name}: {one}." for one in module.missing]
        if all(one.opcode == "tuple" for one in module.computations.get(module.entry, {}).values()):
            continue
        if present is not None:
            _record_idle(timeline, dump.runs, present, module, numbers)
        run = _take_run(dump.runs, present) if present is not None and path[-1] == FUSION else None
        after = states.state_of(module, {} if run is None else run.groups(), "is_scheduled=true" in header)
        if present is None:
            timeline.captured(after)
        elif run is not None:
            _record_fusion(timeline, path, run, present, (numbers, states.numbers), after)
        else:
            _record(timeline, path, after)
        present, body = module, text
    if present is None:
        raise FileFormatError(f"{dump.name} has no complete state. {' '.join(missing)}")
    _record_idle(timeline, dump.runs, present, HloModule(), states.numbers)
    for one in missing:
        timeline.note(one)
    return Recorded(recorder, first_refusal, None, None).trace(None)


def _record(timeline: Timeline, path: tuple[Any, ...], after: WatchedSnapshot) -> None:
    rule = str(path[-1])
    if changes := _changes(rule, timeline.snapshot, after):
        timeline.state(path, after, 0.0, changes)
        if rule == FUSION:
            timeline.note(NO_LOG)
    elif rule != LAST:
        timeline.unchanged(path, 0.0)


def _changes(rule: str, before: WatchedSnapshot, after: WatchedSnapshot) -> list[Change]:
    """The changes of a pass; those of settings and layouts alone are one change, about the nodes that have them."""
    old = before.graph.nodes
    other = tuple(node for node, record in after.graph.nodes.items() if old.get(node, record) is not record)
    found = changes_between(rule, before.graph, after.graph, 0.0)
    return found or ([Change(rule, other, (), (), 0.0)] if other else [])


def _record_fusion(
    timeline: Timeline,
    path: tuple[Any, ...],
    run: FusionRun,
    module: HloModule,
    numbers: tuple[Mapping[str, int], Mapping[str, int]],
    after: WatchedSnapshot,
) -> None:
    """Record the fusion pass over a module by its decisions, with the numbers of instructions before and after it."""
    one, left = round_of(FUSION, run, module.computations[module.entry], *numbers)
    merged = {node for merge in one.merges for node in (*merge.nodes, numbers[1][merge.name])}
    others: list[Change] = []
    for change in _changes(FUSION, timeline.snapshot, after):
        removed, added = (tuple(n for n in nodes if n not in merged) for nodes in (change.removed, change.added))
        if removed or added or not (change.removed or change.added):
            others.append(Change(FUSION, removed or change.matched, removed, added, 0.0))
    timeline.round(path, one, numbers[1], after, 0.0, others)
    members = [name for group in run.groups().values() for name in group]
    again = len(members) - len(set(members))
    timeline.note(f"{len(one.candidates)} pairs were fused into {len(one.merges)} fusions.")
    if again:
        timeline.note(f"{again} copies of instructions were made, because several consumers had the same producer.")
    if left:
        timeline.note(f"{left} decisions are about instructions of called computations, or name no consumer.")
    if not run.is_complete:
        timeline.note("The log of this pass is truncated: later decisions are unknown.")


def _record_idle(
    timeline: Timeline, runs: list[FusionRun], present: HloModule, following: HloModule, numbers: Mapping[str, int]
) -> None:
    """Record runs that fused nothing, in the last state that has all their instructions."""
    for run in [run for run in runs if run.is_idle and run.names() <= _names(present)]:
        if run.names() <= _names(following):
            continue
        runs.remove(run)
        _record_fusion(timeline, (FUSION,), run, present, (numbers, numbers), timeline.snapshot)


def _take_run(runs: list[FusionRun], module: HloModule) -> FusionRun | None:
    """Take the run over a module: of those whose instructions it has, the one with the most."""
    fitting = [run for run in runs if not run.is_idle and run.names() <= _names(module)]
    found = max(fitting, key=lambda run: len(run.names()), default=None)
    runs[:] = [run for run in runs if run is not found]
    return found


def _names(module: HloModule) -> set[str]:
    return {name for instructions in module.computations.values() for name in instructions}


def _rule(name: str) -> RuleDescription:
    entries = ("a producer", "a consumer") if name == FUSION else ("an instruction",)
    return RuleDescription(name, name, entries, WATCHED, "real", PURPOSES.get(name, ""), "", guarded=name == FUSION)
