"""The files of a dump by XLA: the states of one module in order, and the log of its fusion pass."""

import re
from dataclasses import dataclass
from pathlib import Path

from explorer.adapters.xla.fusion_log import FusionRun, parse_log
from explorer.errors import FileFormatError, UnknownNameError, unknown_name
from explorer.files import read_bytes
from explorer.trace import Stage

STATE = re.compile(
    r"(module_\d+\.(.+?))\.(?:(\d{4,9})\.(.+?)\.after_(.+?)(?:\.before_.+)?|(before|.*after)_optimizations)\.txt"
)
"""The name of the file of a state: `module_0001.jit_f.0033.PIPELINE.after_PASS.before_PASS.txt`."""
START = "pipeline-start"
"""The pass that the files of states before a pipeline name: it is no pass."""
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


def find_dump(folder: Path, module: str) -> Dump:
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
    runs = [run for path in paths if path.suffix == ".log" for run in parse_log(read_text(path))]
    return Dump(chosen, [files[key] for key in sorted(files)], runs, [name for name in found if name != chosen])


def read_text(path: Path) -> str:
    """Read a file of a dump. Raises: FileFormatError if it cannot be read."""
    return read_bytes(path).decode("utf-8", errors="replace")
