"""Baselines: how well independent variables describe held-out rows."""

import math

import torch

from explorer.compiler import TorchCompiler
from explorer.learning.data import DataSet, ImageData
from explorer.learning.evaluation import mean_log_likelihood
from explorer.learning.expectation_maximization import ExpectationMaximization
from explorer.learning.maximization import MaximizationOptions
from explorer.learning.structures import build_structure


def independent_pixels_bits(data: ImageData) -> float:
    """Return the bits per dimension of the held-out images under independent pixels, the baseline of every circuit.

    Each pixel has the frequencies of its grey levels in the training images, with one image added per level.
    """
    counts = torch.ones((data.num_variables, data.num_values), dtype=torch.float64)
    counts.scatter_add_(1, data.training.T, torch.ones_like(data.training.T, dtype=torch.float64))
    bits = -torch.log2(counts / counts.sum(1, keepdim=True))
    return float(bits.gather(1, data.held_out.T).mean())


def independent_bits(data: DataSet) -> float:
    """Return the bits per dimension of the held-out rows under independent columns, each as likely as possible.

    Frequencies are smoothed with one row. For real columns it is a negative log-density and may be below zero.
    """
    circuit = TorchCompiler().compile(build_structure("fully-factorized", data, 1)).double()
    em = ExpectationMaximization(circuit, MaximizationOptions(pseudo_count=1.0))
    em.maximize(em.expect(data.training)[0])
    return -mean_log_likelihood(circuit, data.held_out) / data.num_variables / math.log(2)
