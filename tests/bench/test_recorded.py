"""Files of recorded runs survive a round trip; foreign, newer and broken ones are refused with a reason."""

import json

import pytest

import explorer
from explorer import bench
from explorer.errors import FileFormatError
from explorer.templates import gallery


@pytest.fixture(scope="module")
def runs():
    trace = explorer.record(gallery.load_named("blackboard"))
    few = {"max_seconds": 0.2, "precision": 0.5, "devices": ("cpu", "cuda"), "name": "blackboard"}
    return (
        bench.measure_steps(trace, batch_size=4, **few),
        bench.measure_layers(trace, batch_size=4, **few),
        bench.measure_sweep(trace, batch_sizes=(1, 4), **few),
    )


@pytest.mark.parametrize("name", ["a.timing.json", "a.timing.json.gz"])
def test_runs_survive_a_round_trip(tmp_path, runs, name):
    bench.save_runs(tmp_path / name, runs)
    assert bench.load_runs(tmp_path / name) == runs
    assert runs[0].setup.date.endswith("+00:00")
    assert runs[0].setup.devices["cpu"]


def test_a_folder_lists_its_files_by_name_with_their_errors(tmp_path, runs):
    bench.save_runs(tmp_path / "b.timing.json", runs)
    (tmp_path / "a.timing.json").write_text("{")
    (tmp_path / "README.md").write_text("not a run")
    broken, good = bench.recorded_runs(tmp_path)
    assert (broken.path.name, broken.runs) == ("a.timing.json", ())
    assert "is not a circuit-explorer timing file, or it is truncated" in broken.error
    assert good.runs == runs
    assert bench.recorded_runs(tmp_path / "nowhere") == ()


def test_recorded_runs_of_the_project_are_readable_and_from_cuda():
    for file in bench.recorded_runs():
        assert file.error == ""
        assert any("cuda" in run.setup.devices for run in file.runs)


def change(path, value):
    def apply(data):
        *way, last = path
        place = data
        for key in way:
            place = place[key]
        place[last] = value
        return data

    return apply


FIRST = ("runs", 0, "timings", 0)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change(["format"], "circuit-explorer trace"), "expected format 'circuit-explorer timing'"),
        (change(["version"], 2), "reads circuit-explorer timing version 1; found 2"),
        (change(["runs"], None), "not a complete recorded run"),
        (change(["runs", 0, "subject"], "magic"), "unknown subject or kind of run: 'magic'"),
        (change([*FIRST, "device"], "abacus"), "unknown device or batch size: 'abacus'"),
        (change([*FIRST, "batch_size"], "many"), "batch_size: expected an integer, found 'many'"),
        (change([*FIRST, "estimate", "median"], float("nan")), "median: expected a number, found nan"),
        (change([*FIRST, "estimate", "median"], 1e9), "not an estimate"),
        (change([*FIRST, "estimate"], None), "has neither a time nor a reason"),
        (change(["runs", 0, "setup", "devices"], {"cpu": 3}), "devices: expected a string, found 3"),
        (change(["runs", 0, "setup", "limits"], 3), "not a complete recorded run"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, runs, damage, message):
    path = tmp_path / "a.timing.json"
    bench.save_runs(path, runs)
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(FileFormatError, match=message):
        bench.load_runs(path)
