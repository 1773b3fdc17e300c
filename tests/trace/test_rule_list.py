"""The list of rules to read, and what is said of a rule that does not exist."""

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import UnknownNameError
from explorer.trace import Rules, Trace


@pytest.fixture(scope="module")
def block() -> Trace:
    module = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
    return explorer.record(module, (torch.zeros(2, 2, 2),))


@pytest.fixture(scope="module")
def blackboard() -> Trace:
    return explorer.record(explorer.gallery.load_named("blackboard"))


def test_rules_print_by_pass_with_what_they_do(block):
    lines = str(block.rules).splitlines()
    canonicalize, stabilize = lines.index("Canonicalize"), lines.index("Stabilize")
    (line,) = (one for one in lines[canonicalize:stabilize] if one.startswith("  to_reshape "))
    assert "view, flatten, squeeze and unsqueeze are reshapes. (explorer/tensor/rules/views.py:" in line
    assert "view or _unsafe_view" in line
    assert repr(block.rules) == str(block.rules)


def test_every_rule_is_listed_once_in_each_pass_that_tried_it(block):
    groups = block.rules.by_pass()
    assert {rule for one in groups for rule in one.rules} == set(block.rules)
    for one in groups:
        assert len(set(one.rules)) == len(one.rules)


def test_rules_on_layers_are_grouped_by_their_kind(blackboard):
    names = [one.name for one in blackboard.rules.by_pass()]
    assert names == ["parameters", "shatter", "fuse"]
    assert "  SumCollapse " in str(blackboard.rules)


def test_rules_that_no_step_tried_are_listed_apart(block):
    (one,) = Rules(block.rules[:1]).by_pass()
    assert one.name == "(tried nowhere)"
    assert str(Rules()) == "(none)"


def test_why_not_of_what_no_rule_makes_points_to_the_list(block):
    with pytest.raises(UnknownNameError) as caught:
        block.why_not("scaled_dot_product_attention", 0)
    message = str(caught.value)
    assert message.startswith("no rule or pass named 'scaled_dot_product_attention', and none of the ")
    assert message.endswith(
        "what has no rule is never made; print(trace.rules) lists all rules by pass, with what each does"
    )
    assert "canonical_product" not in message


def test_a_name_that_is_nearly_one_of_a_rule_is_suggested(block):
    with pytest.raises(UnknownNameError, match=r"the nearest are: merge_reshapes.*; .*print\(trace\.rules\)"):
        block.why_not("merge_reshape", 0)


def test_a_level_with_a_circuit_points_to_the_list_too(blackboard):
    with pytest.raises(UnknownNameError, match=r"no pattern named 'Attention'; .*print\(trace\.rules\) lists"):
        blackboard.why_not("Attention", 0)
    with pytest.raises(UnknownNameError, match=r"print\(trace\.rules\) lists"):
        blackboard.near_misses("Attention")
