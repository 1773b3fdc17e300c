"""Entries of a pipeline as short strings, for links: `SinkCode:until_fixed_point:infer`.

The name of the pass is followed by its non-default options in any order: how it converges, its mode if there is only
one, and `none` if dead code is not removed before it.
"""

from collections.abc import Sequence

from explorer.errors import check_name
from explorer.rewrite import CompilationMode, ConvergenceMode, DCERequiredMode, FunctionPassConfig, FunctionPassPipeline

MARK = ":"
WORDS = ("until_fixed_point", "one_pass", "infer", "train", "none", "before_pass")


def entry_text(config: FunctionPassConfig) -> str:
    """Return an entry as a string."""
    default = FunctionPassPipeline.of(config.pass_id)[0]
    parts = [config.pass_id]
    if config.convergence is not default.convergence:
        parts.append(config.convergence.value)
    if len(config.modes) == 1:
        parts.append(next(iter(config.modes)).value)
    if config.dce is not default.dce:
        parts.append(config.dce.value)
    return MARK.join(parts)


def entry_of(text: str, known: Sequence[str]) -> FunctionPassConfig:
    """Parse an entry. Raises: UnknownNameError for an unknown pass or option."""
    name, *words = text.split(MARK)
    check_name("pass", name, known)
    config = FunctionPassPipeline.of(name)[0]
    convergence, modes, dce = config.convergence, config.modes, config.dce
    for word in words:
        check_name("option of a pass", word, WORDS)
        if word in ("infer", "train"):
            modes = {CompilationMode(word)}
        elif word in ("none", "before_pass"):
            dce = DCERequiredMode(word)
        else:
            convergence = ConvergenceMode(word)
    return FunctionPassConfig(name, convergence, modes, dce)


def pipeline_of(texts: Sequence[str], known: Sequence[str]) -> FunctionPassPipeline:
    """Parse the entries of a pipeline. Raises: UnknownNameError."""
    return FunctionPassPipeline(tuple(entry_of(text, known) for text in texts))
