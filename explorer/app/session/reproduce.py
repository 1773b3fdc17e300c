"""Copy as Python: code that reproduces a trace, and finds or applies the pattern of a form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.app.circuits import is_checkpoint
from explorer.app.session.pattern_form import (
    AT_LEAST,
    AT_MOST,
    EQUAL,
    OTHER,
    LayerForm,
    NodeForm,
    ParameterForm,
    PatternForm,
    build_pattern,
    condition_value,
    sub_pattern_name,
)
from explorer.app.user_functions import is_function
from explorer.errors import check_name
from explorer.optimize import replacements_of
from explorer.options import CompilerOptions
from explorer.templates import gallery


def python_of(
    circuit: "str | Mapping[str, Any]",
    options: CompilerOptions | None = None,
    *,
    step: "int | str | None" = None,
    form: PatternForm | None = None,
    replacement: str | None = None,
    after: bool = False,
    applied: Sequence[tuple[PatternForm, str]] = (),
    is_trace: bool = False,
) -> str:
    """Return code that compiles a circuit with these options into `trace`; default options are omitted.

    `circuit` is a name of the gallery, a circuit or trace file, or a circuit as data. With a `step`, its summary is
    printed; with a `form`, its pattern is matched on the layers before that step (or `after` it); with a
    `replacement`, it is applied and the new trace is in `applied`. The argument `applied` contains the patterns that
    the trace was recorded with, each with its replacement. `is_trace`: the file holds a trace.
    Raises: FormError; UnknownNameError for a replacement that does not fit.
    """
    chosen = (options or CompilerOptions()).non_defaults()
    lines = ["import explorer", ""]
    if isinstance(circuit, str) and circuit in gallery.names():
        lines.append(f"circuit = explorer.gallery.load_named({circuit!r})")
    elif isinstance(circuit, str) and is_function(circuit) and is_trace:
        lines = ["import explorer", "from explorer.app.circuits import load_circuit_or_trace"]
        lines += ["from explorer.app.session.opening import circuit_of", ""]
        lines.append(f"circuit = circuit_of(load_circuit_or_trace({circuit!r}))")
    elif isinstance(circuit, str) and is_trace:
        lines = ["import explorer", "from explorer.symbolic import circuit_from_json", ""]
        lines.append(f"circuit = circuit_from_json(explorer.Trace.load({circuit!r}).circuit_json)")
    elif isinstance(circuit, str) and is_checkpoint(circuit):
        lines.append(f"circuit = explorer.load({circuit!r}).symbolic  # with the values that it has learned")
    elif isinstance(circuit, str) and is_function(circuit):
        lines = ["import explorer", "from explorer.app.circuits import load_circuit", ""]
        lines.append(f"circuit = load_circuit({circuit!r})")
    elif isinstance(circuit, str):
        lines.append(f"circuit = explorer.Circuit.load({circuit!r})")
    else:
        lines = ["import json", "", "import explorer", "from explorer.symbolic import circuit_from_json", ""]
        lines.append(f"circuit = circuit_from_json(json.loads({json.dumps(circuit, separators=(',', ':'))!r}))")
    arguments = "".join(f", {name}={value!r}" for name, value in chosen.items())
    if applied:
        lines += ["", *_rule_lines(applied, chosen)]
    else:
        lines.append(f"trace = explorer.record(circuit{arguments})")
    lines.append("print(trace)")
    if step is not None:
        lines += ["", f"step = trace.step({step!r})", "print(step.path, step.summary)"]
    code = "\n".join(lines) + "\n"
    if form is None:
        return code
    code += "\n" + as_python(form)
    code += _search(0 if step is None else step, after)
    if replacement is None:
        return code
    compiler = "compiler.fresh_copy()" if applied else f"explorer.TorchCompiler({_arguments(chosen)})"
    return code + _apply(form, compiler, replacement)


def as_python(form: PatternForm) -> str:
    """Return code that builds the pattern of a form as `PATTERN`. Raises: FormError for an invalid form."""
    build_pattern(form)
    layers = sorted({entry.type for entry in form.entries})
    subs = [sub for entry in form.entries for _, sub in entry.parameters]
    nodes = sorted({node.type for sub in subs for node in sub.entries})
    helpers = _helpers(form)
    lines = [f"from explorer.backend import {', '.join(layers)}"]
    if nodes:
        lines.append(f"from explorer.backend.parameters import {', '.join(nodes)}")
    kinds = ["LayerOptPattern", *(["ParameterOptPattern"] if subs else [])]
    lines += [f"from explorer.rewrite import {', '.join([*kinds, *helpers])}", ""]
    lines += ["PATTERN = LayerOptPattern(", f"    {form.name!r},", f"    {_tuple([e.type for e in form.entries])},"]
    if form.is_output:
        lines.append("    is_output=True,")
    if any(entry.conditions for entry in form.entries):
        lines.append(f"    config_patterns={_tuple([_conditions(entry) for entry in form.entries])},")
    if subs:
        lines.append(f"    sub_patterns={_tuple([_sub_patterns(entry) for entry in form.entries])},")
    return "\n".join([*lines, ")"]) + "\n"


# ---------------------------------------------------------------------- parts of a pattern


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _helpers(form: PatternForm) -> list[str]:
    """Return the names of the condition functions that a form uses."""
    entries: list[LayerForm | NodeForm] = list(form.entries)
    entries += [node for entry in form.entries for _, sub in entry.parameters for node in sub.entries]
    code = " ".join(map(_conditions, entries))
    return [name for name in ("all_of", "at_least", "at_most", "other_than") if f"{name}(" in code]


def _conditions(entry: "LayerForm | NodeForm") -> str:
    """Return code for the conditions of an entry, a dictionary."""
    names: Mapping[str, str] = {EQUAL: "", OTHER: "other_than", AT_LEAST: "at_least", AT_MOST: "at_most"}
    found: dict[str, list[str]] = {}
    for condition in entry.conditions:
        value, name = repr(condition_value(entry.type, condition)), names[condition.operator]
        found.setdefault(condition.field, []).append(f"{name}({value})" if name else value)
    joined = {field: one[0] if len(one) == 1 else f"all_of({', '.join(one)})" for field, one in found.items()}
    return "{" + ", ".join(f"{field!r}: {wanted}" for field, wanted in joined.items()) + "}"


def _sub_patterns(entry: LayerForm) -> str:
    return "{" + ", ".join(f"{name!r}: {_sub_pattern(sub)}" for name, sub in entry.parameters) + "}"


def _sub_pattern(form: ParameterForm) -> str:
    arguments = [repr(sub_pattern_name(form)), _tuple([node.type for node in form.entries])]
    if form.is_output:
        arguments.append("is_output=True")
    if any(node.conditions for node in form.entries):
        arguments.append(f"config_patterns={_tuple([_conditions(node) for node in form.entries])}")
    return f"ParameterOptPattern({', '.join(arguments)})"


# ---------------------------------------------------------------------- matching and applying


def _search(step: "int | str", after: bool) -> str:
    """Return code that matches the pattern on the layers before a step, or after it."""
    index = f"trace.step({step!r}).index"
    graph = index if after else f"max({index} - 1, 0)"
    return f"""
from explorer.rewrite import match_pattern_graph

search = match_pattern_graph(trace.steps[{graph}].snapshot.graph, [PATTERN])
print(len(search.matches), "matches,", len(search.refusals), "near misses")
for match in search.matches[:10]:
    print(match)
for refusal in search.refusals[:10]:
    print(refusal.root, refusal.reason)
"""


def _rule_lines(applied: Sequence[tuple[PatternForm, str]], options: Mapping[str, Any]) -> list[str]:
    """Return code that compiles with the rules of some patterns, the last one before all others."""
    lines = [
        "from explorer.optimize import put_rule_first",
        "",
        f"compiler = explorer.TorchCompiler({_arguments(options)})",
    ]
    for form, replacement in applied:
        lines += [
            "",
            as_python(form).rstrip(),
            f"put_rule_first(compiler.rules, PATTERN, {_check_replacement(form, replacement)!r})",
        ]
    return [*lines, "", "trace = explorer.record(circuit, compiler=compiler)"]


def _apply(form: PatternForm, compiler: str, replacement: str) -> str:
    """Return code that compiles again with the rule of the pattern before all others."""
    return f"""
from explorer.optimize import put_rule_first

compiler = {compiler}
put_rule_first(compiler.rules, PATTERN, {_check_replacement(form, replacement)!r})
applied = explorer.record(circuit, compiler=compiler)
print(applied)
"""


def _check_replacement(form: PatternForm, replacement: str) -> str:
    known = replacements_of(build_pattern(form))
    check_name("replacement", replacement, known)
    return replacement


def _arguments(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
