"""The structure of a table: a mixture or a hidden tree, whichever makes rows held out of the training rows likelier."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from explorer.compiler import TorchCompiler
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.loop import train
from explorer.learning.methods import TrainingOptions
from explorer.learning.mixtures import MAX_MIXTURE_COLUMNS, Found, MixtureSearch, MixtureSettings, build_mixture
from explorer.learning.structures import build_structure, evenly_spaced, mixture_rows
from explorer.learning.tables import TableData
from explorer.symbolic import Circuit

MAX_ROWS = 5_000
"""Maximum number of training rows that structures are compared on, evenly spaced ones."""
MIN_ROWS = 20
"""Of fewer rows, too few are held out to compare structures."""
DEFAULT_UNITS = 8


@dataclass(frozen=True, eq=False)
class Chosen:
    """A structure by name, its circuit, the options of `TrainingOptions` that fit it, and the comparison in words."""

    name: str
    circuit: Circuit
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


def choose_structure(data: TableData, num_units: int | None = None, seed: int = 0, name: str | None = None) -> Chosen:
    """Choose a mixture or a hidden Chow-Liu tree by the likelihood of rows held out of the training rows.

    `num_units` fixes the components of the mixture, and the units of the tree. With the name `mixture`, only mixtures
    are compared. Raises: LearningError, ShapeError if there is none of this name for the data.
    """
    if name is None and (len(data.training) < MIN_ROWS or data.num_variables > MAX_MIXTURE_COLUMNS):
        return Chosen("hclt", build_structure("hclt", data, num_units or DEFAULT_UNITS))
    rows = mixture_rows(data, MAX_ROWS)
    search = MixtureSearch(rows, seed)
    found = search.best(num_units)
    words = [f"{_words(found.settings, bool(rows.reals))} {found.score:.3f}"]
    if found.settings.units > 1 and rows.reals:
        words.append(f"one joint Gaussian {search.one().score:.3f}")
    if name is None:
        tree = _score_of_tree(data, search, num_units or DEFAULT_UNITS, seed)
        words.append(f"hclt {tree + found.score - found.first_score:.3f}")
        if tree > found.first_score:
            circuit = build_structure("hclt", data, num_units or DEFAULT_UNITS)
            return Chosen("hclt", circuit, note=_note("hclt", words))
    circuit = build_mixture(rows, search.first_step(found.settings))
    return Chosen("mixture", circuit, options_of(found), _note("mixture", words))


def options_of(found: Found) -> dict[str, Any]:
    """The options of `TrainingOptions` that continue the first step of a mixture as the search did."""
    own = asdict(found.settings)
    del own["units"]
    return {"method": "em", "epochs": max(own.pop("steps") - 1, 1), **own}


def _score_of_tree(data: TableData, search: MixtureSearch, num_units: int, seed: int) -> float:
    """The mean log-likelihood of the rows of the first part, under a hidden tree that is trained on the others."""
    rows, held_out = data.training[evenly_spaced(len(data.training), MAX_ROWS)], search.first_part()
    inner = TableData(data.name, rows[~held_out], rows[held_out], data.columns)
    circuit = TorchCompiler(seed=seed).compile(build_structure("hclt", inner, num_units))
    train(circuit, inner, TrainingOptions(seed=seed))
    return mean_log_likelihood(circuit, inner.held_out)


def _words(settings: MixtureSettings, has_reals: bool) -> str:
    if settings.units == 1:
        return "one joint Gaussian" if has_reals else "independent columns"
    return f"a mixture of {settings.units} {'joint Gaussians' if has_reals else 'components'}"


def _note(name: str, words: list[str]) -> str:
    return (
        f"Structure {name}, chosen by rows held out of the training rows (mean log-likelihood in "
        "nats, more is better): "
        f"{', '.join(words)}; --structure chooses another one."
    )
