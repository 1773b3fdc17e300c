"""Questions about which of two conflicting matches is applied."""

from collections.abc import Iterator, Sequence

from explorer.errors import CircuitError, UnknownNameError
from explorer.trace import Step
from explorer.views.index import TraceIndex
from explorer.views.predicting.question import Question, Verdict, grouping_of, noun_of, where
from explorer.views.words import list_text


def winner_questions(index: TraceIndex, step: Step) -> Iterator[Question]:
    """Yield a question about each conflict between two matches on layers."""
    for lost in step.lost if step.error is None else ():
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        if lost.parameter_path or (loser.rule, loser.nodes) == (winner.rule, winner.nodes):
            continue
        choices = sorted((match.nodes, _match_text(match.rule, match.nodes)) for match in (loser, winner))
        text = f"Both of these matches claim {noun_of(index)} {lost.node}. Which one is applied?"
        nodes = tuple(dict.fromkeys((*loser.nodes, *winner.nodes)))
        names = tuple(choice for _, choice in choices)
        yield Question("winner", text, step.index, nodes, names, group_by=grouping_of(index, step))


def question_about_conflict(index: TraceIndex, step: Step | None, node: int | None) -> Question:
    """Return the question about the first conflict, or the first one that involves a node.

    Raises: CircuitError if there is none.
    """
    steps = index.trace.steps if step is None else (step,)
    found = (question for one in steps for question in winner_questions(index, one))
    question = next((one for one in found if node is None or node in one.nodes), None)
    if question is None:
        at = "" if node is None else f" that node {node} is part of"
        raise CircuitError(f"there is no conflict between two matches{at} in {where(step)}")
    return question


def check_winner(index: TraceIndex, question: Question, answer: str) -> Verdict:
    """Check a choice. Raises: UnknownNameError if the step does not have this conflict."""
    step = index.step(question.step)
    for lost in step.lost:
        loser, winner = step.matches[lost.loser], step.matches[lost.winner]
        names = {_match_text(match.rule, match.nodes) for match in (loser, winner)}
        if names == set(question.choices):
            won, lost_to_it = _match_text(winner.rule, winner.nodes), _match_text(loser.rule, loser.nodes)
            right = answer == won
            why = f"{lost_to_it} lost by the strategy {lost.strategy}: {lost.reason}."
            return Verdict(right, f"{'Right' if right else f'No: {won} is applied'}. {why}", winner.nodes)
    raise UnknownNameError(f"step {question.step} has no conflict of {' and '.join(question.choices)}")


def _match_text(rule: str, nodes: Sequence[int]) -> str:
    return f"{rule} at {list_text(nodes)}"
