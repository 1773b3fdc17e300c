"""Copy as Python at the tensor level: code that compiles, exports and rewrites a circuit, and keeps the trace."""

from explorer.app.circuits import is_checkpoint
from explorer.app.session.exported_levels import pipeline_or_default
from explorer.app.session.options import TENSOR_LEVEL, TensorOptions
from explorer.app.user_functions import is_function
from explorer.options import CompilerOptions
from explorer.recording import lowered_level
from explorer.rewrite import pipeline_to_yaml
from explorer.templates import gallery


def tensor_python_of(
    name: str, compiling: CompilerOptions, options: TensorOptions, step: int, *, is_live: bool, is_trace: bool = False
) -> str:
    """Return code that reproduces the trace of a circuit's or module's tensor level in `trace`.

    `name` is a circuit of the gallery, a circuit file, or FILE.py:FUNCTION; `is_trace`: the function returns a module.
    A trace that was read from a file is read again.
    """
    end = ["print(trace)", "", f"step = trace.step({step})", "print(step.path, step.summary)"]
    if not is_live:
        return "\n".join(["import explorer", "", f"trace = explorer.Trace.load({name!r})", *end]) + "\n"
    if is_trace and is_function(name):
        begin = ["from explorer.app.circuits import load_circuit_or_trace", ""]
        return "\n".join([*begin, f"trace = load_circuit_or_trace({name!r}, {options.level!r})", *end]) + "\n"
    level = lowered_level(options.level)
    lines = ["import explorer", "from explorer.bench import random_inputs"]
    if options.passes:
        lines += [
            "from explorer.rewrite import pipeline_from_yaml",
            f"from {level.passes_module} import passes",
        ]
    load = f"explorer.gallery.load_named({name!r})" if name in gallery.names() else f"explorer.Circuit.load({name!r})"
    if is_checkpoint(name):
        load = f"explorer.load({name!r}).symbolic"
    if is_function(name):
        lines.append("from explorer.app.circuits import load_circuit")
        load = f"load_circuit({name!r})"
    lines += ["", f"circuit = {load}"]
    arguments = ", ".join(f"{key}={value!r}" for key, value in compiling.non_defaults().items())
    lines += [
        f"compiled = explorer.TorchCompiler({arguments}).compile(circuit)",
        f"x = random_inputs(compiled, {level.rows})",
    ]
    more = "" if options.level == TENSOR_LEVEL else f", level={options.level!r}"
    if options.passes:
        yaml = pipeline_to_yaml(pipeline_or_default(options))
        lines += ["", f'PIPELINE = """\n{yaml}"""', "pipeline = pipeline_from_yaml(PIPELINE, passes.names)"]
        more += ", pipeline=pipeline"
    if options.compile_for != "infer" and "mode" in level.options:
        more += f", mode={options.compile_for!r}"
    if options.operators != "functional" and "operators" in level.options:
        more += f", operators={options.operators!r}"
    if options.one_by_one and "one_by_one" in level.options:
        more += ", one_by_one=True"
    return "\n".join([*lines, f"trace = explorer.record(compiled, (x,){more})", *end]) + "\n"
