"""The compiler and its registries of compile rules; `record` compiles and keeps the trace."""

from explorer.compiler.compile_rules import (
    CompilerInitializerRegistry as CompilerInitializerRegistry,
    CompilerLayerRegistry as CompilerLayerRegistry,
    CompilerParameterRegistry as CompilerParameterRegistry,
    initializer_rules as initializer_rules,
    layer_rule as layer_rule,
    layer_rules as layer_rules,
    operator_rule as operator_rule,
    parameter_rules as parameter_rules,
)
from explorer.compiler.compiler import CompiledCircuitsMap as CompiledCircuitsMap, TorchCompiler as TorchCompiler
from explorer.compiler.operator_values import define_operator as define_operator
from explorer.compiler.record_circuit import (
    compile_with_origins as compile_with_origins,
    options_of as options_of,
    record as record,
    record_with as record_with,
    rerun as rerun,
    trace_of_circuit as trace_of_circuit,
)
