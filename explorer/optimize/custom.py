"""Rules for user-defined patterns: apply what a known rule does, or replace several layers by one.

`put_rule_first(compiler.rules, PATTERN, "SumCollapse")` adds such a rule to a compiler.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from explorer.backend import TorchInnerLayer, TorchLayer, chain_of
from explorer.errors import DuplicateNameError, check_name
from explorer.optimize.default_rules import (
    DEFAULT_LAYER_FUSE_OPT_RULES,
    DEFAULT_LAYER_SHATTER_OPT_RULES,
    RuleCompiler,
    RuleSet,
)
from explorer.rewrite import GraphOptMatch, LayerOptPattern, ParameterOptPattern, Rule, all_of

ONE_LAYER = "one layer"
"""The replacement that computes the matched layers one after another inside one layer."""


def replacements_of(pattern: LayerOptPattern) -> tuple[str, ...]:
    """The replacements that fit a pattern: names of known rules on the same layer types, and `one layer`."""
    names = [rule.name for rule in _known_rules() if _merge(pattern, rule.pattern) is not None]
    if len(pattern.entries) > 1 and all(issubclass(entry, TorchInnerLayer) for entry in pattern.entries):
        names.append(ONE_LAYER)
    return tuple(names)


def rule_replacing(pattern: LayerOptPattern, replacement: str) -> Rule:
    """The rule that replaces the matches of a pattern as `replacement` says.

    A known rule adds its own conditions, under which it is correct; its cost is not checked.
    Raises: UnknownNameError for a replacement that does not fit.
    """
    check_name("replacement", replacement, replacements_of(pattern))
    if replacement == ONE_LAYER:
        return Rule(pattern, join_layers, source=pattern.source)
    known = next(rule for rule in _known_rules() if rule.name == replacement)
    merged = cast("LayerOptPattern", _merge(pattern, known.pattern))
    return replace(known, pattern=merged)


def put_rule_first(rules: RuleSet, pattern: LayerOptPattern, replacement: str) -> Rule:
    """Add the rule in front of all rules of its pass: the pass of the known rule, or the fusing one.

    Raises: UnknownNameError for a replacement that does not fit; DuplicateNameError if the name is taken.
    """
    rule = rule_replacing(pattern, replacement)
    if rule.name in rules.names:
        raise DuplicateNameError(f"a rule named {rule.name!r} is registered already; give the pattern another name")
    shatters = replacement in DEFAULT_LAYER_SHATTER_OPT_RULES.rules
    (rules.shatter if shatters else rules.fuse).put_first(rule)
    return rule


def join_layers(compiler: RuleCompiler, match: GraphOptMatch) -> tuple[TorchLayer, ...]:
    """Consecutive layers are one layer that computes them one after another."""
    return (chain_of(*reversed(match.entries)),)


def _known_rules() -> tuple[Rule, ...]:
    """The layer rules of the presets, without the guards of the default preset."""
    return (*DEFAULT_LAYER_SHATTER_OPT_RULES, *DEFAULT_LAYER_FUSE_OPT_RULES)


def _merge(pattern: LayerOptPattern, known: Any) -> LayerOptPattern | None:
    """The pattern with the conditions and sub-patterns of a known one added; None if they are incompatible.

    A parameter has one sub-pattern; if both patterns have one, the two must be equal.
    """
    if pattern.entries != known.entries:
        return None
    configs: list[Mapping[str, Any]] = []
    subs: list[Mapping[str, ParameterOptPattern]] = []
    for entry in range(len(pattern.entries)):
        own, added = pattern.config_of_entry(entry), known.config_of_entry(entry)
        both = {name: all_of(own[name], added[name]) for name in own if name in added and own[name] != added[name]}
        configs.append({**added, **own, **both})
        own_subs, added_subs = pattern.sub_patterns_of_entry(entry), known.sub_patterns_of_entry(entry)
        if any(name in added_subs and not _equal(sub, added_subs[name]) for name, sub in own_subs.items()):
            return None
        subs.append({**own_subs, **added_subs})
    is_output = pattern.is_output or known.is_output
    return replace(pattern, is_output=is_output, config_patterns=tuple(configs), sub_patterns=tuple(subs))


def _equal(one: ParameterOptPattern, other: ParameterOptPattern) -> bool:
    """Whether two sub-patterns are known to match the same parameters; those with conditions never are."""
    plain = not any(one.config_patterns) and not any(other.config_patterns)
    return plain and (one.entries, one.is_output) == (other.entries, other.is_output)
