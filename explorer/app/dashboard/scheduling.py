"""Calling functions in the thread of a page: as soon as possible, or later."""

from collections.abc import Callable

from bokeh.document import Document


def deliver(document: Document | None, action: Callable[[], None]) -> None:
    """Run a function in the thread of the page, unless the page was closed."""
    if document is None:
        action()
    elif document.session_context is not None:
        document.add_next_tick_callback(action)


def call_later(document: Document | None, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
    """Run a function in the thread of the page after some time; return what cancels it. Nothing runs without a page."""
    if document is None or document.session_context is None:
        return lambda: None
    due = True

    def run() -> None:
        nonlocal due
        if due:
            due = False
            action()

    document.add_timeout_callback(run, round(1000 * seconds))

    def cancel() -> None:
        nonlocal due
        due = False

    return cancel
