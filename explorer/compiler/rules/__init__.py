"""The default compile rules and their registries."""

from explorer.compiler.rules.initializers import (
    CompilerInitializerRegistry as CompilerInitializerRegistry,
    initializer_rules as initializer_rules,
)
from explorer.compiler.rules.layers import (
    CompilerLayerRegistry as CompilerLayerRegistry,
    layer_rule as layer_rule,
    layer_rules as layer_rules,
)
from explorer.compiler.rules.parameters import (
    CompilerParameterRegistry as CompilerParameterRegistry,
    operator_rule as operator_rule,
    parameter_rules as parameter_rules,
)
