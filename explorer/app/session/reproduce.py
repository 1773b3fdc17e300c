"""Take a trace along: Copy as Python reproduces it or a pattern; a recording is for a page without Python."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.app.circuits import is_checkpoint
from explorer.app.program_files import is_program
from explorer.app.session.close_up import add_code, add_parameters, values_for_page
from explorer.app.session.findings import Findings, with_runs
from explorer.app.session.living import living_view
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
from explorer.app.session.pipeline_draft import pipeline_or_default
from explorer.app.session.view_state import TensorOptions
from explorer.app.user_functions import is_function
from explorer.bench import recorded_of
from explorer.errors import check_name
from explorer.optimize import replacements_of
from explorer.options import CompilerOptions
from explorer.recording import lowered_level
from explorer.rewrite import pipeline_to_yaml
from explorer.templates import gallery
from explorer.trace import TENSOR, Trace
from explorer.views import TraceIndex, add_what_ifs, full_width, recording, steps
from explorer_widgets.page import RECORDED_MODES
from explorer_widgets.schema import RecordingView


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
    imports, load = _loading(circuit, is_trace)
    lines = [*imports, "", f"circuit = {load}"]
    arguments = "".join(f", {name}={value!r}" for name, value in chosen.items())
    if applied:
        lines += ["", *_rule_lines(applied, chosen), "", "trace = explorer.record(circuit, compiler=compiler)"]
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


def _loading(circuit: "str | Mapping[str, Any]", is_trace: bool = False) -> tuple[Sequence[str], str]:
    """Return the imports and the expression of code that loads a circuit; see `python_of`."""
    from_json = "from explorer.symbolic import circuit_from_json"
    from_function = "from explorer.app.circuits import load_circuit"
    if not isinstance(circuit, str):
        data = json.dumps(circuit, separators=(",", ":"))
        return ("import json", "", "import explorer", from_json), f"circuit_from_json(json.loads({data!r}))"
    name = repr(circuit)
    more, load = (), f"explorer.Circuit.load({name})"
    if circuit in gallery.names():
        load = f"explorer.gallery.load_{'trained' if gallery.is_trained(circuit) else 'named'}({name})"
    elif is_function(circuit) and is_trace:
        more = (f"{from_function}_or_trace", "from explorer.app.session.opening import circuit_of")
        load = f"circuit_of(load_circuit_or_trace({name}))"
    elif is_trace:
        more, load = (from_json,), f"circuit_from_json(explorer.Trace.load({name}).circuit_json)"
    elif is_checkpoint(circuit):
        load = f"explorer.load({name}).symbolic  # with the values that it has learned"
    elif is_function(circuit):
        more, load = (from_function,), f"load_circuit({name})"
    return ("import explorer", *more), load


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
    """Return code that creates a compiler with the rules of some patterns, the last one before all others."""
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
    return lines


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


# ---------------------------------------------------------------------- the tensor level


def tensor_python_of(
    name: str,
    compiling: CompilerOptions,
    options: TensorOptions,
    step: int,
    *,
    is_live: bool,
    is_trace: bool = False,
    applied: Sequence[tuple[PatternForm, str]] = (),
) -> str:
    """Return code that reproduces the trace of a circuit's or module's tensor level in `trace`.

    `name` is a circuit of the gallery, a circuit file, a file with a program, or FILE.py:FUNCTION; `is_trace`: the
    function returns a module.
    `applied` contains the patterns that were applied before, each with its replacement. A trace that was read
    from a file is read again.
    """
    end = ["print(trace)", "", f"step = trace.step({step})", "print(step.path, step.summary)"]
    if is_trace and (is_function(name) or is_program(name)):
        begin = ["from explorer.app.circuits import load_circuit_or_trace", ""]
        return "\n".join([*begin, f"trace = load_circuit_or_trace({name!r}, {options.level!r})", *end]) + "\n"
    if not is_live:
        return "\n".join(["import explorer", "", f"trace = explorer.Trace.load({name!r})", *end]) + "\n"
    level = lowered_level(options.level)
    imports, load = _loading(name)
    lines = [*imports, "from explorer.bench import random_inputs"]
    if options.passes:
        lines += [
            "from explorer.rewrite import pipeline_from_yaml",
            f"from {level.passes_module} import passes",
        ]
    lines += ["", f"circuit = {load}"]
    compiler = f"explorer.TorchCompiler({_arguments(compiling.non_defaults())})"
    if applied:
        lines += ["", *_rule_lines(applied, compiling.non_defaults()), ""]
        compiler = "compiler"
    lines += [
        f"compiled = {compiler}.compile(circuit)",
        f"x = random_inputs(compiled, {level.rows})",
    ]
    more = "" if options.level == TENSOR else f", level={options.level!r}"
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


# ---------------------------------------------------------------------- a page without Python


MAX_PLATE_NUMBERS, MAX_NUMBERS = 5_000, 40_000
"""Maximum number of values of parameters that a page holds for a plate, and in total."""
NOT_IN_PAGE = "The values are not in this page; the dashboard and a notebook show them."
OTHERS_NOT_IN_PAGE = "Only the first are in this page; the dashboard and a notebook show the others."

EMPTY_PAGE_BYTES = 240_000
"""Size of a page without steps: the code that draws."""
SECONDS_PER_MB, MEMORY_PER_BYTE = 1.5, 30
"""Measured with pages of 5 to 177 MB."""
LARGE_PAGE_BYTES = 20_000_000
"""From this size on, a page needs half a minute and half a gigabyte."""


def page_bytes(trace: Trace) -> int:
    """Estimate the size of the page of a trace from the nodes of steps that changed something, by a factor of two."""
    nodes = sum(step.snapshot.size[0] for step in trace.steps if step.changed or not step.index)
    return EMPTY_PAGE_BYTES + len(RECORDED_MODES) * nodes * trace.level.page_bytes_per_node


def note_on_size(trace: Trace) -> str:
    """Say how large the page of a trace will be, and what is smaller; empty if it is not large."""
    size = page_bytes(trace)
    if size < LARGE_PAGE_BYTES:
        return ""
    megabytes = size / 1e6
    return (
        f"the page will have about {_rough(megabytes)} MB, and needs about {_duration(megabytes * SECONDS_PER_MB)} "
        f"and {_rough(size * MEMORY_PER_BYTE / 1e9)} GB of memory: it holds {len(trace.steps):,} steps of up "
        f"to {max(step.snapshot.size[0] for step in trace.steps):,} nodes; `svg --step N` writes one step, `show` "
        "prints all, and `serve` draws those that are looked at"
    )


def _duration(seconds: float) -> str:
    """A time in seconds, or in minutes if it is long.

    >>> _duration(38.0), _duration(100.0)
    ('40 seconds', '2 minutes')
    """
    return f"{_rough(seconds)} seconds" if seconds < 90 else f"{_rough(seconds / 60)} minutes"


def _rough(number: float) -> str:
    """A number with one digit that counts.

    >>> _rough(0.26), _rough(34.8), _rough(162.0)
    ('0.3', '30', '200')
    """
    return f"{float(f'{number:.1g}'):,g}"


def page_recording(index: TraceIndex, title: str, known: Findings | None = None, **look: Any) -> RecordingView:
    """Record all steps of a trace, as they are before and after, and what changed.

    `known` is what was found by running it; without it, what was recorded of it on other machines. `look` contains
    arguments of `recording`: the colouring, the grouping, the near misses, and the steps that have pictures.
    """
    known = known or with_runs(index, Findings(), recorded_of(index.trace), recorded=True)
    told = steps(index, known.checks, known.times, known.layer_times, known.missing, known.sources)
    full = full_width(index, known.times, known.layer_times)
    layers = known.layer_times
    recorded = recording(index, title, modes=RECORDED_MODES, known=told, layer_times=layers, full_ms=full, **look)
    recorded["values"] = values_for_page(index)
    living = living_view(index)
    if not living["missing"]:
        recorded["living"] = living
    left = MAX_NUMBERS
    for key, view in recorded["pictures"].items():
        add_what_ifs(index, view)
        step, mode = int(key.split("/")[0]), key.split("/")[1]
        for node in view["nodes"]:
            name, before = f"{step}/{node['id']}", mode == "before"
            if before and f"{name}/before" in recorded["details"]:
                name += "/before"
            found = add_code(index, step, node["ids"], recorded["details"][name], before=before)
            recorded["details"][name] = found
            if "closeup" not in found or found["closeup"]["parameters"]["sheets"]:
                continue
            filled = add_parameters(index, step, node["ids"], 0, found, before=before)
            shown = filled["closeup"]["parameters"] if "closeup" in filled else None
            if shown is None or not shown["sheets"]:
                continue
            count = sum(len(sheet["values"]) for sheet in (*shown["sheets"], *shown["overview"]))
            if count > min(left, MAX_PLATE_NUMBERS):
                found["closeup"]["parameters"]["missing"] = NOT_IN_PAGE
                continue
            left -= count
            shown["missing"] = OTHERS_NOT_IN_PAGE if shown["count"] > 1 and not shown["overview"] else ""
            recorded["details"][name] = filled
    return recorded
