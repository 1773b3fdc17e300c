"""The theme in Python: the same table as in the views, and the same heat colours."""

import json
import shutil
import subprocess

import pytest

from explorer_widgets.theme import CATEGORIES, CHANGES, DARK, FILE, HULLS, LIGHT, TONES, is_dark, value_colour
from tests.needed import is_missing
from tests.waiting import PATIENCE

SOURCE = FILE.parents[1] / "js" / "shared" / "theme.js"
VALUES = [number / 40 for number in range(41)]


def test_light_and_dark_have_the_same_roles() -> None:
    assert list(LIGHT) == list(DARK)
    assert {f"category-{number}" for number in range(CATEGORIES)} <= set(LIGHT)


def test_every_change_hull_and_tone_has_its_roles() -> None:
    for name in CHANGES:
        assert {name} | ({f"{name}Fill"} if CHANGES[name].sign else set()) <= set(LIGHT)
    assert {role for hull in HULLS.values() for role in (hull.line, hull.fill)} <= set(LIGHT)
    assert set(TONES) <= set(LIGHT)


def test_signs_differ() -> None:
    for table in (CHANGES, HULLS, TONES):
        signs = [entry.sign for entry in table.values()]
        assert len(set(signs)) == len(signs)


@pytest.mark.parametrize(("value", "colour"), [(-1.0, "#ffe945"), (0.0, "#ffe945"), (1.0, "#00204c"), (2.0, "#00204c")])
def test_the_largest_value_is_the_one_that_differs_most_from_a_light_ground(value: float, colour: str) -> None:
    assert value_colour(value) == colour


def test_the_colours_of_values_are_those_of_the_views() -> None:
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    script = (
        f"import {{ luminance, valueColour }} from {json.dumps(SOURCE.as_uri())};"
        "const colours = (theme, at) => valueColour(at, { theme });"
        f"console.log(JSON.stringify({VALUES}.map((at) => [colours('light', at), colours('dark', at),"
        "luminance(colours('light', at)) <= 0.18])));"
    )
    done = subprocess.run(
        [node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    pairs = [(value_colour(at), value_colour(at, dark=True)) for at in VALUES]
    assert json.loads(done.stdout) == [[light, dark, is_dark(light)] for light, dark in pairs]
