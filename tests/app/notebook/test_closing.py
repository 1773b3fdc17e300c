"""Closed widgets: neither they nor what they showed stay in memory."""

import gc
from collections.abc import Callable
from typing import Any
from weakref import ref

import pytest

import explorer
from explorer.trace import Trace
from explorer.views import TraceIndex, stat_bars

pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")

from ipywidgets import DOMWidget
from ipywidgets.widgets.widget import _instances

from explorer.app.session.session import Session

SHOWN: dict[str, Callable[[Trace], Any]] = {
    "trace": lambda trace: show_all_steps(explorer.show(trace)),
    "fold level": lambda trace: show_all_steps(explorer.show(trace, fold_level=1)),
    "question": lambda trace: explorer.ask(trace, "layers-left"),
    "bars": lambda trace: explorer.show(stat_bars(TraceIndex(trace), "layers")),
}


def show_all_steps(widget: Any) -> Any:
    """Draw each step once."""
    for step in range(len(widget.trace.steps)):
        widget.step = step
    return widget


def present(kind: type) -> int:
    """The number of objects of a type after a collection."""
    gc.collect()
    return sum(issubclass(type(found), kind) for found in gc.get_objects())  # isinstance asks objects, some warn


def open_widgets() -> int:
    """The number of widgets that Jupyter keeps because they are open; not counted are their layouts and styles."""
    return sum(isinstance(widget, DOMWidget) for widget in _instances.values())


@pytest.mark.parametrize("name", SHOWN)
def test_closed_widgets_are_freed_with_their_traces(name: str) -> None:
    def show_and_close() -> tuple[ref[Any], ref[Any]]:
        trace = explorer.record(explorer.gallery.load_named("conflict"))
        widget = SHOWN[name](trace)
        str(widget)
        widget.close()
        return ref(trace), ref(widget)

    show_and_close()  # loads modules, whose objects stay
    kinds = (Trace, Session, DOMWidget)
    before = [open_widgets(), *map(present, kinds)]
    closed = [found for _ in range(3) for found in show_and_close()]
    after = [open_widgets(), *map(present, kinds)]
    assert all(now <= then for now, then in zip(after, before, strict=True))  # fewer: those of earlier tests may go
    assert [found() for found in closed] == [None] * 6
