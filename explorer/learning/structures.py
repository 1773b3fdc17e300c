"""The structure of a circuit for data: a template, or a tree learned from the rows; and a baseline without one."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.compiler import TorchCompiler
from explorer.errors import LearningError, ShapeError, check_name, check_type
from explorer.learning.data import DataSet, ImageData
from explorer.learning.expectation_maximization import ExpectationMaximization
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.maximization import MaximizationOptions
from explorer.learning.mixtures import MAX_MIXTURE_COLUMNS, MixtureSearch, Rows, build_mixture
from explorer.learning.tables import TableData
from explorer.symbolic import Circuit
from explorer.templates import (
    IMAGE_REGION_GRAPHS,
    BinomialInput,
    CategoricalInput,
    InputSpec,
    RegionGraph,
    build_circuit,
    chow_liu_parents,
    chow_liu_tree,
    fully_factorized,
    hidden_tree,
    linear_tree,
    random_binary_tree,
)

LEARNED = ("hclt", "chow-liu")
"""The structures that are learned from the rows."""
MAX_LEARNED_COLUMNS = 4_000
"""Maximum number of columns to learn a structure from, since each is compared with all others.

Of 1,000 rows with three categories each, 4,000 columns take 51 s of a core and 0.8 GB; time grows with their square.
"""
TABLE_STRUCTURES: Mapping[str, Callable[[int], RegionGraph]] = {
    "random-binary-tree": random_binary_tree,
    "linear-tree": linear_tree,
}
STRUCTURES = tuple(dict.fromkeys(("mixture", *LEARNED, *TABLE_STRUCTURES, "fully-factorized", *IMAGE_REGION_GRAPHS)))


def build_structure(name: str, data: DataSet, num_units: int) -> Circuit:
    """Build a circuit over the variables of the data, with `num_units` units per region.

    - mixture: a mixture of joint normal densities of all numbers, times categories, after its first step;
    - hclt: the hidden Chow-Liu tree of the training rows (`hidden_tree`);
    - chow-liu: sums over the regions of their Chow-Liu tree, without latent variables;
    - random-binary-tree, linear-tree: of the columns; fully-factorized: independent columns;
    - quad-tree-2, quad-tree-4, quad-graph, poon-domingos: of the pixels of images.

    Raises: UnknownNameError for an unknown structure; LearningError for one of images if the data has none; ShapeError
    if the data is too wide for it.
    """
    check_name("structure", name, STRUCTURES)
    check_type("the data", data, DataSet, "read it with load_source")
    check_width(name, data.name, data.num_variables)
    specs = input_specs(data)
    if name == "fully-factorized":
        return fully_factorized(len(specs), specs)
    if name == "mixture":
        rows = mixture_rows(data)
        search = MixtureSearch(rows, 0)
        return build_mixture(rows, search.first_step(search.best(num_units).settings))
    if name == "hclt":
        parents = chow_liu_parents(_numbers(data), dependence(specs))
        return hidden_tree(parents, specs, num_latent_states=num_units)
    return build_circuit(
        _region_graph(name, data, specs),
        inputs=dict(enumerate(specs)),
        sum_product_layer="cp",
        num_input_units=num_units,
        num_sum_units=num_units,
    )


def mixture_rows(data: DataSet, max_rows: int | None = None) -> Rows:
    """The training rows of a table for a search, at most this many, evenly spaced.

    The most frequent value, or the mean of real ones, replaces a missing one. Raises: LearningError for images.
    """
    if not isinstance(data, TableData):
        raise LearningError(
            f"the structure mixture is one of tables, and {data.name} is not one; use another structure"
        )
    sizes: list[int | None] = []
    for spec in input_specs(data):
        if isinstance(spec, CategoricalInput):
            sizes.append(spec.num_categories)
        else:
            sizes.append(spec.total_count + 1 if isinstance(spec, BinomialInput) else None)
    rows = torch.from_numpy(_numbers(data))
    return Rows.of(rows if max_rows is None else rows[evenly_spaced(len(rows), max_rows)], sizes)


def evenly_spaced(num_rows: int, most: int) -> Tensor:
    """The numbers of at most `most` of the rows."""
    return torch.arange(num_rows) if num_rows <= most else torch.arange(most) * num_rows // most


def check_width(name: str, where: str, num_columns: int) -> None:
    """Raises: ShapeError if data of this many columns is too wide for a structure."""
    if name == "mixture" and num_columns > MAX_MIXTURE_COLUMNS:
        raise ShapeError(
            f"{where} has {num_columns:,} columns, and the structure mixture has a covariance of every two of them, of "
            f"at most {MAX_MIXTURE_COLUMNS:,}; use another one (--structure hclt), or leave columns out of the file"
        )
    if name in LEARNED and num_columns > MAX_LEARNED_COLUMNS:
        raise ShapeError(
            f"{where} has {num_columns:,} columns, and the structure {name} compares every two of them, of at most "
            f"{MAX_LEARNED_COLUMNS:,}; use one that is not learned from the rows (--structure random-binary-tree, or "
            "fully-factorized for independent columns), or leave columns out of the file"
        )


def input_specs(data: DataSet) -> Sequence[InputSpec]:
    """The input layers over each variable of the data. Raises: LearningError for rows of an unknown kind."""
    if isinstance(data, TableData):
        return [column.input_spec() for column in data.columns]
    if isinstance(data, ImageData):
        return [CategoricalInput(data.num_values)] * data.num_variables
    raise LearningError(f"{data.name} has no columns, from which the input layers of a circuit follow")


def _region_graph(name: str, data: DataSet, specs: Sequence[InputSpec]) -> RegionGraph:
    if name in LEARNED:
        return chow_liu_tree(_numbers(data), dependence(specs))
    if name in TABLE_STRUCTURES:
        return TABLE_STRUCTURES[name](data.num_variables)
    if not isinstance(data, ImageData):
        raise LearningError(
            f"the structure {name} divides images, and {data.name} is a table; "
            f"use {', '.join(('mixture', *LEARNED, *TABLE_STRUCTURES, 'fully-factorized'))}"
        )
    return IMAGE_REGION_GRAPHS[name](data.shape)


def dependence(specs: Sequence[InputSpec]) -> str | list[str]:
    """The kinds of columns for `chow_liu_tree`: categorical, or Gaussian, which integers in a wide range are too."""
    kinds = ["categorical" if isinstance(spec, CategoricalInput) else "gaussian" for spec in specs]
    return kinds[0] if len(set(kinds)) == 1 else kinds


def _numbers(data: DataSet) -> NDArray[np.float64]:
    """The training rows, in which the most frequent value, or the mean of real ones, replaces a missing one."""
    rows = data.training.double().numpy()
    if not np.isnan(rows).any():
        return rows
    filled = rows.copy()
    for column, spec in zip(filled.T, input_specs(data), strict=True):
        gone = np.isnan(column)
        values, counts = np.unique(column[~gone], return_counts=True)
        if len(values):
            column[gone] = values[counts.argmax()] if spec.is_discrete else column[~gone].mean()
        else:
            column[gone] = 0.0
    return filled


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
    """Mean bits of integers (N,) in 0 .. num_values-1; a missing one needs none."""
    seen, asked = (column[~column.isnan()].long() for column in (training, held_out))
    if not len(asked):
        return 0.0
    codes = torch.cat([seen, asked]).unique(return_inverse=True)[1]  # the range of a declared column may be huge
    counts = torch.bincount(codes[: len(seen)], minlength=int(codes.max()) + 1)[codes[len(seen) :]]
    bits = math.log2(len(seen) + num_values) - torch.log2(counts.double() + 1)
    return float(bits.sum()) / len(held_out)
