"""The symbolic level: circuits as data, without tensors: layers, parameter graphs, initializers, structure, files."""

from explorer.symbolic.arrangement_operators import *  # noqa: F403
from explorer.symbolic.builder import (
    ACTIVATIONS as ACTIVATIONS,
    CircuitBuilder as CircuitBuilder,
    Parameterization as Parameterization,
    with_initializers as with_initializers,
    with_values as with_values,
)
from explorer.symbolic.checks import (
    Scope as Scope,
    make_scope as make_scope,
    shared_variables as shared_variables,
    union as union,
)
from explorer.symbolic.circuit import Circuit as Circuit, ColumnValues as ColumnValues
from explorer.symbolic.circuit_files import (
    CIRCUIT_FORMAT as CIRCUIT_FORMAT,
    circuit_from_json as circuit_from_json,
    circuit_to_json as circuit_to_json,
)
from explorer.symbolic.cirkit import (
    CirkitReader as CirkitReader,
    circuits_from_cirkit as circuits_from_cirkit,
    from_cirkit as from_cirkit,
    is_cirkit as is_cirkit,
    to_cirkit as to_cirkit,
)
from explorer.symbolic.derivation import (
    Derivation as Derivation,
    LeafLabel as LeafLabel,
    OperatorStep as OperatorStep,
    OperatorSteps as OperatorSteps,
    circuits_behind as circuits_behind,
    derivation_text as derivation_text,
    describe_operator as describe_operator,
    formula_of as formula_of,
    num_parameters as num_parameters,
    operator_steps as operator_steps,
    operator_words as operator_words,
)
from explorer.symbolic.distributions import *  # noqa: F403
from explorer.symbolic.exclusion import UnitKind as UnitKind
from explorer.symbolic.initializers import *  # noqa: F403
from explorer.symbolic.layers import *  # noqa: F403
from explorer.symbolic.learned_values import (
    CODES as CODES,
    LearnedEpoch as LearnedEpoch,
    PackedValues as PackedValues,
    pack_values as pack_values,
)
from explorer.symbolic.parameter_operators import *  # noqa: F403
from explorer.symbolic.parameters import (
    DataType as DataType,
    EntrywiseParameterOp as EntrywiseParameterOp,
    ParameterNode as ParameterNode,
    ParameterOp as ParameterOp,
    Shape as Shape,
    TensorParameter as TensorParameter,
    constant as constant,
)
from explorer.symbolic.structure import (
    Finding as Finding,
    reads_of_units as reads_of_units,
    zeros_of_input as zeros_of_input,
)
