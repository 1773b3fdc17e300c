"""The command `bench`: what it prints and writes, and what it says where something is missing."""

import json
import re

import pytest

import benchmarks
from benchmarks.suite_entrants import HAND_WRITTEN, PEER, PEER_COMPILED
from explorer.packages import install_command
from tests.app.commands.running import run


def test_bench_prints_ratios_or_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "times.json"
    samples = {
        "native": (0.002, 0.003),
        PEER: (0.02, 0.03),
        PEER_COMPILED: (0.008, 0.009),
        HAND_WRITTEN: (0.005, 0.006),
    }
    row = benchmarks.SuiteRow(
        "S1", 1, False, ("native",), samples, {}, dict.fromkeys(samples, 2**20), 1e-7, {}, True, ""
    )
    monkeypatch.setattr(benchmarks, "peer_is_installed", lambda: True)
    monkeypatch.setattr(benchmarks, "measure_suite", lambda case, **options: row)
    output = run("bench", "suite", "S1", "--threads", "1", "--repeats", "2", "--json", str(path)).stdout
    assert "10.00" in output  # times as fast as the peer
    assert "2.50" in output  # as the strongest
    assert "1 thread" in output
    assert json.loads(path.read_text())["statistics"]["rows"][0]["case"] == "S1"
    monkeypatch.setattr(benchmarks, "peer_is_installed", lambda: False)
    monkeypatch.setattr("benchmarks.peer.peer_is_installed", lambda: False)
    alone = run("bench", "compile", "S1", "--repeats", "1", "--no-growth")
    assert install_command("peer") in " ".join(alone.stderr.split())
    assert "S1" in alone.stdout


@pytest.mark.parametrize("command", ["compile", "suite", "tensor"])
def test_bench_without_a_checkout_says_where_the_benchmarks_are(monkeypatch, command):
    monkeypatch.setattr("explorer.app.commands.time.find_spec", lambda name: None)
    result = run("bench", command, code=2)
    assert "in the folder benchmarks/ of the project, which is not installed" in result.stderr
    assert "pip install -e '.[bench]'" in result.stderr


def test_bench_prints_the_costs_of_showing_a_trace_and_their_budgets(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.view_times.settle_heap", lambda: None)  # it would look through all of pytest
    path = tmp_path / "views.json"
    output = run("bench", "views", "blackboard", "conflict", "--no-browser", "--json", str(path)).stdout
    assert re.search(r"blackboard, 13 layers.*first picture.*ms.*≤ 1,000 ms.*met", output)
    stats = json.loads(path.read_text())["statistics"]
    assert [figure["what"] for figure in stats if figure["circuit"] == "conflict"] == ["exported page"]
    steps = [figure for figure in stats if figure["what"] == "plates: a step in Python, slowest"]
    assert [(figure["budget"], figure["unit"]) for figure in steps] == [(100.0, "ms")] * 2
    assert len([figure for figure in stats if figure["what"] == "graph: a step in Python, slowest"]) == 2
    assert all(0 < figure["value"] < 1000 for figure in steps)


def test_bench_views_measures_one_part_only():
    output = run("bench", "views", "conflict", "--only", "pages", "--no-browser").stdout
    assert "exported page" in output
    assert "a step in Python" not in output
    assert "dashboard" in run("bench", "views", "conflict", "--only", "dashboards", code=2).stderr


def test_bench_says_which_browser_is_missing(monkeypatch):
    from benchmarks.browser_times import measure_pages

    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    stats = measure_pages({"digits": ("<p>", 170)})
    assert {figure.value for figure in stats} == {None}
    assert all("Chromium" in figure.why or "Playwright" in figure.why for figure in stats)


def test_ctrl_c_in_a_bench_reports_the_finished_cases(monkeypatch):
    whole = benchmarks.measure_suite

    def interrupted_at_the_second_case(case, **options):
        if case.name == "S2":
            raise KeyboardInterrupt
        return whole(case, **options)

    monkeypatch.setattr("benchmarks.peer.peer_is_installed", lambda: False)
    monkeypatch.setattr(benchmarks, "measure_suite", interrupted_at_the_second_case)
    result = run("bench", "suite", "S1", "S2", "--threads", "1", "--only", "layers", "--repeats", "1")
    assert "stopped; these cases were finished" in result.stderr
    assert "S1" in result.stdout
    assert "S2" not in result.stdout
