"""The violations that axe-core, an accessibility checker from npm, finds on a page."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.needed import is_missing

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SOURCE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")
RUN = """([part, rules]) => axe.run(part || document, {
  resultTypes: ['violations'],
  preload: false, // loading all style sheets first, which only an experimental rule reads, takes twice the time
  ...(rules.length ? { runOnly: rules } : {})
}).then((found) => found.violations)"""


def settled(check: Callable[[], list[str]], page: "Page") -> list[str]:
    """Return the findings of a check when nothing fades or loads any more: the first empty result, or the last one."""
    found = check()
    for _ in range(30):
        if not found:
            break
        page.wait_for_timeout(100)
        found = check()
    return found


def serious_violations(page: "Page", selector: str | None = None) -> list[str]:
    """The serious and critical violations on a page, or in the part of it that a selector names: rule and elements.

    Open shadow roots are included, but a selector cannot name an element in one.
    """
    _load(page)
    return _serious(page.evaluate(RUN, [selector, []]))


def colour_violations(page: "Page") -> list[str]:
    """The same for the contrast of colours, which is all that differs in another theme."""
    return serious_violations_in(page.locator("html"), "color-contrast")


def serious_violations_in(part: "Locator", *rules: str) -> list[str]:
    """The same for the elements of a locator, which may be in a shadow root, by the given rules or by all."""
    _load(part.page)
    return _serious(part.page.evaluate(RUN, [part.element_handles(), list(rules)]))


def _load(page: "Page") -> None:
    if not SOURCE.exists():
        is_missing("axe-core", "npm ci --prefix tests/browser (make test does it)")
    if not page.evaluate("() => typeof axe === 'object'"):
        page.evaluate(SOURCE.read_text(encoding="utf-8"))


def _serious(found: list[dict[str, Any]]) -> list[str]:
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']}: "
        + "; ".join(node["html"][:160] for node in rule["nodes"][:4])
        for rule in found
        if rule["impact"] in SERIOUS
    ]
