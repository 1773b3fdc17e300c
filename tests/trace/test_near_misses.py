"""Near misses: which are kept of a step, how they are counted, and how they are told."""

from collections.abc import Sequence

import pytest

import explorer
from explorer.templates import gallery
from explorer.trace import AttemptsRefused, NearMisses, Refusal, RefusalKind
from explorer.trace.steps import KeptNearMisses, keep_near_misses


def test_near_misses_count_matches_and_reasons():
    trace = explorer.record(gallery.load_named("near-misses"), preset="handbook")
    (answer,) = trace.near_misses("Candecomp")
    kinds = {kind.value for _, kind in answer.reasons}
    assert {"wrong type", "several inputs", "several users", "output inside"} <= kinds
    assert answer.matched == sum(match.rule == "Candecomp" for step in trace.steps for match in step.matches)
    assert sum(answer.reasons.values()) == answer.blocked


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RefusalKind.DECLINED, "  once at entry 1, declined: the axes differ"),
        (RefusalKind.REVERTED, "  once at entry 1, reverted: the axes differ"),
    ],
)
def test_near_misses_name_the_kind_of_a_refusal_once(kind, text):
    refusal = Refusal("Careful", 7, 0, 7, kind, found="the axes differ")
    assert str(NearMisses("Careful", 0, (refusal,), 0)) == f"Careful: 0 matched, 1 blocked\n{text}"


def test_near_misses_quote_several_reasons_of_a_rule_that_declined():
    reasons = ("%0 is the input x", "mm is not elementwise", "%0 is the input x", "sum is not elementwise", "a", "b")
    refusals = [Refusal("Careful", n, 0, n, RefusalKind.DECLINED, found=found) for n, found in enumerate(reasons)]
    text = str(NearMisses("Careful", 0, tuple(refusals), 0))
    assert text.endswith("6 times at entry 1, declined: for example " + " / ".join((*reasons[:2], reasons[3])))
    text = str(NearMisses("Careful", 0, tuple(refusals[:3]), 0))
    assert text.endswith("3 times at entry 1, declined: " + " / ".join(reasons[:2]))


def test_a_frequent_reason_does_not_displace_the_others(monkeypatch):
    monkeypatch.setattr(explorer.trace.steps, "MAX_NEAR_MISSES", 3)
    kept = explorer.record(gallery.load_named("near-misses")).near_misses()
    monkeypatch.undo()
    every = explorer.record(gallery.load_named("near-misses")).near_misses()
    for some, whole in zip(kept, every, strict=True):
        assert (set(some.reasons), some.blocked) == (set(whole.reasons), whole.blocked)
    assert any(misses.not_kept for misses in kept)


def test_many_near_misses_are_selected_when_their_step_ends(monkeypatch: pytest.MonkeyPatch):
    module = explorer.trace.steps
    searches = [AttemptsRefused(tuple(Refusal("P", i, 1, i - 1, RefusalKind.WRONG_TYPE) for i in range(1, 7)), "")]
    monkeypatch.setattr(module, "MAX_NEAR_MISSES", 4)
    wanted, selected = module.keep_near_misses(searches), list[object]()

    def counted(searches: Sequence[AttemptsRefused]) -> KeptNearMisses:
        selected.append(searches)
        return keep_near_misses(searches)

    monkeypatch.setattr(module, "keep_near_misses", counted)
    late = module.near_misses_of(searches)
    assert len(selected) == 0
    monkeypatch.setattr(module, "MAX_WAITING", 5)
    early = module.near_misses_of(searches)
    assert len(selected) == 1
    assert early() == wanted
    assert len(selected) == 1
    assert late() == late() == wanted
    assert len(selected) == 2
    assert wanted.num_over == {"P": 2}
