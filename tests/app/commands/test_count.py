"""`circuit-explorer count`, and logic files where a command takes a circuit."""

import math

import pytest

from explorer.app.circuits import load_circuit
from explorer.app.session.library import Library
from explorer.symbolic import Circuit
from explorer.templates.gallery.named_circuits import SEATING
from tests.app.commands.running import run

XOR = "sdd 5\nL 0 0 1\nL 1 2 -2\nL 2 0 -1\nL 3 2 2\nD 4 1 2 0 1 2 3\n"
VTREE = "vtree 5\nL 0 1\nL 2 2\nI 1 0 2\nL 3 3\nI 4 1 3\n"


@pytest.fixture
def xor(tmp_path):
    (tmp_path / "xor.vtree").write_text(VTREE)
    (tmp_path / "xor.sdd").write_text(XOR)
    return tmp_path / "xor.sdd"


def test_models_are_counted(xor):
    assert run("count", str(SEATING)).stdout == "24\n"
    assert run("count", str(xor)).stdout == "2\n"
    assert run("count", str(xor), "--vtree", str(xor.with_suffix(".vtree"))).stdout == "4\n"
    result = run("count", str(xor), "--variables", "20000")
    assert (len(result.stdout.strip()), result.stdout[-3:]) == (6021, "88\n"), "2 ** 19999"
    assert "5 nodes" not in result.stdout


def test_weights_are_exact(xor):
    weights = ("--weight", "1=0.1", "--weight", "-1=9/10", "--weight", "2=0.3", "--weight", "-2=0.7")
    assert run("count", str(xor), *weights).stdout == "0.34\n"
    assert run("count", str(xor), "--weight", "1=3", "--weight", "2=1e-400").stdout.startswith("3.0000000000000000")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weight", "1"), "--weight 1: expected LITERAL=NUMBER, such as 3=0.2 or -3=4/5"),
        (("--weight", "1=1/0"), "expected LITERAL=NUMBER"),
        (("--weight", "1=2", "--weight", "1=3"), "--weight 1: the weight of this literal is given twice"),
        (("--weight", "9=1"), "the weight of literal 9: variables are 1 to 2"),
        (("--variables", "1"), "line 3: literal -2 is out of range: variables are 1 to 1"),
    ],
)
def test_misuse_is_one_line(xor, options, message):
    result = run("count", str(xor), *options, code=2)
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_formula_that_is_not_deterministic_needs_an_assumption(tmp_path):
    (tmp_path / "or.nnf").write_text("nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n")
    message = run("count", str(tmp_path / "or.nnf"), code=2).stderr
    assert "not known to be deterministic" in message
    assert "count with --assume-deterministic" in " ".join(message.split())
    run("count", str(tmp_path / "or.nnf"), "--assume-deterministic")


def test_a_logic_file_is_opened_like_a_circuit(xor):
    assert len(load_circuit(str(xor)).layers) == 7
    assert "fold/level" in run("trace", str(xor)).output
    library = Library(xor.parent)
    assert "xor.sdd" in library.names()
    opened = library.open("xor.sdd")
    assert isinstance(opened, Circuit)
    assert opened.scope == (0, 1)
    assert library.upload("up.nnf", SEATING.read_bytes()) == "up.nnf"
    (xor.parent / "bad.sdd").write_text("sdd 2\n")
    assert "bad.sdd: the header announces 2 nodes" in run("trace", str(xor.parent / "bad.sdd"), code=2).stderr


def test_a_logic_circuit_that_is_not_known_to_be_deterministic_answers_no_query(tmp_path):
    either = tmp_path / "or.nnf"
    either.write_text("nnf 3 2 2\nL 1\nL 2\nO 0 2 0 1\n")  # x1 or x2: both terms hold at x1 = x2 = 1
    for arguments in (("query", "partition", str(either)), ("sample", str(either))):
        result = run(*arguments, code=2)
        assert "not known to be deterministic" in result.output
        assert "--assume-deterministic" in result.output
        assert run(*arguments, "--assume-deterministic").stdout
    exact = run("query", "partition", str(SEATING)).stdout
    assert float(exact.partition("=")[2]) == pytest.approx(math.log(24), abs=1e-5)
