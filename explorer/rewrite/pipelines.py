"""Pipelines: the passes to run, in order, and how each is run; also as YAML, a list of maps with Glow's keys.

    - passName: SinkCode
      convergenceMode: until_fixed_point
      enabledCompilationModes: [infer, train]
      dceMode: before_pass

A missing key has its default.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from explorer.errors import CircuitError, FileFormatError, ValueRangeError, check_name
from explorer.files import replace_file
from explorer.passes import Listed

if TYPE_CHECKING:
    import yaml


class ConvergenceMode(Enum):
    """Whether a pass is run once, or repeatedly until it changes nothing."""

    ONE_PASS = "one_pass"
    UNTIL_FIXED_POINT = "until_fixed_point"


class DCERequiredMode(Enum):
    """Whether dead code is eliminated before a pass, so that users are counted correctly."""

    BEFORE_PASS = "before_pass"
    NONE = "none"


class CompilationMode(Enum):
    """Whether the graph is compiled for inference or for training."""

    INFER = "infer"
    TRAIN = "train"


EMPTY_PASS = "EmptyPass"
DCE_PASS = "DCE"


@dataclass(frozen=True, slots=True)
class FunctionPassConfig:
    """One entry of a pipeline: which pass, how often, in which modes, and whether after dead code elimination."""

    pass_id: str = EMPTY_PASS
    convergence: ConvergenceMode = ConvergenceMode.ONE_PASS
    modes: Collection[CompilationMode] = frozenset(CompilationMode)
    dce: DCERequiredMode = DCERequiredMode.BEFORE_PASS

    def __post_init__(self) -> None:
        object.__setattr__(self, "modes", frozenset(self.modes))
        if self.pass_id == DCE_PASS and self.dce is not DCERequiredMode.NONE:
            raise ValueRangeError("the pass DCE cannot require DCE before it; use dce=DCERequiredMode.NONE")

    def __str__(self) -> str:
        modes = ", ".join(mode.value for mode in CompilationMode if mode in self.modes) or "no mode"
        return f"{self.pass_id}: {self.convergence.value}, {modes}, dce {self.dce.value}"


@dataclass(frozen=True, slots=True)
class FunctionPassPipeline:
    """Passes in execution order. It is immutable: every method returns a new pipeline."""

    configs: tuple[FunctionPassConfig, ...] = ()

    @classmethod
    def of(cls, *entries: "FunctionPassConfig | str") -> "FunctionPassPipeline":
        """A pipeline of configurations; a name means the pass with all defaults."""
        return cls(tuple(_config(entry) for entry in entries))

    @classmethod
    def of_listed(
        cls, entries: Iterable[Listed], dce: DCERequiredMode = DCERequiredMode.BEFORE_PASS
    ) -> "FunctionPassPipeline":
        """The pipeline of entries of the page of all passes; the pass DCE never requires itself."""
        repeat, once = ConvergenceMode.UNTIL_FIXED_POINT, ConvergenceMode.ONE_PASS
        return cls(
            tuple(
                FunctionPassConfig(
                    entry.name,
                    repeat if entry.repeats else once,
                    frozenset(CompilationMode) if entry.trains else frozenset((CompilationMode.INFER,)),
                    DCERequiredMode.NONE if entry.name == DCE_PASS else dce,
                )
                for entry in entries
            )
        )

    def insert(self, position: int, entry: "FunctionPassConfig | str") -> "FunctionPassPipeline":
        """Add a pass at a position. Raises: ValueRangeError."""
        if not 0 <= position <= len(self.configs):
            raise ValueRangeError(f"position: expected 0 to {len(self.configs)}, got {position}")
        return FunctionPassPipeline((*self.configs[:position], _config(entry), *self.configs[position:]))

    @property
    def pass_ids(self) -> tuple[str, ...]:
        """The names of the passes, in order, without repetitions."""
        return tuple(dict.fromkeys(config.pass_id for config in self.configs))

    def text(self) -> str:
        """One numbered line per entry."""
        return "\n".join(f"{i}. {config}" for i, config in enumerate(self.configs))

    def __add__(self, other: "FunctionPassPipeline") -> "FunctionPassPipeline":
        return FunctionPassPipeline((*self.configs, *other.configs))

    def __iter__(self) -> Iterator[FunctionPassConfig]:
        return iter(self.configs)

    def __len__(self) -> int:
        return len(self.configs)

    def __getitem__(self, position: int) -> FunctionPassConfig:
        return self.configs[position]


def _config(entry: "FunctionPassConfig | str") -> FunctionPassConfig:
    if isinstance(entry, FunctionPassConfig):
        return entry
    dce = DCERequiredMode.NONE if entry == DCE_PASS else DCERequiredMode.BEFORE_PASS
    return FunctionPassConfig(entry, dce=dce)


KEYS = ("passName", "convergenceMode", "enabledCompilationModes", "dceMode")
PIPELINE = f"a list of maps with the keys {', '.join(KEYS)}"
MAX_YAML_BYTES = 64 * 2**10
"""Maximum size of a pipeline: about 600 passes."""
MAX_DEPTH = 8
"""Maximum nesting of a file; a pipeline has half of it."""
E = TypeVar("E", ConvergenceMode, DCERequiredMode, CompilationMode)


def pipeline_to_yaml(pipeline: FunctionPassPipeline) -> str:
    """A pipeline as YAML, all keys of all passes."""
    import yaml

    entries = [
        {
            "passName": config.pass_id,
            "convergenceMode": config.convergence.value,
            "enabledCompilationModes": [mode.value for mode in CompilationMode if mode in config.modes],
            "dceMode": config.dce.value,
        }
        for config in pipeline
    ]
    return yaml.safe_dump(entries, sort_keys=False, default_flow_style=None)


def pipeline_from_yaml(text: str, known: Collection[str], where: str = "the pipeline") -> FunctionPassPipeline:
    """The pipeline described by YAML; `known` are the available passes, `where` names the source in messages.

    Raises: UnknownNameError for an unknown pass; FileFormatError for any other problem. Both include the line.
    """
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_YAML_BYTES:
        raise FileFormatError(
            f"{where} has {size / 2**10:.0f} kB, but at most {MAX_YAML_BYTES // 2**10} kB are read; expected {PIPELINE}"
        )
    import yaml

    try:
        _check_nesting(text, where)
        root: Any = cast(Any, yaml).compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise FileFormatError(f"{where} is not valid YAML: {' '.join(str(error).split())}") from error
    if root is None:
        return FunctionPassPipeline()
    if not isinstance(root, yaml.SequenceNode):
        raise FileFormatError(f"{where}: expected {PIPELINE}")
    return FunctionPassPipeline(tuple(_entry(node, known, where) for node in root.value))


def write_pipeline(pipeline: FunctionPassPipeline, path: "str | Path") -> None:
    """Write a pipeline as a YAML file. Raises: FileFormatError if it cannot be written."""
    replace_file(path, pipeline_to_yaml(pipeline).encode())


def read_pipeline(path: "str | Path", known: Collection[str]) -> FunctionPassPipeline:
    """Read a pipeline from a YAML file.

    Raises: as `pipeline_from_yaml`; FileFormatError if the file cannot be read or is empty.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"cannot read {path}: {error}") from error
    found = pipeline_from_yaml(text, known, str(path))
    if not len(found):
        raise FileFormatError(f"{path} lists no passes; a pipeline that does nothing is `- passName: {EMPTY_PASS}`")
    return found


def _check_nesting(text: str, where: str) -> None:
    """Refuse deep nesting, which exhausts the stack, and aliases, which multiply what a file contains.

    Raises: FileFormatError for either of the two; YAMLError for invalid YAML.
    """
    import yaml

    depth = 0
    events: Any = cast(Any, yaml).parse(text, yaml.SafeLoader)
    for event in events:
        location = f"{where}, line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            raise FileFormatError(f"{location}: the alias *{event.anchor} is not read; repeat what it refers to")
        if isinstance(event, yaml.NodeEvent) and depth == MAX_DEPTH:
            raise FileFormatError(f"{location}: nested deeper than {MAX_DEPTH} levels; expected {PIPELINE}")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)


def _entry(node: "yaml.Node", known: Collection[str], where: str) -> FunctionPassConfig:
    import yaml

    location = _location_of(node, where)
    if not isinstance(node, yaml.MappingNode):
        raise FileFormatError(f"{location}: expected a map with the keys {', '.join(KEYS)}")
    given: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = _text(key, "key", where)
        if name not in KEYS:
            raise FileFormatError(f"{_location_of(key, where)}: unknown key {name!r}; known are: {', '.join(KEYS)}")
        if name in given:
            raise FileFormatError(f"{_location_of(key, where)}: duplicate key {name}")
        given[name] = value
    if "passName" not in given:
        raise FileFormatError(f"{location}: missing key passName")
    default = FunctionPassConfig()
    convergence, modes, dce = default.convergence, default.modes, default.dce
    pass_id = _text(given["passName"], "passName", where)
    check_name(f"pass ({_location_of(given['passName'], where)})", pass_id, known)
    if pass_id == DCE_PASS:
        dce = DCERequiredMode.NONE
    if "convergenceMode" in given:
        convergence = _value(ConvergenceMode, given["convergenceMode"], "convergenceMode", where)
    if "dceMode" in given:
        dce = _value(DCERequiredMode, given["dceMode"], "dceMode", where)
    if "enabledCompilationModes" in given:
        listed = given["enabledCompilationModes"]
        if not isinstance(listed, yaml.SequenceNode):
            raise FileFormatError(
                f"{_location_of(listed, where)}: enabledCompilationModes: expected a list, such as [infer, train]"
            )
        modes = [_value(CompilationMode, item, "enabledCompilationModes", where) for item in listed.value]
    try:
        return FunctionPassConfig(pass_id, convergence, modes, dce)
    except CircuitError as error:
        raise FileFormatError(f"{location}: {error}") from error


def _text(node: "yaml.Node", what: str, where: str) -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        raise FileFormatError(f"{_location_of(node, where)}: expected a string for {what}")
    return str(node.value)


def _value(kind: type[E], node: "yaml.Node", key: str, where: str) -> E:
    text = _text(node, key, where)
    for member in kind:
        if member.value == text:
            return member
    known = ", ".join(member.value for member in kind)
    raise FileFormatError(f"{_location_of(node, where)}: unknown {key} {text!r}; known are: {known}")


def _location_of(node: "yaml.Node", where: str) -> str:
    return f"{where}, line {node.start_mark.line + 1}"
