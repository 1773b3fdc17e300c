"""The options of a compilation, declared once: compiler, traces, links, forms and command line read the fields."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Self, cast

from explorer.errors import DataTypeError, ValueRangeError, unknown_name

PRESETS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {"default": (100, "fewest-groups"), "handbook": (5, "longest-distance")}
)
"""For each preset its limit on rounds and its level scheduling; `explorer.optimize.preset_rules` has the rules."""

NAMES = tuple[str, ...]
MAX_SEED = 2**63 - 1
"""The largest seed that every random number generator accepts."""


def _option(default: Any, help: str, **for_command_line: Any) -> Any:
    """A field with its default, its help text, and further arguments of its command-line option."""
    return field(default=default, metadata={"help": help, **for_command_line})


@dataclass(frozen=True, slots=True)
class CompilerOptions:
    """Options of a compilation. Names of semirings, rules and so on are checked by the compiler, which knows them.

    `max_rounds` and `levels` come from the preset unless given: after construction they are never None.
    Raises: DataTypeError for a value of the wrong type; ValueRangeError for a negative `max_rounds`; UnknownNameError
    for an unknown preset.

    >>> CompilerOptions(preset="handbook").max_rounds
    5
    >>> CompilerOptions(fold=False, max_rounds=100).non_defaults()
    {'fold': False}
    """

    preset: str = _option("default", "default, or handbook: its seven rules, five rounds")
    semiring: str = _option("lse-sum", "lse-sum, sum-product or complex-lse-sum")
    optimize: bool = _option(True, "apply rewrite rules")
    fold: bool = _option(True, "batch equal layers")
    order_slices: bool = _option(False, "order the slices of folded layers so that fewer reads copy")
    strategy: str = _option("largest-match", "how conflicts are decided: largest-match, first-match, lowest-cost")
    disable: tuple[str, ...] = _option((), "switch a rule off; may be repeated", metavar="RULE")
    skip: tuple[str, ...] = _option(
        (), "switch off 'optimize/round 2', 'fold/level 3', 'SumCollapse@12'", metavar="STEP|RULE@NODE"
    )
    max_rounds: int = _option(None, "limit on rounds of optimization; the preset has its own")
    levels: str = _option(None, "longest-distance or fewest-groups; the preset has its own")
    seed: int = _option(0, "seed of the initial values", min=0, max=MAX_SEED)

    def __post_init__(self) -> None:
        if not isinstance(self.preset, str) or self.preset not in PRESETS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unknown_name("preset", self.preset, list(PRESETS))
        for name, default in zip(("max_rounds", "levels"), PRESETS[self.preset], strict=True):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for f in fields(self):
            object.__setattr__(self, f.name, _check(f, getattr(self, f.name)))
        if self.max_rounds < 0:
            raise ValueRangeError(f"max_rounds: expected at least 0, got {self.max_rounds}")

    def non_defaults(self) -> dict[str, Any]:
        """The options that differ from the defaults of the preset, and the preset if it is not the default one."""
        default = CompilerOptions(preset=self.preset)
        found = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != getattr(default, f.name)}
        return found if self.preset == CompilerOptions().preset else {"preset": self.preset, **found}

    def with_preset(self, preset: str) -> "CompilerOptions":
        """The options with another preset: all its rules and matches, rounds and levels. Raises: UnknownNameError."""
        steps = tuple(entry for entry in self.skip if "@" not in entry)
        return replace(self, preset=preset, disable=(), skip=steps, max_rounds=None, levels=None)

    def to_json(self) -> dict[str, Any]:
        """All options as data of JSON types."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value if isinstance(value, str | int) else list(value) for name, value in values.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The options of such data; unknown names are ignored.

        Lists, and switches that are off by default, may be missing, as in older files.

        Raises: ValueRangeError if another option is missing; as the constructor.
        """
        missing = [f.name for f in fields(cls) if f.name not in data and f.type != NAMES and f.default is not False]
        if missing:
            raise ValueRangeError(f"the options lack {', '.join(missing)}")
        return cls(**{f.name: data[f.name] for f in fields(cls) if f.name in data})


def _check(option: "Field[Any]", value: Any) -> Any:
    """The value in the declared type of the option: a list of names as a tuple. Raises: DataTypeError."""
    if option.type == NAMES:
        names = [value] if isinstance(value, str) else value
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in cast("list[object]", names)):
            return tuple(cast("list[str]", names))
        raise DataTypeError(f"{option.name}: expected strings, got {value!r}")
    wanted: Any = option.type
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        article = "an" if wanted is int else "a"
        raise DataTypeError(
            f"{option.name}: expected {article} {wanted.__name__}, got {value!r} of type {type(value).__name__}"
        )
    return value
