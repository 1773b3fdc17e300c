"""Learning the parameters of a compiled circuit: by gradient descent and by expectation-maximization."""

from explorer.backend.parameters import Domain as Domain, Link as Link, Role as Role
from explorer.learning.data import DataSet as DataSet, ImageData as ImageData
from explorer.learning.expectation_maximization import ExpectationMaximization as ExpectationMaximization
from explorer.learning.loop import (
    Epoch as Epoch,
    TrainingResult as TrainingResult,
    best_epoch as best_epoch,
    train as train,
)
from explorer.learning.maximization import ExpectedCounts as ExpectedCounts, MaximizationOptions as MaximizationOptions
from explorer.learning.methods import TrainingOptions as TrainingOptions
from explorer.learning.sources import load_source as load_source
from explorer.learning.structures import STRUCTURES as STRUCTURES, build_structure as build_structure
