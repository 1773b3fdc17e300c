"""Graphs from text: printed graphs can be parsed."""

import pytest

from explorer.tensor import FunctionGraph
from tests.tensor import planted
from tests.tensor.quantization.test_raising import pairs
from tests.tensor.text_form import graph_from, rewrites

pairs()  # registers the operators of PyTorch's quantization
TEXTS = {name: FunctionGraph(xy := planted.inputs(), [plant(*xy)]).text() for name, plant in planted.PLANTS.items()}
PLAIN = [name for name, text in TEXTS.items() if "= constant " not in text and "quant" not in text and " q" not in text]


@pytest.mark.parametrize("name", PLAIN)
def test_graph_texts_round_trip(name):
    assert graph_from(TEXTS[name]).text() == TEXTS[name]


def test_most_graph_texts_round_trip():
    assert len(PLAIN) > 80


def test_a_table_has_rows_of_before_and_after():
    assert rewrites("""
        neg(neg(x))  -> x
        x
            -> *1 -> cat(x,
            *1)
    """) == [("neg(neg(x))", "x"), ("x", "*1 -> cat(x, *1)")]
