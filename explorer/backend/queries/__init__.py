"""Questions that a compiled circuit answers exactly: likelihoods, marginals, samples, most probable assignments."""

from explorer.backend.queries.likelihood import (
    conditional as conditional,
    log_likelihood as log_likelihood,
    marginal as marginal,
    partition_function as partition_function,
)
from explorer.backend.queries.most_probable import MostProbable as MostProbable, most_probable as most_probable
from explorer.backend.queries.sampling import sample as sample
