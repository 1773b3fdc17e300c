"""The compiler and its registries of compile rules; `record` compiles and keeps the trace."""

from explorer.compiler.compiled_trace import trace_of_circuit
from explorer.compiler.compiler import CompiledCircuitsMap, TorchCompiler, strategy_named
from explorer.compiler.record import options_of, record, record_with, rerun
from explorer.compiler.rules import (
    CompilerInitializerRegistry,
    CompilerLayerRegistry,
    CompilerParameterRegistry,
    initializer_rules,
    layer_rule,
    layer_rules,
    operator_rule,
    parameter_rules,
)

__all__ = [
    "CompiledCircuitsMap",
    "CompilerInitializerRegistry",
    "CompilerLayerRegistry",
    "CompilerParameterRegistry",
    "TorchCompiler",
    "initializer_rules",
    "layer_rule",
    "layer_rules",
    "operator_rule",
    "options_of",
    "parameter_rules",
    "record",
    "record_with",
    "rerun",
    "strategy_named",
    "trace_of_circuit",
]
