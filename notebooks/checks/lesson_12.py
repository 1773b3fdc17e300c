"""Lesson 12, watching torch.compile: kernels replayed from a trace, the most valuable fusion, a refusal on purpose."""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import explorer
from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.errors import CircuitError
from explorer.trace import PairJudged, Step, Trace, pairs_of

RECORDED = Path(__file__).parents[1] / "recorded"
REASON = "no shared data"
SHAPE = (32, 64)


# ---------------------------------------------------------------------- kernels from a trace


def exercise_1(answer: Any) -> None:
    """A function that replays the rounds of fusion."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compare with the names of the kernels in the trace of another network."""
    what = "the dictionary that kernels returns"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of a trace", answer)
    trace = Trace.load(RECORDED / "two-outputs-torch.trace.json.gz")
    try:
        found = answer(trace)
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(False, f"It fails: {type(error).__name__}: {error}")
    if found is None:
        return not_answered(what)
    if not isinstance(found, dict) or not all(is_integer(key) for key in found):
        return something_else("a dictionary of numbers and lists of numbers", found)
    wanted = kernels_by_name(trace)
    try:
        given = {int(number): sorted(int(node) for node in nodes) for number, nodes in found.items()}
    except (TypeError, ValueError):
        return Feedback(False, "Each value must be a list of numbers of nodes after the step lower.")
    if set(given) != set(wanted):
        gone = sorted(set(given) - set(wanted))
        missing = sorted(set(wanted) - set(given))
        parts = [f"{gone} are not calls after the last round"] if gone else []
        parts += [f"{missing} are missing"] if missing else []
        return Feedback(False, f"{'; '.join(parts)}. Remove what an entry removes, and add what it adds.")
    wrong = [number for number in wanted if given[number] != wanted[number]]
    if not wrong:
        several = sum(len(nodes) > 1 for nodes in wanted.values())
        return Feedback(True, f"Right: {len(wanted)} calls, {several} of them made of several nodes.")
    lowered = trace.graph_at("lower").nodes
    if any(node not in lowered for node in given[wrong[0]]):
        return Feedback(
            False, f"Call {wrong[0]}: some of these are calls of a round in between. What were they made of?"
        )
    return Feedback(False, f"Call {wrong[0]} consists of other nodes: do parts of parts count?")


def kernels_by_name(trace: Trace) -> dict[int, list[int]]:
    """The calls after the last round with the nodes that they consist of, by the compiler's own names of both."""
    lowered = {call.about["name"]: number for number, call in _calls(trace, "lower").items()}
    calls = _calls(trace, _last_round(trace).index)
    return {number: sorted(lowered[part] for part in call.about["name"].split("_")) for number, call in calls.items()}


def _calls(trace: Trace, step: int | str) -> dict[int, Any]:
    return {number: call for number, call in trace.graph_at(step).nodes.items() if call.kind != "input"}


def _last_round(trace: Trace) -> Step:
    return [step for step in trace.steps if step.pass_name == "fuse"][-1]


# ---------------------------------------------------------------------- the most valuable fusion


class Network(nn.Module):
    """The network of the lesson."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.last = nn.LayerNorm(64), nn.LayerNorm(64)
        self.up, self.down = nn.Linear(64, 256), nn.Linear(256, 64)
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return classes for rows (32, 64)."""
        hidden = nn.functional.gelu(self.up(self.norm(x)))
        x = x + self.down(hidden)
        return self.head(self.last(x)).softmax(-1)


def exercise_2(answer: Any) -> None:
    """The pair of scheduler nodes that costs most if it is kept apart."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Compile the network with the pair apart, and with the best pair apart."""
    if answer is None:
        return not_answered('two names of scheduler nodes, ("op...", "op...")')
    if not isinstance(answer, list | tuple) or len(answer) != 2 or not all(isinstance(one, str) for one in answer):
        return something_else('two names of scheduler nodes, ("op...", "op...")', answer)
    calls = _calls(_watched(), "lower")
    names = {call.about["name"]: number for number, call in calls.items()}
    unknown = [name for name in answer if name not in names]
    if unknown:
        return Feedback(False, f"There is no scheduler node {unknown[0]}; they are called {', '.join(names)}.")
    if not _watched().why_not_fused(names[answer[0]], names[answer[1]]):
        return Feedback(False, "These two do not end in one kernel anyway, so keeping them apart costs nothing.")
    last = [name for name, number in names.items() if calls[number].about.get("module") == "last"]
    cost = _moved((answer[0], answer[1])) - _moved()
    if cost >= _moved((last[-2], last[-1])) - _moved():
        return Feedback(True, f"Right: {cost:,} bytes more. Both parts read the two summands of the residual again.")
    return Feedback(
        False,
        f"That costs {cost:,} bytes; another pair costs more. Which kernel reads the most, and what "
        "would its parts have to pass to each other, or to read again?",
    )


@cache
def _watched(*apart: tuple[str, str]) -> Trace:
    return explorer.watch(Network().eval(), torch.randn(SHAPE), apart=apart)


def _moved(*apart: tuple[str, str]) -> float:
    trace = _watched(*apart)
    return trace.stats(_last_round(trace))["moved_bytes"]


# ---------------------------------------------------------------------- a refusal on purpose


def exercise_3(answer: Any) -> None:
    """A function with two nodes that read the same tensor, and do not share data."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Compile it, and look for the refusal in the last round."""
    what = "what function returns"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function of a tensor", answer)
    x = torch.randn(SHAPE)
    try:
        if answer(x) is None:
            return not_answered(what)
        trace = explorer.watch(answer, x)
    except CircuitError as error:
        return Feedback(False, f"It cannot be watched: {error}")
    except Exception as error:  # noqa: BLE001 - a student's code may raise anything
        return Feedback(False, f"It fails: {type(error).__name__}: {error}")
    rounds = [step for step in trace.steps if step.pass_name == "fuse"]
    if not rounds:
        return Feedback(False, "There is no round of fusion: nothing is left to compute.")
    refused = [pair for pair in pairs_of(rounds[-1]) if pair.verdict.value == "refused"]
    found = [pair for pair in refused if pair.reason == REASON]
    reads = trace.graph_at(rounds[-1].index - 1).inputs
    shared = [pair for pair in found if {*reads[pair.one]} & {*reads[pair.other]}]
    if shared:
        return Feedback(
            True, f"Right: {_names(trace, rounds[-1], shared[0])} read the same tensor, in different orders."
        )
    if found:
        return Feedback(False, "The words are there, but the two nodes do not read the same tensor.")
    if refused:
        return Feedback(False, f"Nearly: the last round refuses {len(refused)} pairs, but says {refused[0].reason!r}.")
    return Feedback(False, "The last round refuses nothing. Let two reductions read x along different axes.")


def _names(trace: Trace, step: Step, pair: PairJudged) -> str:
    nodes = trace.graph_at(step.index - 1).nodes
    return f"{nodes[pair.one].title} and {nodes[pair.other].title}"
