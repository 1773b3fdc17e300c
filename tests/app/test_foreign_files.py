"""Files of other programs: an error says what they seem to be, what can be read, and what helps."""

import gzip
import re
from pathlib import Path

import pytest
import torch

from explorer.app.circuits import load_circuit_or_trace
from explorer.app.session.library import Library
from explorer.errors import FileFormatError, LearningError, UnknownNameError
from explorer.learning.sources import load_source
from tests.app.commands.running import run

EXAMPLES = {
    "a.cnf": (b"c comment\np cnf 2 1\n1 2 0\n", "seems to be a CNF.*compile it with d4 or c2d to an NNF file"),
    "clauses.txt": (b"p cnf 2 1\n1 2 0\n", "seems to be a CNF"),
    "cnf.nnf": (b"p cnf 2 1\n1 2 0\n", "seems to be a CNF"),
    "a.psdd": (b"c ids of psdd nodes\npsdd 1\nL 0 0 1\n", "seems to be a PSDD.*name the SDD file"),
    "a.vtree": (b"c ids\nvtree 3\nL 0 1\nL 1 2\nI 2 0 1\n", "seems to be a vtree.*name the SDD file"),
    "a.ckpt": (b"PK\3\4 data.pkl circuit-explorer checkpoint", r"ends in \.pt: mv a\.ckpt a\.ckpt\.pt"),
    "a.pth": (b"\x80\x02", r"weights of PyTorch.*explorer\.record\(module, inputs\)"),
    "a.safetensors": (b"\x10\0\0\0\0\0\0\0{}", "weights of PyTorch"),
    "spn.txt": (
        b"(0.4*(Gaussian(V0|mean=1;stdev=2)) + 0.6*(Gaussian(V0|mean=2;stdev=1)))",
        "circuit of SPFlow as text",
    ),
    "a.png": (b"\x89PNG\r\n\x1a\n", r"seems to be a picture.*train --data FOLDER"),
    "photo": (b"\xff\xd8\xff\xe0", "seems to be a picture"),
    "a.svg": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "seems to be a picture"),
    "page.html": (b"<!doctype html>\n", "seems to be a page.*open it in a browser"),
    "a.csv": (b"a,b\n1,2\n", r"seems to be a table.*circuit-explorer serve a\.csv"),
    "my table.csv": (b"a,b\n1,2\n", "circuit-explorer serve 'my table.csv'"),
    "passes.yaml": (b"- fold\n", r"seems to be a pipeline.*trace CIRCUIT --pipeline passes\.yaml"),
    "a.ipynb": (b'{"cells": [], "nbformat": 4}', "seems to be a notebook.*FILE.py:FUNCTION"),
    "b.json": (b"\x89PNG\r\n", "seems to be a picture"),
    "notes.md": (b"# Circuits\n", "is a text file of an unknown format"),
    "junk": (bytes(range(256)), "is a binary file of an unknown format"),
    "nothing": (b"", "is an empty file"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_of_another_program_is_named_with_what_helps(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    raw, message = EXAMPLES[name]
    Path(name).write_bytes(raw)
    readable = "" if name == "cnf.nnf" else ".*this program reads its own circuits and traces"
    with pytest.raises(FileFormatError, match=f"(?s){re.escape(name)}.*{message}{readable}"):
        load_circuit_or_trace(name)
    with pytest.raises(FileFormatError, match=f"(?s)^{re.escape(name)}.*{message}"):
        Library().upload(name, raw)
    with pytest.raises(FileFormatError, match=f"(?s)^{re.escape(name)}.*{message}"):
        Library(files=(Path(name),)).open(name)


def test_weights_of_another_program_are_not_taken_for_a_broken_checkpoint(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"weight": torch.zeros(2)}, path)
    with pytest.raises(FileFormatError, match=r"is not a circuit-explorer checkpoint.*explorer\.record\(module, inp"):
        load_circuit_or_trace(str(path))


@pytest.mark.parametrize(
    "raw", [b'{"format": "circuit-explorer tra', gzip.compress(b'{"format": 1')[:-3]], ids=["json", "gzip"]
)
def test_a_truncated_file_of_ours_is_called_so(tmp_path, raw):
    path = tmp_path / "a.trace.json"
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match="is not a circuit or trace file, or it is truncated"):
        load_circuit_or_trace(str(path))


def test_a_cnf_is_not_counted(tmp_path):
    path = tmp_path / "a.cnf"
    path.write_bytes(EXAMPLES["a.cnf"][0])
    assert "compile it with d4 or c2d to an NNF file" in " ".join(run("count", path, code=2).stderr.split())


@pytest.mark.parametrize(("name", "meant"), [("digit", "digits"), ("blackbord", "blackboard"), ("MNIST", "mnist")])
def test_a_name_that_is_almost_one_of_the_gallery_is_answered_with_it(name, meant):
    with pytest.raises(UnknownNameError, match=rf"no circuit '{name}'.*did you mean {meant}\?"):
        load_circuit_or_trace(name)
    with pytest.raises(UnknownNameError, match=rf"no circuit or trace named '{name}'.*did you mean {meant}\?"):
        Library().open(name)


def test_a_name_like_none_of_the_gallery_has_no_suggestion():
    with pytest.raises(UnknownNameError, match="the gallery has digits, hclt") as caught:
        load_circuit_or_trace("nowhere")
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the name is empty; name a circuit of the gallery, a file, or FILE.py:FUNCTION"),
        ("ff/mine.py:", "'ff/mine.py:' names no function of ff/mine.py; name a circuit .* or FILE.py:FUNCTION"),
        ("ff/bda.json", r"did you mean ff/bad\.json\?"),
        ("ff/mien.py:build", r"did you mean ff/mine\.py\?"),
    ],
)
def test_a_wrong_name_is_answered_with_what_can_be_written(tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ff").mkdir()
    for file in ("bad.json", "mine.py"):
        (tmp_path / "ff" / file).write_text("")
    with pytest.raises(UnknownNameError, match=message):
        load_circuit_or_trace(name)


def test_a_picture_as_data_is_answered_with_a_folder(tmp_path):
    picture = tmp_path / "p.png"
    picture.write_bytes(EXAMPLES["b.json"][0])
    with pytest.raises(LearningError, match=r"p\.png is a picture; .* on a folder of images: --data FOLDER"):
        load_source(str(picture))


def test_a_folder_is_called_one(tmp_path):
    with pytest.raises(UnknownNameError, match="is a folder; name a file in it, or list its files with serve --folder"):
        load_circuit_or_trace(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nnf", f"nnf 1 0 1\nL {'9' * 100_000}\n"),
        ("a.json", '{"format": "' + "x" * 100_000 + '"}'),
        ("a.json", '{"format": "circuit-explorer trace", "version": "' + "x" * 100_000 + '"}'),
    ],
)
def test_a_message_about_a_file_does_not_quote_all_of_it(name, text):
    with pytest.raises(FileFormatError) as caught:
        Library().upload(name, text.encode())
    assert str(caught.value).startswith(name)
    assert len(str(caught.value)) < 3000
