"""Keywords in another order than in the export: the numbers of the module, or a refusal; dicts: a refusal."""

from collections import OrderedDict, namedtuple

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import OperatorError

X, Y, Z = torch.tensor([1.0]), torch.tensor([10.0]), torch.tensor([100.0])
LEVELS = ("tensor", "program")
Pair = namedtuple("Pair", "first second")


class ByName(nn.Module):
    def forward(self, x, *, scale, shift):
        return x * scale - shift


class Collected(nn.Module):
    def forward(self, *, scale, **others):
        return torch.stack([value * (i + 1) for i, value in enumerate(others.values())]) * scale


class Nested(nn.Module):
    def forward(self, d):
        return d["p"] - 2 * d["q"]["r"] + 3 * d["q"]["s"][0]


@pytest.mark.parametrize("level", LEVELS)
def test_keywords_are_bound_by_name(level):
    compiled = explorer.record(ByName(), (X,), kwargs={"scale": Y, "shift": Z}, level=level).compiled
    assert compiled(X, shift=Z, scale=Y).equal(ByName()(X, scale=Y, shift=Z))


@pytest.mark.parametrize("level", LEVELS)
def test_collected_keywords_in_another_order_are_refused(level):
    compiled = explorer.record(Collected(), kwargs={"p": X, "q": Y, "scale": Z}, level=level).compiled
    for kwargs in ({"p": X, "scale": Z, "q": Y}, {"scale": Z, "p": X, "q": Y}):
        assert compiled(**kwargs).equal(Collected()(**kwargs))
    with pytest.raises(OperatorError, match=r"expected the keywords p, q in this order, .*, got q, p: the module coll"):
        compiled(q=Y, p=X, scale=Z)
    with pytest.raises(OperatorError, match=r"expected .* the keywords p, q, scale .*, got .* the keywords p, scale "):
        compiled(p=X, scale=Z)


class InOrder(nn.Module):
    def forward(self, d):
        first, second = d.values()
        return first - 2 * second


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", [dict, OrderedDict])
@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: [d, Z], lambda d: Pair(d, Z), lambda d: {"d": d}])
def test_keys_of_dicts_in_another_order_are_refused_since_the_module_may_use_it(level, kind, wrap):
    class Wrapped(nn.Module):
        def forward(self, given):
            return InOrder()(given if wrap(0) == 0 else given["d"] if isinstance(given, dict) else given[0])

    compiled = explorer.record(Wrapped(), (wrap(kind(p=X, q=Y)),), level=level).compiled
    assert compiled(wrap(kind(p=Y, q=X))).equal(Y - 2 * X)
    with pytest.raises(
        OperatorError, match=r"\('p', 'q'\) as argument 0.*, got .* \('q', 'p'\): the module may use the"
    ):
        compiled(wrap(kind(q=Y, p=X)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"p": X}, r"expected a dict with 2 keys \('p', 'q'\) as argument 0, .*, got a dict with 1 key \('p'\)"),
        ({"z": X, "p": X}, r"expected a dict with 2 keys \('p', 'q'\) as argument 0, .*, got a dict .* \('z', 'p'\)"),
        (
            {"p": X, "q": {"r": Y, "s": [Z, Z]}},
            r"a list with 1 part as argument 0\['q'\]\['s'\], .* a list with 2 parts",
        ),
        ({"p": X, "q": Y}, r"expected a dict with 2 keys \('r', 's'\) as argument 0\['q'\], .*, got one value"),
        ([X, Y], r"expected a dict with 2 keys \('p', 'q'\) as argument 0, .*, got a list with 2 parts"),
    ],
)
def test_another_structure_is_refused_with_the_first_difference(given, message):
    compiled = explorer.record(Nested(), ({"p": X, "q": {"r": Y, "s": [Z]}},)).compiled
    with pytest.raises(OperatorError, match=message):
        compiled(given)
