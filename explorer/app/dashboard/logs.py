"""The log of the server: nothing about tabs that close while it writes to them, and little of each foreign message."""

import logging
import traceback

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

CLOSED = (WebSocketClosedError, StreamClosedError)
EXPECTED_MESSAGE = "Failed sending message as connection was closed"
"""The text that Bokeh and Panel log where they expect a closed tab."""
LOGGERS = (
    *("asyncio", "tornado.access", "tornado.application", "tornado.general", "panel.io.document"),
    *("bokeh.server.protocol_handler", "bokeh.server.views.session_handler", "bokeh.server.views.ws"),
)
"""The loggers of tasks, requests and messages, which quote them, and of changes of a page."""
MAX_LOGGED_CHARS = 200
"""Maximum length of a logged text, and of the text of an error: Bokeh quotes invalid messages, of up to 2 MiB."""
MAX_LOGGED_CALLS = 20
"""Maximum number of calls in a logged traceback; the innermost ones are kept."""
MAX_CALL_CHARS = 1000


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        text = record.getMessage()
        if isinstance(error, CLOSED) or text == EXPECTED_MESSAGE:
            return False
        record.msg, record.args = _shorten(text, MAX_LOGGED_CHARS), None
        if error is not None:
            record.exc_text = traceback_text(error)
        return True


FILTER = _Filter()


def limit_logs() -> None:
    """Log nothing about messages that a closed tab did not receive, and the beginning of everything else."""
    for name in LOGGERS:
        logging.getLogger(name).addFilter(FILTER)


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error, without the errors that caused it, with the beginning of its text."""
    calls = [_shorten(call, MAX_CALL_CHARS) for call in traceback.format_tb(error.__traceback__)[-MAX_LOGGED_CALLS:]]
    text = _shorten(f"{type(error).__name__}: {error}", MAX_LOGGED_CHARS)
    return "".join(("Traceback (most recent call last):\n", *calls, text))


def _shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]} …"
