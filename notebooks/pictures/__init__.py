"""The static pictures of the lessons: small functions that return a figure as SVG."""

from pictures.charts import dots as dots, line_chart as line_chart, sweep_chart as sweep_chart, time_line as time_line
from pictures.memory import memory_strips as memory_strips
from pictures.models import hidden_markov_model as hidden_markov_model
from pictures.tensors import (
    exponentials as exponentials,
    kronecker_product as kronecker_product,
    tucker_core as tucker_core,
    two_weights as two_weights,
)
