"""Graphs from text: printed graphs can be parsed."""

from explorer.tensor import FunctionGraph
from tests.tensor import planted
from tests.tensor.quantization.test_raising import pairs
from tests.tensor.text_form import graph_from, rewrites


def test_most_graph_texts_round_trip():
    """All planted expressions without constants and quantization, which a text cannot hold completely."""
    pairs()  # registers the operators of PyTorch's quantization
    parsed = 0
    for name, plant in planted.PLANTS.items():
        text = FunctionGraph(xy := planted.inputs(), [plant(*xy)]).text()
        if not any(part in text for part in ("= constant ", "quant", " q")):
            parsed += 1
            assert graph_from(text).text() == text, name
    assert parsed > 80


def test_a_table_has_rows_of_before_and_after():
    assert rewrites("""
        neg(neg(x))  -> x
        x
            -> *1 -> cat(x,
            *1)
    """) == [("neg(neg(x))", "x"), ("x", "*1 -> cat(x, *1)")]
