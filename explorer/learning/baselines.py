"""Baselines: how well independent variables describe held-out rows."""

import math

import torch
from torch import Tensor

from explorer.compiler import TorchCompiler
from explorer.learning.data import DataSet, ImageData
from explorer.learning.evaluation import mean_log_likelihood
from explorer.learning.expectation_maximization import ExpectationMaximization
from explorer.learning.maximization import MaximizationOptions
from explorer.learning.structures import input_specs
from explorer.templates import BinomialInput, fully_factorized


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
    Integers in a range have their frequencies too, with one row added per value: a binomial fits few of them, and
    would be a baseline that every circuit beats.
    """
    specs = input_specs(data)
    sizes = {at: spec.total_count + 1 for at, spec in enumerate(specs) if isinstance(spec, BinomialInput)}
    others = [at for at in range(len(specs)) if at not in sizes]
    bits = sum(_integer_bits(data.training[:, at], data.held_out[:, at], size) for at, size in sizes.items())
    if others:
        symbolic = fully_factorized(len(others), [specs[at] for at in others])
        circuit = TorchCompiler().compile(symbolic).double()
        em = ExpectationMaximization(circuit, MaximizationOptions(pseudo_count=1.0))
        em.maximize(em.expect(data.training[:, others])[0])
        bits -= mean_log_likelihood(circuit, data.held_out[:, others]) / math.log(2)
    return bits / data.num_variables


def _integer_bits(training: Tensor, held_out: Tensor, num_values: int) -> float:
    """Mean bits of integers (N,) in 0 .. num_values-1, of which a missing one needs none."""
    seen, asked = (column[~column.isnan()].long() for column in (training, held_out))
    if not len(asked):
        return 0.0
    codes = torch.cat([seen, asked]).unique(return_inverse=True)[1]  # the range of a declared column may be huge
    counts = torch.bincount(codes[: len(seen)], minlength=int(codes.max()) + 1)[codes[len(seen) :]]
    bits = math.log2(len(seen) + num_values) - torch.log2(counts.double() + 1)
    return float(bits.sum()) / len(held_out)
