"""A tab that closes while the server writes to it is not an error: nothing is logged."""

import logging

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

CLOSED = (WebSocketClosedError, StreamClosedError)
EXPECTED_MESSAGE = "Failed sending message as connection was closed"
"""What Bokeh and Panel log where they expect it."""
LOGGERS = ("asyncio", "tornado.application", "tornado.general", "bokeh.server.views.ws", "panel.io.document")
"""The loggers of what writes to a tab: a task, a callback, a request, a message, a change of the page."""


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, CLOSED) and record.getMessage() != EXPECTED_MESSAGE


FILTER = _Filter()


def ignore_closed_tabs() -> None:
    """Log nothing about messages that a closed tab did not receive; other errors are logged as before."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(FILTER)
