"""Entries of a pipeline as short texts, for links: `SinkCode:until_fixed_point:infer`.

Behind the name of the pass stand, in any order, what differs from the default: how it converges, its mode if it is one
only, and `none` if no dead code is to be removed before it.
"""

from collections.abc import Sequence

from explorer.errors import unknown_name
from explorer.rewrite import (
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
)

MARK = ":"
WORDS = ("until_fixed_point", "one_pass", "infer", "train", "none", "before_pass")


def entry_text(config: FunctionPassConfig) -> str:
    """An entry as a text."""
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
    """The entry that a text describes. Raises: UnknownNameError for a pass or a word that there is not."""
    name, *words = text.split(MARK)
    if name not in known:
        raise unknown_name("pass", name, list(known))
    config = FunctionPassPipeline.of(name)[0]
    convergence, modes, dce = config.convergence, config.modes, config.dce
    for word in words:
        if word not in WORDS:
            raise unknown_name("word behind a pass", word, WORDS)
        if word in ("infer", "train"):
            modes = {CompilationMode(word)}
        elif word in ("none", "before_pass"):
            dce = DCERequiredMode(word)
        else:
            convergence = ConvergenceMode(word)
    return FunctionPassConfig(name, convergence, modes, dce)


def pipeline_of(texts: Sequence[str], known: Sequence[str]) -> FunctionPassPipeline:
    """The pipeline of such texts. Raises: UnknownNameError."""
    return FunctionPassPipeline(tuple(entry_of(text, known) for text in texts))
