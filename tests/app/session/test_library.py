"""The library opens nothing outside of its folder, nothing too large, nothing foreign."""

import gzip
import json
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import torch

import explorer
from explorer.app.circuits import load_circuit_or_trace
from explorer.app.session import library
from explorer.app.session.library import Library, item_of_bytes
from explorer.app.session.opening import open_state
from explorer.app.session.view_state import ViewState
from explorer.app.training.checkpoint import Checkpoint
from explorer.bench import save_runs
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, FileFormatError, UnknownNameError, ValueRangeError
from explorer.files import count_values
from explorer.learning.tables import CategoricalColumn, GaussianColumn
from explorer.symbolic import Circuit
from explorer.templates import fully_factorized, gallery, load_named
from explorer.trace import Trace
from explorer.views import image_of, picture
from explorer.views.plates.geometry import Grid
from tests.fuzzing import seeded

SMALL = gallery.load_named("blackboard")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a circuit and a trace, plain and compressed, and other files."""
    folder = tmp_path_factory.mktemp("saved")
    SMALL.save(folder / "b.circuit.json")
    trace = explorer.record(SMALL)
    trace.save(folder / "a.trace.json.gz")
    trace.save(folder / "c.trace.json")
    (folder / "notes.txt").write_text("nothing to open")
    (folder / "deeper").mkdir()
    SMALL.save(folder / "deeper" / "d.circuit.json")
    return folder


def test_the_gallery_is_listed_before_files_and_uploads(saved: Path, tmp_path: Path) -> None:
    single = tmp_path / "single.circuit.json"
    SMALL.save(single)
    found = Library(saved, (single,))
    found.upload("mine.json", single.read_bytes())
    files = ("single.circuit.json", "a.trace.json.gz", "b.circuit.json", "c.trace.json")
    assert found.names() == (*gallery.names(), *files, "mine.json")
    assert Library().names() == gallery.names()
    assert found.describe("mine.json") == "an upload of this session"
    assert found.describe("c.trace.json") == "the file c.trace.json"
    assert found.describe("hmm") == gallery.describe("hmm")


def test_circuits_and_traces_are_distinguished_by_their_content(saved: Path) -> None:
    found = Library(saved)
    assert isinstance(found.open("hmm"), Circuit)
    assert isinstance(found.open("b.circuit.json"), Circuit)
    for name in ("a.trace.json.gz", "c.trace.json"):
        trace = found.open(name)
        assert isinstance(trace, Trace)
        assert not trace.is_live
        assert len(trace.steps) == len(explorer.record(SMALL).steps)


def test_the_name_of_a_file_does_not_matter(saved: Path, tmp_path: Path) -> None:
    for source, name in (
        ("a.trace.json.gz", "run"),
        ("c.trace.json", "x.circuit.json"),
        ("b.circuit.json", "y.trace.json"),
    ):
        path = tmp_path / name
        path.write_bytes((saved / source).read_bytes())
        wanted = Circuit if source.startswith("b") else Trace
        assert isinstance(load_circuit_or_trace(str(path)), wanted)
        assert isinstance(Library(files=(path,)).open(name), wanted)


def test_a_file_of_timings_is_recognized(tmp_path: Path) -> None:
    save_runs(tmp_path / "x.trace.json", [])
    message = "expected format 'circuit-explorer circuit' or 'circuit-explorer trace', found 'circuit-explorer timing'"
    with pytest.raises(FileFormatError, match=message):
        load_circuit_or_trace(str(tmp_path / "x.trace.json"))


@pytest.mark.parametrize(
    "name",
    [
        "../secret.trace.json",
        "deeper/d.circuit.json",
        "./b.circuit.json",
        "notes.txt",
        "/etc/passwd",
        "deeper",
        "..",
        "",
        "link.trace.json",
        "dangling.trace.json",
        "linked-folder",
        "b.circuit.json\0",
    ],
)
def test_no_name_escapes_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "offered"
    (folder / "deeper").mkdir(parents=True)
    secret = tmp_path / "secret.trace.json"
    for path in (folder / "b.circuit.json", folder / "deeper" / "d.circuit.json", secret):
        SMALL.save(path)
    (folder / "notes.txt").write_text(secret.read_text())
    (folder / "link.trace.json").symlink_to(secret)
    (folder / "dangling.trace.json").symlink_to(folder / "nothing.json")
    (folder / "linked-folder").symlink_to(tmp_path)
    offered = Library(folder)
    assert offered.names() == (*gallery.names(), "b.circuit.json")
    with pytest.raises(UnknownNameError, match="no circuit or trace named"):
        offered.open(name)


def test_a_symbolic_link_inside_the_folder_is_a_file(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "b.circuit.json")
    (tmp_path / "also.json").symlink_to(tmp_path / "b.circuit.json")
    assert isinstance(Library(tmp_path).open("also.json"), Circuit)


def test_a_missing_file_or_folder_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "offered"
    folder.mkdir()
    SMALL.save(folder / "b.circuit.json")
    found = Library(folder, (tmp_path / "gone.json",))
    with pytest.raises(FileFormatError, match=r"cannot read gone\.json: No such file"):
        found.open("gone.json")
    (folder / "b.circuit.json").unlink()
    with pytest.raises(UnknownNameError, match=r"b\.circuit\.json"):
        found.open("b.circuit.json")
    folder.rmdir()
    assert found.names() == (*gallery.names(), "gone.json")
    with pytest.raises(UnknownNameError):
        found.open("b.circuit.json")


def test_uploads_belong_to_one_library(saved: Path) -> None:
    one, other = Library(saved), Library(saved)
    assert one.upload("mine.json", (saved / "b.circuit.json").read_bytes()) == "mine.json"
    assert isinstance(one.open("mine.json"), Circuit)
    assert "mine.json" not in other.names()
    with pytest.raises(UnknownNameError):
        other.open("mine.json")


def test_an_upload_cannot_use_a_name_that_is_taken(saved: Path) -> None:
    found = Library(saved)
    raw = (saved / "a.trace.json.gz").read_bytes()
    assert found.upload("digits", raw) == "digits (upload)"
    assert found.upload("b.circuit.json", raw) == "b.circuit.json (upload)"
    assert isinstance(found.open("digits"), Circuit)
    assert isinstance(found.open("digits (upload)"), Trace)
    assert isinstance(found.open("b.circuit.json"), Circuit)


def test_a_second_upload_of_a_name_replaces_the_first(saved: Path) -> None:
    found = Library()
    found.upload("mine.json", (saved / "b.circuit.json").read_bytes())
    found.upload("mine.json", (saved / "c.trace.json").read_bytes())
    assert found.names() == (*gallery.names(), "mine.json")
    assert isinstance(found.open("mine.json"), Trace)


def test_uploads_are_limited_in_size(monkeypatch: pytest.MonkeyPatch, saved: Path) -> None:
    raw = (saved / "b.circuit.json").read_bytes()
    monkeypatch.setattr(library, "MAX_UPLOAD_BYTES", len(raw))
    assert Library().upload("mine.json", raw) == "mine.json"
    with pytest.raises(ValueRangeError, match=r"mine\.json has 0 MB; at most 0 MB can be uploaded"):
        Library().upload("mine.json", raw + b" ")


def test_a_decompression_bomb_is_refused_before_it_is_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MAX_UNPACKED_UPLOAD_BYTES", 2**20)
    bomb = gzip.compress(b"[" + b" " * (50 * 2**20))
    with pytest.raises(FileFormatError, match=r"bomb\.json\.gz unpacks to more than 1 MB"):
        Library().upload("bomb.json.gz", bomb)


def padded(raw: bytes, count: int) -> bytes:
    """A trace of a circuit with an unknown field of `count` empty lists."""
    data = json.loads(raw)
    data["circuit"]["pad"] = data["pad"] = [[]] * count
    return json.dumps(data).encode()


def test_a_small_file_of_too_many_values_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch, saved: Path, tmp_path: Path
) -> None:
    raw = gzip.compress(padded((saved / "c.trace.json").read_bytes(), 100_000))
    monkeypatch.setattr(library, "MAX_UPLOAD_VALUES", 150_000)
    with pytest.raises(FileFormatError, match=r"many\.trace\.json\.gz has more than 150,000 values"):
        Library().upload("many.trace.json.gz", raw)
    path = tmp_path / "many.trace.json.gz"
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match="has more than 150,000 values"):
        Library(tmp_path).open(path.name)
    assert isinstance(Library(files=(path,)).open(path.name), Trace)  # the user named it


def test_the_limit_of_values_has_room_for_the_largest_trace_of_the_gallery() -> None:
    poon_domingos_at_kernels = 3_364_457
    assert 1.4 * poon_domingos_at_kernels < library.MAX_UPLOAD_VALUES
    raw = json.dumps({"a": [1, 2.5, None, {"b": "c"}], "d": {}}).encode()
    assert count_values(raw) >= 8  # values and keys, without the whole text


def test_unknown_fields_of_a_trace_and_its_circuit_are_not_kept(saved: Path) -> None:
    found = Library()
    found.upload("a.json", padded((saved / "c.trace.json").read_bytes(), 10))
    trace = found.open("a.json")
    assert isinstance(trace, Trace)
    assert trace.circuit_json == json.loads((saved / "c.trace.json").read_text())["circuit"]


def test_the_oldest_uploads_are_dropped_when_a_session_has_too_many(
    monkeypatch: pytest.MonkeyPatch, saved: Path
) -> None:
    raw, found = (saved / "c.trace.json").read_bytes(), Library()
    monkeypatch.setattr(library, "MAX_UPLOADS", 3)
    for number in range(5):
        found.upload(f"{number}.json", raw)
    assert list(found.uploads) == ["2.json", "3.json", "4.json"]
    found.upload("2.json", raw)  # again, so it is the newest
    assert list(found.uploads) == ["3.json", "4.json", "2.json"]
    monkeypatch.setattr(library, "MAX_SESSION_BYTES", 2 * library.read_limited(raw, "c.json").num_bytes)
    found.upload("5.json", raw)
    assert list(found.uploads) == ["2.json", "5.json"]
    with pytest.raises(UnknownNameError, match=r"3\.json is not kept any more: .*; upload it again"):
        found.open("3.json")
    found.upload("3.json", raw)
    assert isinstance(found.open("3.json"), Trace)


def test_a_formula_of_too_many_variables_is_refused_before_it_is_built() -> None:
    with pytest.raises(ValueRangeError, match="has 1,000,000 variables"):
        Library().upload("a.nnf", b"nnf 1 0 1000000\nA 0\n")


@pytest.mark.parametrize("file", ["b.circuit.json", "c.trace.json"])
def test_circuits_with_too_many_parameters_or_units_are_refused(
    monkeypatch: pytest.MonkeyPatch, saved: Path, file: str
) -> None:
    raw = (saved / file).read_bytes()
    item_of_bytes(raw, file)
    with monkeypatch.context() as patch:
        patch.setattr(library, "MAX_PARAMETERS", 10)
        with pytest.raises(ValueRangeError, match=r"has \d+ numbers in its parameters; at most 10 are read"):
            item_of_bytes(raw, file)
    monkeypatch.setattr(library, "MAX_UNITS", 1)
    with pytest.raises(ValueRangeError, match=r"has a layer of \d+ units; at most 1 are read"):
        item_of_bytes(raw, file)


@pytest.mark.parametrize("cut", [1, 7, 100, 1000, -1, -100])
@pytest.mark.parametrize("file", ["a.trace.json.gz", "b.circuit.json", "c.trace.json"])
def test_a_truncated_file_is_refused(saved: Path, file: str, cut: int) -> None:
    with pytest.raises(FileFormatError, match="truncated"):
        Library().upload(file, (saved / file).read_bytes()[:cut])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x1f\x8b",
        b"\x89PNG\r\n\x1a\n",
        b"null",
        b"[]",
        b"{}",
        b'{"format": "something else", "version": 1}',
        b'{"format": "circuit-explorer trace", "version": 99}',
        b'{"format": "circuit-explorer trace", "version": 1}',
        b'{"format": "circuit-explorer circuit", "version": 1}',
        b'{"format": ["circuit-explorer trace"]}',
        b'{"format": "circuit-explorer trace", "version": 1, "steps": 3, "nodes": null}',
        b"[" * 100_000,
        b"\xff\xfe\x00",
        b"import os",
    ],
    ids=repr,
)
def test_foreign_files_are_refused(raw: bytes) -> None:
    library = Library()
    with pytest.raises(FileFormatError):
        library.upload("foreign.json", raw)
    assert library.uploads == {}


@seeded(16)
def test_a_broken_file_is_a_typed_error_or_opens(saved: Path, seed: int) -> None:
    """One value in a file is replaced by another: every consequence is a typed error."""
    import random

    rng = random.Random(seed)
    file = rng.choice(["b.circuit.json", "c.trace.json"])
    data = json.loads((saved / file).read_text())
    places: list[tuple[Any, Any]] = []
    stack: list[Any] = [data]
    while stack:
        part = stack.pop()
        for key in part if isinstance(part, dict) else range(len(part)):
            places.append((part, key))
            if isinstance(part[key], dict | list):
                stack.append(part[key])
    part, key = rng.choice(places)
    part[key] = rng.choice([None, -1, 10**30, "x", [], {}, True, 1.5, [[]], {"a": None}])
    with suppress(CircuitError):
        assert isinstance(item_of_bytes(json.dumps(data).encode(), file), Circuit | Trace)


def test_a_checkpoint_opens_as_its_circuit_with_the_learned_values(tmp_path: Path) -> None:
    compiled = TorchCompiler(seed=7).compile(load_named("conflict"))
    Checkpoint("conflict", {}, "digits", compiled.leaf_state()).save(tmp_path / "learned.pt")
    found_in = Library(tmp_path)
    assert "learned.pt" in found_in.names()
    opened = open_state(found_in, ViewState(circuit="learned.pt"))
    x = torch.tensor([[0, 1, 1, 0]])
    found = opened.trace.circuit_at(-1)(x)
    assert torch.allclose(found, compiled(x), atol=1e-6)  # another seed, the same values
    (tmp_path / "damaged.pt").write_bytes(b"{}")
    with pytest.raises(FileFormatError, match="not a circuit-explorer checkpoint"):
        found_in.open("damaged.pt")


def test_an_uploaded_checkpoint_opens_with_its_columns_and_reads_no_other_file(tmp_path: Path) -> None:
    column = GaussianColumn("height", 170.0, 10.0)
    symbolic = fully_factorized(1, [column.input_spec()])
    state, library = TorchCompiler().compile(symbolic).leaf_state(), Library()
    path = tmp_path / "people.pt"
    Checkpoint("hclt", {}, "people.csv", state, symbolic=symbolic.to_json(), columns=(column,)).save(path)
    name = library.upload("people.pt", path.read_bytes())
    assert open_state(library, ViewState(circuit=name)).columns == (column,)
    Checkpoint(str(tmp_path / "own.py:build"), {}, "people.csv", state).save(path)
    with pytest.raises(FileFormatError, match="opens no other file and runs no function"):
        library.upload("people.pt", path.read_bytes())
    with pytest.raises(FileFormatError, match="not a circuit-explorer checkpoint"):
        library.upload("people.pt", b"no archive")
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", bytes(65 * 2**20))
    with pytest.raises(ValueRangeError, match="unpacks to 65 MB"):
        library.upload("people.pt", packed.getvalue())
    path.write_bytes(packed.getvalue())
    with pytest.raises(ValueRangeError, match="unpacks to 65 MB"):
        Library(tmp_path).open("people.pt")
    with pytest.raises(FileFormatError, match="not a circuit-explorer checkpoint"):
        Library(files=(path,)).open("people.pt")


def test_a_checkpoint_of_an_older_format_with_an_archive_behind_it_is_refused(tmp_path: Path) -> None:
    state = TorchCompiler().compile(load_named("conflict")).leaf_state()
    path, small = tmp_path / "learned.pt", BytesIO()
    Checkpoint("conflict", {}, "digits", state).save(path)
    torch.save(torch.load(path), path, _use_new_zipfile_serialization=False)
    with zipfile.ZipFile(small, "w") as archive:
        archive.writestr("data.pkl", b"")
    path.write_bytes(path.read_bytes() + small.getvalue())
    with pytest.raises(FileFormatError, match="is not a circuit-explorer checkpoint"):
        Library().upload("learned.pt", path.read_bytes())
    with pytest.raises(FileFormatError, match="is not a circuit-explorer checkpoint"):
        Library(tmp_path).open("learned.pt")
    assert isinstance(Library(files=(path,)).open("learned.pt"), Circuit)


def test_the_structure_of_a_checkpoint_is_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = TorchCompiler().compile(load_named("conflict")).leaf_state()
    path = tmp_path / "learned.pt"
    Checkpoint("conflict", {}, "digits", state).save(path)
    monkeypatch.setattr(library, "MAX_PICKLE_BYTES", 100)
    with pytest.raises(ValueRangeError, match="besides its tensors"):
        Library().upload("learned.pt", path.read_bytes())
    with pytest.raises(ValueRangeError, match="besides its tensors"):
        Library(tmp_path).open("learned.pt")
    assert isinstance(Library(files=(path,)).open("learned.pt"), Circuit)


def test_a_circuit_of_a_table_is_not_an_image_whatever_its_scopes(tmp_path: Path) -> None:
    symbolic = gallery.load_named("digits")
    columns = tuple(CategoricalColumn(f"c{v}", tuple(map(str, range(17)))) for v in range(64))
    state = TorchCompiler().compile(symbolic).leaf_state()
    Checkpoint("hclt", {}, "table.csv", state, symbolic=symbolic.to_json(), columns=columns).save(tmp_path / "t.pt")
    Checkpoint("hclt", {}, "images", state, symbolic=symbolic.to_json()).save(tmp_path / "i.pt")
    table, images = (open_state(Library(tmp_path), ViewState(circuit=name)) for name in ("t.pt", "i.pt"))
    assert image_of(table.index, 64) is None
    assert image_of(images.index, 64) == Grid(1, 8, 8)
    for opened in (table, images):
        opened.trace.save(tmp_path / "saved.trace.json")
        saved = open_state(Library(tmp_path), ViewState(circuit="saved.trace.json"))
        assert image_of(saved.index, 64) == image_of(opened.index, 64)


def test_inputs_have_the_names_of_their_columns_in_pictures(tmp_path: Path) -> None:
    symbolic = gallery.load_named("blackboard")
    names = ("city", "colour", "size", "children", "age", "weight", "height", "pets")[: symbolic.num_variables]
    columns = tuple(CategoricalColumn(name, ("a", "b")) for name in names)
    state = TorchCompiler().compile(symbolic).leaf_state()
    Checkpoint("hclt", {}, "table.csv", state, symbolic=symbolic.to_json(), columns=columns).save(tmp_path / "t.pt")
    index = open_state(Library(tmp_path), ViewState(circuit="t.pt")).index
    drawn = (
        picture(index, 0, group_by="plates"),
        picture(index, -1, group_by="plates"),
        picture(index, 0, group_by="none"),
    )
    before, after, boxes = ([node for node in one.view["nodes"] if node["kind"] == "input"] for one in drawn)
    every = ", ".join(names)
    assert [[node.get("plate", {}).get("columns") for node in found] for found in (before, after)] == [[every], [every]]
    assert [node["detail"] for node in boxes] == [f"#{number} {name} → 2" for number, name in enumerate(names)]


def test_a_few_bytes_of_a_logic_file_declare_no_more_variables_than_are_built_soon() -> None:
    with pytest.raises(ValueRangeError, match="90,000 variables; at most 10,000 are read: start the explorer with"):
        item_of_bytes(b"nnf 1 0 90000\nA 0\n", "true.nnf")
