"""The rules of a compiler, and those of each preset."""

from dataclasses import dataclass, field, replace

from explorer.errors import unknown_name
from explorer.optimize.cost import must_pay
from explorer.optimize.layers import DEFAULT_LAYER_FUSE_OPT_RULES, DEFAULT_LAYER_SHATTER_OPT_RULES, EXTRA_FUSE_RULES
from explorer.optimize.parameters import DEFAULT_PARAMETER_OPT_RULES
from explorer.optimize.ranges import product_stays_in_range
from explorer.options import PRESETS
from explorer.rewrite import LayerOptRegistry, ParameterOptRegistry, Rule

COST_GUARDED = ("SumCollapse", "DenseKronecker", "TensorDotKronecker")


@dataclass(frozen=True)
class RuleSet:
    """The three registries of a compiler: parameter rules, shattering rules, fusing rules."""

    parameter: ParameterOptRegistry = field(default_factory=ParameterOptRegistry)
    shatter: LayerOptRegistry = field(default_factory=LayerOptRegistry)
    fuse: LayerOptRegistry = field(default_factory=LayerOptRegistry)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all rules, in the order in which a round applies them."""
        return tuple(rule.name for registry in (self.parameter, self.shatter, self.fuse) for rule in registry)

    def copy(self) -> "RuleSet":
        """A copy that can be extended without changing this one."""
        return self.without()

    def without(self, *names: str) -> "RuleSet":
        """A copy without the named rules. Raises: UnknownNameError."""
        for name in names:
            if name not in self.names:
                raise unknown_name("rule", name, list(self.names))
        return RuleSet(self.parameter.without(names), self.shatter.without(names), self.fuse.without(names))


def preset_rules(preset: str) -> RuleSet:
    """The rules of a preset, as a copy.

    `handbook`: the seven rules of the handbook, applied wherever they match. `default`: these where they pay and
    keep numbers in range, and further rules.
    Raises: UnknownNameError.
    """
    handbook = RuleSet(DEFAULT_PARAMETER_OPT_RULES, DEFAULT_LAYER_SHATTER_OPT_RULES, DEFAULT_LAYER_FUSE_OPT_RULES)
    if preset == "handbook":
        return handbook.copy()
    if preset == "default":
        shatter = LayerOptRegistry({rule.name: _guarded(rule) for rule in handbook.shatter})
        fuse = LayerOptRegistry({rule.name: _guarded(rule) for rule in (*handbook.fuse, *EXTRA_FUSE_RULES)})
        return RuleSet(handbook.copy().parameter, shatter, fuse)
    raise unknown_name("preset", preset, list(PRESETS))


def _guarded(rule: Rule) -> Rule:
    """The rule as the default preset has it: it must keep numbers in range, and pay."""
    if rule.name == "SumCollapse":
        rule = replace(rule, guard=product_stays_in_range)
    return replace(rule, guard=must_pay(rule)) if rule.name in COST_GUARDED else rule
