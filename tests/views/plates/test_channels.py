"""Lanes of channels: wires that overlap are apart, and few of them cross."""

from collections.abc import Sequence

from explorer.views.plates.channels import Wire, assign_lanes


def wire(low: Sequence[float] = (), high: Sequence[float] = (), reach: Sequence[float] = ()) -> Wire:
    one = Wire()
    for at in low:
        one.leave(at, low=True)
    for at in high:
        one.leave(at, low=False)
    for at in reach:
        one.reach(at)
    return one


def test_wires_that_overlap_are_in_different_lanes_and_others_share_one() -> None:
    lanes = assign_lanes(
        {("line", 0): wire(low=[0, 50]), ("line", 1): wire(low=[30, 90]), ("line", 2): wire(low=[60, 95])}
    )
    assert lanes["line", 0] != lanes["line", 1] != lanes["line", 2]
    assert max(lanes.values()) == 1


def test_a_wire_within_another_is_in_the_lane_on_the_side_where_both_leave() -> None:
    inner, outer = wire(low=[20, 30]), wire(low=[0, 50])
    assert assign_lanes({("line", 0): outer, ("line", 1): inner}) == {("line", 1): 0, ("line", 0): 1}
    inner, outer = wire(high=[20, 30]), wire(high=[0, 50])
    assert assign_lanes({("line", 0): outer, ("line", 1): inner}) == {("line", 0): 0, ("line", 1): 1}


def test_a_wire_that_leaves_up_is_above_one_that_leaves_down_at_the_same_place() -> None:
    up, down = wire(high=[20], reach=[60]), wire(low=[20], reach=[70])
    assert assign_lanes({("in", 0): up, ("out", 1): down}) == {("out", 1): 0, ("in", 0): 1}


def test_wires_that_leave_in_sequence_are_in_the_only_order_without_crossings() -> None:
    """In any other order, one of them leaves through the lane of a wire that is still there."""
    starts = [40.0, 0.0, 60.0, 20.0]
    wires = {("line", number): wire(low=[start], reach=[100 + start]) for number, start in enumerate(starts)}
    assert assign_lanes(wires) == {("line", 2): 0, ("line", 0): 1, ("line", 3): 2, ("line", 1): 3}
    wires = {("line", number): wire(high=[start], reach=[100 + start]) for number, start in enumerate(starts)}
    assert assign_lanes(wires) == {("line", 1): 0, ("line", 3): 1, ("line", 0): 2, ("line", 2): 3}


def test_a_single_wire_is_in_the_first_lane() -> None:
    assert assign_lanes({("out", 0): wire(low=[5.0])}) == {("out", 0): 0}
