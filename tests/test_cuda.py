"""`make cuda`: budgets, failures, order, and the tables of its results. No part needs torch here."""

import json
import sys
from pathlib import Path
from time import monotonic

import pytest

from scripts import cuda, cuda_environment
from scripts.cuda import FAILED, FINISHED, GRACE_S, NOT_RUN, OVER_BUDGET, Part, StagedRun, main, new_folder, stages
from scripts.cuda_environment import UNREACHABLE, Environment, EnvironmentMissingError, prepare
from scripts.cuda_tables import SUMMARY, TABLES, tables_of

ABOUT = {
    "date": "2026-11-29",
    "commit": "0123456789ab",
    "machine": {"device": "NVIDIA H200", "cpus": 16},
    "versions": {"torch": "2.11.0"},
    "budget_s": 480.0,
    "not_installed": {"pyjuice": "the package index cannot be reached"},
}
WRITE = "import sys; open(sys.argv[1], 'w').write('{}')"
SLEEP = """
import signal, sys, time
try:
    open(sys.argv[1] + '.started', 'w').close()
    time.sleep(60)
except KeyboardInterrupt:
    open(sys.argv[1], 'w').write('{}')
"""


def part(name: str, code: str, budget_s: float = 30.0) -> Part:
    return Part(name, ("-c", code, "{file}"), budget_s)


def run(folder: Path, *chosen: tuple[Part, ...], seconds: float = 60.0) -> dict[str, tuple[str, str]]:
    made = StagedRun(folder, ABOUT, Environment(Path(sys.executable)), monotonic() + seconds)
    made.run(chosen, num_cpus=2)
    written = json.loads((folder / SUMMARY).read_text())["parts"]
    assert [one["name"] for one in written] == [one.name for one in made.outcomes]
    return {one["name"]: (one["status"], one["note"]) for one in written}


def test_a_part_that_fails_is_noted_and_the_next_one_runs(tmp_path):
    ended = run(tmp_path, (part("bad", "import sys; sys.exit('no such case')"),), (part("good", WRITE),))
    assert ended == {"bad": (FAILED, "no such case"), "good": (FINISHED, "")}
    assert (tmp_path / "good.json").read_text() == "{}"
    assert "no such case" in (tmp_path / "bad.log").read_text()
    assert "| bad | failed | 0 / 30 | no such case |" in (tmp_path / TABLES).read_text()


def test_a_part_over_budget_is_interrupted_and_writes_what_it_has(tmp_path):
    ended = run(tmp_path, (part("slow", SLEEP, budget_s=1.0),), (part("good", WRITE),))
    assert ended == {"slow": (OVER_BUDGET, ""), "good": (FINISHED, "")}
    if (tmp_path / "slow.json.started").exists():  # it was interrupted after Python had started
        assert (tmp_path / "slow.json").exists()


def test_what_ignores_the_interrupt_is_killed_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(cuda, "GRACE_S", 0.1)
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    assert run(tmp_path, (part("stuck", f"import signal; signal.signal(2, signal.SIG_IGN); {code}", 0.5),)) == {
        "stuck": (OVER_BUDGET, "")
    }


def test_nothing_starts_when_the_time_is_over(tmp_path):
    ended = run(tmp_path, (part("one", WRITE),), (part("other", WRITE),), seconds=GRACE_S + 1.0)
    assert ended == dict.fromkeys(("one", "other"), (NOT_RUN, "no time was left"))
    assert not (tmp_path / "one.json").exists()


def test_parts_of_a_stage_run_at_the_same_time(tmp_path):
    meet = "import pathlib, sys, time\npathlib.Path(sys.argv[1]).touch()\n"
    meet += "while len(list(pathlib.Path(sys.argv[1]).parent.glob('*.json'))) < 3: time.sleep(0.01)"
    ended = run(tmp_path, (part("one", meet), part("other", meet)))  # with the summary, three
    assert {status for status, _ in ended.values()} == {FINISHED}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_what_matters_most_comes_first(device):
    found = [one for stage in stages(device, ("L1", "L7", "L2"), 16, has_xdist=True) for one in stage]
    names = [one.name for one in found]
    assert len(set(names)) == len(names)
    alone = [name for name in names if not name.startswith("compile-")]
    assert alone[:5] == ["tests-runtime", "watch-self-test", "suite-forward", "suite-training", "pyjuice-forward"]
    assert alone[5:8] == ["rivals-forward-L1", "rivals-forward-L7", "pyjuice-em"]
    assert alone[-5:-2] == ["rivals-training-L1", "rivals-training-L7", "rivals-training-L2"]
    assert all("{file}" in one.command for one in found if one.ending)
    assert all(one.budget_s <= 120 for one in found)
    assert all(one.budget_s <= 60 for one in stages(device, ("L1",), 16, has_xdist=True, seconds=240.0)[0])
    places = {one.command[one.command.index("--device") + 1] for one in found if "--device" in one.command}
    assert places == ({"cpu"} if device == "cpu" else {"cuda", "both"})


def test_the_commands_of_all_parts_exist():
    """Each word that begins with two dashes is an option of the command of its part."""
    from typer.main import get_group

    from benchmarks.commands import bench
    from explorer.app.cli import app

    benches, commands = get_group(bench).commands, get_group(app).commands
    for one in (one for stage in stages("cuda", ("L1",), 16, has_xdist=True) for one in stage):
        module, *words = one.command[1:]
        if module != "explorer":
            continue
        command = benches[words[1]] if words[0] == "bench" else commands[words[0]]
        options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= options, one.name


def test_a_second_folder_of_the_day_has_a_number(tmp_path):
    first = new_folder(tmp_path, "NVIDIA A100-SXM4 80GB")
    assert first.name.endswith("-a100-sxm4-80gb")
    first.mkdir()
    assert new_folder(tmp_path, "NVIDIA A100-SXM4 80GB").name == f"{first.name}-2"


# ---------------------------------------------------------------------- tables


def suite_row(case: str, training: bool, **milliseconds: float) -> dict[str, object]:
    return {
        "case": case,
        "training": training,
        "milliseconds": milliseconds,
        "device_milliseconds": {"triton": milliseconds["triton"] / 4},
        "times_as_fast": {"triton": {"libcirkit": milliseconds["libcirkit"] / milliseconds["triton"]}},
        "absent": {"native": "it runs on the CPU"},
        "refused": "",
    }


def results(folder: Path) -> Path:
    files = {
        "suite-forward.json": {"statistics": {"rows": [suite_row("L1", False, triton=0.1, libcirkit=2.0)]}},
        "rivals-forward-L1.json": {
            "statistics": {"rows": [suite_row("L1", False, triton=0.2, libcirkit=1.6, compiled=0.8)]}
        },
        "pyjuice-forward.json": {
            "statistics": {
                "rows": [
                    {
                        "case": "L1",
                        "batch_size": 256,
                        "ours": ["triton", "torch"],
                        "seconds": {"triton": 0.0001, "torch": 0.001, "bf16": 0.0002, "TF32, CUDA graph": 0.00025},
                        "differences": {"bf16": [1e-5, 0.02], "TF32, CUDA graph": [1e-6, 0.001]},
                        "absent": {},
                        "is_em": False,
                    }
                ]
            }
        },
        "watch.json": {
            "statistics": [
                {
                    "name": "digits",
                    "graphs": 1,
                    "kernels": 17,
                    "same_code": True,
                    "same_output": None,
                    "same_kernels": False,
                    "wrong": ["a | b"],
                }
            ]
        },
    }
    parts = [
        {"name": name.partition(".")[0], "status": FINISHED, "seconds": 1.0, "budget_s": 60, "note": "", "file": name}
        for name in (*files, "tests-runtime.xml", "tests-others.xml")
    ]
    for name, data in files.items():
        (folder / name).write_text(json.dumps(data))
    case = '<testcase name="{}">{}</testcase>'
    cases = case.format("one", "") + case.format("other", "<failure/>") + case.format("third", "<skipped/>")
    (folder / "tests-runtime.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    (folder / "tests-others.xml").write_text("<testsuites>")  # killed while it was written
    (folder / SUMMARY).write_text(json.dumps({**ABOUT, "seconds": 470.0, "parts": parts}))
    return folder


def test_results_become_tables(tmp_path, capsys):
    assert main(["--table", str(results(tmp_path))]) == 0
    text = capsys.readouterr().out
    for line in (
        "Not installed: pyjuice (the package index cannot be reached).",
        "| tests-runtime | 1 | 1 | 1 | other |",
        "| wanted of triton | 0.12 |",
        "| triton | 0.2 |\n| of that on the device | 0.05 |\n| libcirkit | 1.6 |",
        "| triton against libcirkit | 8 | 8 |",
        "- L1: native: it runs on the CPU",
        "| L1 | 256 | triton | 0.1 | torch 1 | bf16 | 0.2 | 0.02 | 2 | TF32, CUDA graph | 0.25 | 0.001 | 2.5 |  |",
        "| digits | 1 | 17 | yes | not compared | no | a \\| b |",
    ):
        assert line in text
    widths = {
        (block, line.count(" |")) for block in text.split("##") for line in block.splitlines() if line[:2] == "| "
    }
    assert len(widths) <= len({block for block, _ in widths}) + 1  # the \\| of one cell


def test_the_tables_of_no_parts_are_a_line(tmp_path):
    (tmp_path / SUMMARY).write_text(json.dumps({**ABOUT, "parts": []}))
    assert tables_of(tmp_path).startswith("NVIDIA H200 (16 processors); torch 2.11.0; 2026-11-29, commit 0123456789ab.")


# ---------------------------------------------------------------------- the environment


def probe(torch: str, has_cuda: bool, missing: list[str]) -> dict[str, object]:
    return {"python": "3.12.3", "paths": [], "torch": torch, "has_cuda": has_cuda, "missing": missing}


def test_without_a_device_nothing_is_installed(monkeypatch):
    monkeypatch.setattr(cuda_environment, "_probe", lambda *_: probe("2.13.0+cpu", False, []))
    monkeypatch.setattr(cuda_environment, "_has_nvidia_device", lambda: False)
    with pytest.raises(EnvironmentMissingError, match="no NVIDIA device"):
        prepare(needs_cuda=True, wheels=None, seconds=10, say=print)


def test_a_python_with_all_packages_is_used_as_it_is(monkeypatch):
    monkeypatch.setattr(cuda_environment, "_candidates", lambda: [Path("a"), Path("b")])
    found = {"a": probe("", False, []), "b": probe("2.11.0", True, [])}
    monkeypatch.setattr(cuda_environment, "_probe", lambda python, _: found[python.name])
    assert prepare(needs_cuda=True, wheels=None, seconds=10, say=print) == Environment(Path("b"), [])


def test_what_cannot_be_installed_is_noted_with_the_reason(monkeypatch):
    lacking = probe("2.11.0", True, ["cirkit", "pyjuice"])
    monkeypatch.setattr(cuda_environment, "_candidates", lambda: [Path("base")])
    monkeypatch.setattr(cuda_environment, "_probe", lambda *_: lacking)
    monkeypatch.setattr(cuda_environment, "_make", lambda base: Path("made"))
    asked: list[list[str]] = []

    def install(python, group, requirements, wheels, deadline):
        asked.append([str(python), *requirements])
        return dict.fromkeys(group.requirements.keys() & {"cirkit"}, UNREACHABLE)

    monkeypatch.setattr(cuda_environment, "_install", install)
    made = prepare(needs_cuda=True, wheels=None, seconds=10, say=lambda text: None)
    assert asked == [["made", "libcirkit>=0.2.1"]]  # and no other group, without an index
    assert made.reasons == {"cirkit": UNREACHABLE, "pyjuice": UNREACHABLE}


def test_pip_gets_the_folder_of_wheels(monkeypatch, tmp_path):
    commands: list[list[str]] = []

    class Failed:
        returncode, stdout, stderr = 1, "", "ERROR: No matching distribution found for it"

    monkeypatch.setattr(cuda_environment.subprocess, "run", lambda command, **_: commands.append(command) or Failed())
    group = cuda_environment.GROUPS[2]
    found = cuda_environment._install(Path("made"), group, list(group.requirements.values()), tmp_path, monotonic() + 9)
    assert found == {"cirkit": "ERROR: No matching distribution found for it"}
    assert commands[0][-5:] == ["--no-index", "--find-links", str(tmp_path), "--no-deps", "libcirkit>=0.2.1"]
