"""The tables of a folder of results of `make cuda`, in Markdown, for the README of `benchmarks/`."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

SUMMARY, TABLES = "summary.json", "tables.md"
WANTED_MS = {"L1": 0.12, "L7": 0.25}
"""What forward passes of `fast()` should take, on an H200."""
EM = "EM step"
ANSWERS = {True: "yes", False: "no", None: "not compared"}

Cells = Sequence[str]


def tables_of(folder: Path) -> str:
    """Return all tables that the files of a folder have rows for."""
    summary = json.loads((folder / SUMMARY).read_text("utf-8"))
    parts: dict[str, dict[str, Any]] = {part["name"]: part for part in summary["parts"]}
    sections = [
        heading(summary),
        part_table(summary["parts"]),
        test_table(folder, parts),
        *suite_tables(folder, parts),
        *pyjuice_tables(folder, parts),
        recorded_table(folder, parts),
        watch_table(folder, parts),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def heading(summary: Mapping[str, Any]) -> str:
    """Return the device, the versions, the date, and what is not installed."""
    machine, versions = summary["machine"], summary["versions"]
    known = ", ".join(f"{name} {version}" for name, version in versions.items())
    when = ", commit ".join(filter(None, (summary["date"], summary["commit"])))
    lines = [f"{machine['device']} ({machine['cpus']} processors); {known}; {when}."]
    lines.append(f"{summary.get('seconds', 0):.0f} of {summary['budget_s']:.0f} s.")
    missing = [f"{name} ({reason})" for name, reason in summary["not_installed"].items()]
    return " ".join([*lines, *([f"Not installed: {', '.join(missing)}."] if missing else [])])


def part_table(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return how each part ended."""
    rows = [
        (part["name"], part["status"], f"{part['seconds']:.0f} / {part['budget_s']:.0f}", _cell(part["note"]))
        for part in parts
    ]
    return table("Parts", ("part", "ended", "seconds / budget", "its last line, if failed"), rows)


def test_table(folder: Path, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how many tests passed, and which did not."""
    rows: list[Cells] = []
    for name, part in parts.items():
        if not part["file"].endswith(".xml"):
            continue
        try:
            cases = ElementTree.parse(folder / part["file"]).getroot().findall(".//testcase")
        except ElementTree.ParseError:  # it was killed while it wrote the file
            continue
        wrong = [
            case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None
        ]
        skipped = sum(case.find("skipped") is not None for case in cases)
        failed = _cell(", ".join(wrong[:20]))
        rows.append((name, str(len(cases) - len(wrong) - skipped), str(skipped), str(len(wrong)), failed))
    return table("Tests", ("part", "passed", "skipped", "failed", "failed ones"), rows)


def suite_tables(folder: Path, parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the times of all entrants, and how many times as fast ours are; a column per case.

    A case that was measured several times has the times of the run with the most entrants.
    """
    chosen: dict[tuple[bool, str], dict[str, Any]] = {}
    for row in _rows(folder, parts, ("suite-", "rivals-"), "rows"):
        key = (row["training"], row["case"])
        if len(row["milliseconds"]) > len(chosen.get(key, {"milliseconds": {}})["milliseconds"]):
            chosen[key] = row
    found: list[str] = []
    for training in (False, True):
        rows = {case: row for (is_training, case), row in sorted(chosen.items()) if is_training == training}
        if not rows:
            continue
        what = "Training step" if training else "Forward"
        names = dict.fromkeys(name for row in rows.values() for name in row["milliseconds"])
        times: list[Cells] = []
        for name in names:
            times.append((name, *(_number(row["milliseconds"].get(name)) for row in rows.values())))
            on_device = [row.get("device_milliseconds", {}).get(name) for row in rows.values()]
            if any(on_device):
                times.append(("of that on the device", *map(_number, on_device)))
        if not training and rows.keys() & WANTED_MS.keys():
            times.insert(0, ("wanted of triton", *(_number(WANTED_MS.get(case)) for case in rows)))
        found.append(table(f"{what}, milliseconds", ("", *rows), times))
        found.append(table(f"{what}, times as fast", ("", *rows, "geometric mean"), list(_factors(rows))))
        absent = [
            f"- {case}: {name}: {_cell(reason)}"
            for case, row in rows.items()
            for name, reason in (*row["absent"].items(), *((("refused", row["refused"]),) if row["refused"] else ()))
        ]
        found.append("\n".join(absent))
    return found


def _factors(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[Cells]:
    """How many times as fast each of ours is as each opponent."""
    ours = dict.fromkeys(name for row in rows.values() for name in row["times_as_fast"])
    whats = dict.fromkeys(what for row in rows.values() for one in row["times_as_fast"].values() for what in one)
    for name in ours:
        for what in whats:
            values = [row["times_as_fast"].get(name, {}).get(what) for row in rows.values()]
            if known := [value for value in values if value]:
                mean = exp(sum(map(log, known)) / len(known))
                yield (f"{name} against {what}", *(_number(value) for value in values), _number(mean))


def pyjuice_tables(folder: Path, parts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return ours next to PyJuice in its fastest mode, and in its fastest one that multiplies in TF32."""
    found: list[str] = []
    for part, title in (("pyjuice-forward", "forward"), ("pyjuice-em", "EM step")):
        rows: list[Cells] = []
        for row in _rows(folder, parts, (part,), "rows"):
            seconds: dict[str, float] = row["seconds"]
            theirs = [name for name in seconds if name not in row["ours"]]
            full = [name for name in row["ours"] if name in seconds and name.endswith(EM) == row["is_em"]]
            ours = min(full, key=seconds.__getitem__, default=None)
            others = [f"{name} {_ms(seconds[name])}" for name in row["ours"] if name in seconds and name != ours]
            cells = [row["case"], str(row["batch_size"]), ours or "", _ms(seconds.get(ours or "")), ", ".join(others)]
            for names in (theirs, [name for name in theirs if "TF32" in name]):
                best = min(names, key=seconds.__getitem__, default=None)
                factor = seconds[best] / seconds[ours] if best and ours else None
                nats = f"{row['differences'][best][1]:.1g}" if best else ""
                cells += [best or "", _ms(seconds.get(best or "")), nats, _number(factor)]
            rows.append((*cells, _cell("; ".join(f"{name}: {why}" for name, why in row["absent"].items()))))
        columns = ("case", "rows", "ours", "ms", "others of ours, ms")
        for what in ("fastest of PyJuice", "fastest in TF32"):
            columns = (*columns, what, "ms", "nats off", "ours, times as fast")
        found.append(table(f"PyJuice, {title}", (*columns, "absent"), rows))
    return found


def recorded_table(folder: Path, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the times of the recorded runs by backend, with the device and the batch size."""
    rows: list[Cells] = []
    for run in _rows(folder, parts, ("recorded-",), "runs"):
        for timing in run["timings"] if run["subject"] == "backends" else ():
            estimate = timing["estimate"]
            time = _number(estimate["median"]) if estimate else _cell(timing["missing"])
            rows.append((run["circuit"], timing["what"], timing["device"], str(timing["batch_size"]), time))
    return table("Recorded runs, by backend", ("circuit", "backend", "device", "rows", "ms"), rows)


def watch_table(folder: Path, parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return whether watching changed nothing, and what is wrong with traces."""
    rows = [
        (
            row["name"],
            str(row["graphs"]),
            str(row["kernels"]),
            *(ANSWERS[row[name]] for name in ("same_code", "same_output", "same_kernels")),
            _cell("; ".join(row["wrong"])),
        )
        for row in _rows(folder, parts, ("watch",), "")
    ]
    columns = ("model", "graphs", "kernels", "same code", "same output", "same kernels", "wrong")
    return table("Watching torch.compile", columns, rows)


def table(title: str, columns: Cells, rows: Sequence[Cells]) -> str:
    """Return a table in Markdown; empty without rows."""
    if not rows:
        return ""
    lines = [f"## {title}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _rows(folder: Path, parts: Mapping[str, Mapping[str, Any]], starts: tuple[str, ...], key: str) -> list[Any]:
    """The rows in the files of parts whose names begin so: of the statistics or, of a recorded run, of the file."""
    found: list[Any] = []
    for name, part in parts.items():
        if name.startswith(starts) and part["file"].endswith(".json"):
            data = json.loads((folder / part["file"]).read_text("utf-8"))
            data = data.get("statistics", data)
            found += data[key] if key else data
    return found


def _cell(text: str) -> str:
    """A text in a cell of a table, without the frame of a message."""
    return " ".join(text.replace("│", " ").split()).replace("|", "\\|")[:200]


def _ms(seconds: float | None) -> str:
    return _number(None if seconds is None else 1000 * seconds)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"
