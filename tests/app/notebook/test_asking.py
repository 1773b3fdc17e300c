"""`explorer.ask`: its questions and pictures, equal feedback in Python and in the drawing, and saved notebooks."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.errors import CircuitError, DataTypeError, UnknownNameError
from explorer.trace import Trace
from explorer.views import Answer
from tests.needed import is_missing
from tests.views.score.compiling import compiled
from tests.waiting import PATIENCE

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")

from explorer.app.notebook.ask_widget import AskWidget

MODULE = Path(explorer.__file__).parents[1] / "widgets" / "explorer_widgets" / "static" / "question.js"


@pytest.fixture(scope="module")
def conflict() -> Trace:
    return explorer.record(explorer.gallery.load_named("conflict"))


@pytest.fixture(scope="module")
def tensor() -> Trace:
    """Two operators that are merged into one, and their sum."""
    import torch

    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x * 2.0) + torch.relu(x * 2.0)

    return explorer.record(Twice(), (torch.ones(2, 3),))


ASKED: list[tuple[str, dict[str, Any], Answer, list[Answer]]] = [
    ("fold-with", {"node": 14}, (12, 13, 15), [(), (12, 13), (12, 13, 15, 19), (20, 18)]),
    ("matches", {"node": 6, "pattern": "SumCollapse"}, True, [False]),
    ("matches", {"node": 5, "pattern": "SumCollapse"}, False, [True]),
    ("winner", {"step": 3}, "SumCollapse at 9, 8", ["Candecomp at 8, 7"]),
    ("layers-left", {"step": "optimize/round 1/fuse"}, 9, [8, 12]),
    ("stat", {"step": 3, "stat": "flops"}, "fewer", ["more", "the same"]),
]
IDS = [f"{kind}-{number}" for number, (kind, *_) in enumerate(ASKED)]


@pytest.mark.parametrize(("kind", "options", "right", "wrong"), ASKED, ids=IDS)
def test_an_answer_is_checked_against_the_trace(
    conflict: Trace, kind: Any, options: dict[str, Any], right: Answer, wrong: list[Answer]
) -> None:
    widget = explorer.ask(conflict, kind, **options)
    assert widget.question.kind == kind
    assert widget.question.text in repr(widget)
    assert widget.check(right).right
    assert not any(widget.check(answer).right for answer in wrong)


@pytest.mark.parametrize(("kind", "options"), [(kind, options) for kind, options, *_ in ASKED], ids=IDS)
def test_it_switches_between_the_state_before_and_the_step(conflict: Trace, kind: Any, options: dict[str, Any]) -> None:
    widget = explorer.ask(conflict, kind, height=300, **options)
    step = widget.question.step
    for _ in range(2):
        assert (widget.step, dict(widget.view)["mode"]) == (step - 1, "plain")
        assert set(widget.selected_nodes) == set(widget.question.nodes)
        assert dict(widget.options)["height"] == 300
        assert (dict(widget.options)["asking"], dict(widget.options)["stepper"]) == (True, False)
        assert dict(widget.options)["many"] == (kind == "fold-with")
        widget.revealed = True
        assert widget.revealed
        assert (widget.step, dict(widget.view)["mode"]) == (step, "diff")
        assert dict(widget.view)["group_by"] == ("fold" if kind == "fold-with" else "none")
        assert not dict(widget.options)["asking"]
        widget.revealed = False


def test_answers_of_the_reader_are_visible_in_python(conflict: Trace) -> None:
    widget = explorer.ask(conflict, "fold-with", node=14)
    assert widget.verdict is None
    widget.selection = ["n14", "n12"]
    widget.answer = [12]
    assert widget.verdict == widget.check([12])
    matches = explorer.ask(conflict, "matches", node=6, pattern="SumCollapse")
    matches.answer = "no"
    assert matches.verdict == matches.check(False)


def test_the_selection_returns_after_the_answer_was_revealed(conflict: Trace) -> None:
    widget = explorer.ask(conflict, "fold-with", node=14)
    widget.selection = ["n14", "n12"]
    for _ in range(2):
        widget.revealed = True
        assert widget.selection != ["n14", "n12"]
        widget.revealed = False
        assert widget.selection == ["n14", "n12"]


def test_the_drawing_and_python_return_the_same_feedback(conflict: Trace, tensor: Trace) -> None:
    node = shutil.which("node")
    if node is None:
        is_missing("node 20 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    cases: list[dict[str, Any]] = []

    def add(widget: AskWidget, answers: list[Answer]) -> None:
        for answer in answers:
            answered = widget.check(answer)
            shown = ("yes" if answer else "no") if isinstance(answer, bool) else answer
            wanted = {"right": answered.right, "text": answered.text}
            cases.append({"question": json.dumps(widget.asked), "answer": shown, "wanted": wanted})

    for kind, options, right, wrong in ASKED:
        add(explorer.ask(conflict, kind, **options), [right, *wrong])  # pyright: ignore[reportArgumentType]
    add(explorer.ask(tensor, "layers-left"), [0, 3])
    add(explorer.ask(compiled(), "fused-with"), [(12,), (), (12, 11), (10,)])
    digits = explorer.record(explorer.gallery.load_named("digits"))
    many = explorer.ask(digits, "fold-with", step="fold/level 0")
    members = many.check(()).nodes
    others = [member for member in members if member not in many.question.nodes]
    add(many, [(), others, others[:1], members])
    script = (
        f"import {{ readQuestion, verdictOf }} from {json.dumps(MODULE.as_uri())};"
        "import { readFileSync } from 'node:fs';"
        "const cases = JSON.parse(readFileSync(0, 'utf8'));"
        "console.log(JSON.stringify(cases.map(({ question, answer }) => verdictOf(readQuestion(question), answer))));"
    )
    command = [node, "--input-type=module", "-e", script]
    done = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert json.loads(done.stdout) == [case["wanted"] for case in cases]


def test_tensor_level_questions_are_about_operators(tensor: Trace) -> None:
    left = explorer.ask(tensor, "layers-left")
    before, after = (tensor.stats(step)["operators"] for step in (left.question.step - 1, left.question.step))
    assert left.question.text.startswith(f"There are {before} operators now. How many are left after this step (")
    assert left.check(after).right
    assert f"{before} operators" not in left.check(after).text
    assert explorer.ask(tensor, "stat", step=left.question.step, stat="operators").check("fewer").right
    root = tensor.step(left.question.step).matches[0].root
    matches = explorer.ask(tensor, "matches", node=root, step=left.question.step)
    assert matches.question.text.endswith(f"match at operator {root}?")
    assert matches.check(True).right
    with pytest.raises(CircuitError, match="the trace folds nothing"):
        explorer.ask(tensor, "fold-with")
    with pytest.raises(DataTypeError, match="the answer must be a number of operators; got '3'"):
        left.check("3")


def test_questions_need_a_trace() -> None:
    circuit: Any = explorer.gallery.load_named("conflict")
    with pytest.raises(DataTypeError, match=r"ask expects a trace: ask\(explorer.record\(circuit\), 'winner'\)"):
        explorer.ask(circuit, "winner")


def test_questions_about_unknown_things_are_refused(conflict: Trace) -> None:
    with pytest.raises(UnknownNameError, match="no pattern named 'Sum'"):
        explorer.ask(conflict, "matches", pattern="Sum")
    with pytest.raises(CircuitError, match=r"step 0 .* is the start of the trace"):
        explorer.ask(conflict, "layers-left", step=0)
    with pytest.raises(UnknownNameError, match="no choice 'Tucker at 1'"):
        explorer.ask(conflict, "winner").check("Tucker at 1")


def test_a_saved_notebook_shows_the_question_and_its_picture(conflict: Trace) -> None:
    widget = explorer.ask(conflict, "winner")
    bundle = widget._repr_mimebundle_()
    assert bundle is not None
    data, metadata = bundle
    assert data["image/png"].startswith("iVBOR")
    assert data["text/plain"].startswith(
        "Both of these matches claim layer 8. Which one is applied? [Candecomp at 8, 7] [SumCollapse at 9, 8]"
    )
    assert "Hadamard" in data["text/plain"]
    assert metadata["image/png"]["alt"].startswith("Both of these matches claim layer 8.")
    assert "application/vnd.jupyter.widget-view+json" in data
    for word in ("loser", "lost by the strategy", "Closest"):
        assert word not in data["text/plain"]
    assert f"After step {widget.question.step - 1}" in data["text/plain"]
    widget.revealed = True
    assert "After step" not in str(widget)
