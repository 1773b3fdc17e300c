"""Traces to compare with at a click: the options of the open trace with one difference, and its words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from explorer.app.session.opening import Opened
from explorer.app.session.pipeline_draft import entry_text, pipeline_or_default
from explorer.app.session.view_state import MODES_OF_USE, STRATEGIES, TensorOptions
from explorer.options import PRESETS, CompilerOptions
from explorer.views import list_text

SAME = "the same options"
WORDS = {
    "optimize": "optimization",
    "fold": "folding",
    "order_slices": "ordered slices",
    "max_rounds": "at most this many rounds:",
    "compile_for": "compiled to",
    "one_by_one": "a step for every rewrite",
}
"""The words of options that are not their names."""


@dataclass(frozen=True, slots=True)
class Variant:
    """All options with which a trace is recorded: of the compiler, and of the level below it."""

    options: CompilerOptions
    tensor: TensorOptions

    @classmethod
    def of(cls, opened: Opened) -> "Variant":
        """The options of an opened trace."""
        return cls(opened.options, opened.tensor)


def variants(opened: Opened) -> dict[str, Variant]:
    """Variants of the options that differ in one thing each; none for the trace of a module in a file."""
    level = opened.trace.level
    if level.has_circuit:
        rules = tuple(rule.name for rule in opened.trace.rules)
        found = {**_compiled_variants(opened.options), **_rule_variants(opened.options, rules)}
        return {name: Variant(options, opened.tensor) for name, options in found.items()}
    if not opened.is_live:
        return {}
    compiled = _compiled_variants(opened.options)
    return {
        **{name: Variant(opened.options, tensor) for name, tensor in _pass_variants(opened.tensor).items()},
        **{name: Variant(options, opened.tensor) for name, options in compiled.items()},
    }


def likely_variant(opened: Opened, found: Mapping[str, Variant]) -> str:
    """The variant most likely to differ: without the most-applied rule or pass, otherwise the first one."""
    stats = sorted(opened.trace.rule_stats(), key=lambda one: one.applied, reverse=True)
    names = (f"without {what} {one.rule}" for one in stats if one.applied for what in ("rule", "pass"))
    return next((name for name in names if name in found), next(iter(found), SAME))


def side_names(one: Opened, other: Opened) -> tuple[str, str]:
    """Names of two compared traces that say how they differ: `with SumCollapse` and `without SumCollapse`."""
    pairs = [(one.name, other.name)] if one.name != other.name else []
    mine, theirs = one.options, other.options
    pairs += _with_and_without(mine.disable, theirs.disable, ("without", "with"))
    pairs += _option_pairs(mine, theirs, ("disable",))
    if not one.trace.level.has_circuit and not other.trace.level.has_circuit:
        passes = (_pass_names(one), _pass_names(other))
        pairs += _with_and_without(*passes, ("with", "without"))
        if not pairs and passes[0] != passes[1]:
            pairs.append((", ".join(passes[0]), ", ".join(passes[1])))
        pairs += _option_pairs(one.tensor, other.tensor, ("passes",))
    if not pairs:
        return "left", "right, with the same options"
    return ", ".join(here for here, _ in pairs), ", ".join(there for _, there in pairs)


# ---------------------------------------------------------------------- variants


def _compiled_variants(options: CompilerOptions) -> dict[str, CompilerOptions]:
    """Variants of the compiled circuit, which the levels below begin with."""
    found = {f"preset {name}": options.with_preset(name) for name in PRESETS if name != options.preset}
    switches = ["optimize", "fold", *(["order_slices"] if options.fold else [])]
    for name in switches:
        is_on = getattr(options, name)
        found[_option_text(name, not is_on)] = replace(options, **{name: not is_on})
    return found


def _rule_variants(options: CompilerOptions, rules: Sequence[str]) -> dict[str, CompilerOptions]:
    found = {f"without rule {rule}": replace(options, disable=(*options.disable, rule)) for rule in rules}
    others = (strategy for strategy in STRATEGIES if strategy != options.strategy)
    return found | {f"strategy {strategy}": replace(options, strategy=strategy) for strategy in others}


def _pass_variants(tensor: TensorOptions) -> dict[str, TensorOptions]:
    pipeline = tuple(pipeline_or_default(tensor))
    found: dict[str, TensorOptions] = {}
    for name in dict.fromkeys(config.pass_id for config in pipeline):
        rest = tuple(entry_text(config) for config in pipeline if config.pass_id != name)
        if rest:  # no passes stand for the default pipeline
            found[f"without pass {name}"] = replace(tensor, passes=rest)
    others = (mode for mode in MODES_OF_USE if mode != tensor.compile_for)
    return found | {_option_text("compile_for", mode): replace(tensor, compile_for=mode) for mode in others}


# ---------------------------------------------------------------------- words


def _pass_names(opened: Opened) -> tuple[str, ...]:
    """The passes of a trace, each once."""
    if not opened.is_live:
        return tuple(dict.fromkeys(opened.trace.options["pipeline"]))
    return tuple(dict.fromkeys(config.pass_id for config in pipeline_or_default(opened.tensor)))


def _with_and_without(mine: Sequence[str], theirs: Sequence[str], words: tuple[str, str]) -> list[tuple[str, str]]:
    """The names that one side has and the other does not; `words` say that it has one, and that it does not."""
    named = (name for name in dict.fromkeys((*mine, *theirs)) if (name in mine) != (name in theirs))
    return [(f"{words[name not in mine]} {name}", f"{words[name not in theirs]} {name}") for name in named]


def _option_pairs(
    mine: CompilerOptions | TensorOptions, theirs: CompilerOptions | TensorOptions, without: Sequence[str]
) -> list[tuple[str, str]]:
    """The words of the options in which both sides differ."""
    names = [field.name for field in fields(mine) if field.name not in without]
    values = ((name, getattr(mine, name), getattr(theirs, name)) for name in names)
    return [(_option_text(name, one), _option_text(name, other)) for name, one, other in values if one != other]


def _option_text(name: str, value: object) -> str:
    """An option in words: `with folding`, `preset handbook`, `compiled to train`."""
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {WORDS.get(name, name)}"
    text = list_text(value) if isinstance(value, tuple) else str(value)
    return f"{WORDS.get(name, name)} {text or 'none'}"
