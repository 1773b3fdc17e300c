"""Reports of older versions of torch, in their form."""

from types import SimpleNamespace

from torch import fx

from explorer.adapters.inductor.heard import WHOLE, HeardCompilation, HeardRound, HeardScheduling
from explorer.adapters.inductor.listening import Hearing
from explorer.adapters.inductor.steering import Steering


class WhyNoFuse:
    """A refusal as torch 2.6 logs it: with nodes, and not with their names."""

    def __init__(self, one: str, other: str, reason: str, *args: object) -> None:
        self.node1, self.node2 = (SimpleNamespace(get_name=lambda name=name: name) for name in (one, other))
        self.reason, self.args = reason, args


def test_a_refusal_with_nodes_has_their_names() -> None:
    heard = HeardCompilation(fx.Graph(), {}, {}, {})
    scheduling = HeardScheduling((), (), {}, (), (), 0.0, rounds=[HeardRound()])
    heard.whole.scheduling = scheduling
    hearing = Hearing(Steering(), heard, WHOLE, fx.Graph())
    hearing.logged(WhyNoFuse("op0", "op1", "%d nodes between", 2), ())
    assert scheduling.rounds[0].decisions == [("refused", "op0", "op1", "2 nodes between")]
    assert not heard.missed
