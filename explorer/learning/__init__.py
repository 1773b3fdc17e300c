"""Learning the parameters of a compiled circuit: by gradient descent and by expectation-maximization."""

from explorer.learning.counts import ExpectedCounts as ExpectedCounts
from explorer.learning.expectation_maximization import (
    ExpectationMaximization as ExpectationMaximization,
    MaximizationOptions as MaximizationOptions,
)
from explorer.learning.roles import Role as Role, declare_roles as declare_roles
