"""Questions that a compiled circuit answers exactly: likelihoods, samples, most probable assignments, expectations."""

from explorer.backend.layers import LeafFunction as LeafFunction, Polynomial as Polynomial, power as power
from explorer.backend.queries.assignments import (
    MostProbable as MostProbable,
    most_probable as most_probable,
    sample as sample,
)
from explorer.backend.queries.expectations import expectation as expectation, moments as moments
from explorer.backend.queries.information import divergence as divergence, entropy as entropy
from explorer.backend.queries.likelihood import (
    conditional as conditional,
    log_likelihood as log_likelihood,
    marginal as marginal,
    partition_function as partition_function,
)
