"""The log of the server: nothing about tabs that close while it writes to them, and little of each foreign message."""

import logging
import traceback
from collections.abc import Callable

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

CLOSED = (WebSocketClosedError, StreamClosedError)
EXPECTED_MESSAGE = "Failed sending message as connection was closed"
"""The text that Bokeh and Panel log where they expect a closed tab."""
LOGGERS = ("", "asyncio", "bokeh", "panel", "param", "tornado")
"""The loggers whose handlers write what others log, which may quote any message or request; `""` is the root."""
MAX_LOGGED_CHARS = 200
"""Maximum length of a logged text, and of the text of an error: Bokeh quotes invalid messages, of up to 2 MiB."""
MAX_LOGGED_CALLS = 20
"""Maximum number of calls in a logged traceback; the innermost ones are kept."""
MAX_CALL_CHARS = 1000


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] not in LOGGERS:
            return True
        error = record.exc_info[1] if record.exc_info else None
        text = _said(record.getMessage)
        if isinstance(error, CLOSED) or text == EXPECTED_MESSAGE:
            return False
        record.msg, record.args = _shorten(text, MAX_LOGGED_CHARS), None
        if error is not None:
            record.exc_text = traceback_text(error)
        return True


FILTER = _Filter()


def limit_logs() -> None:
    """Log nothing about messages that a closed tab did not receive, and the beginning of everything else.

    The filter is on handlers, since one of a logger does not see what those below it log.
    """
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in LOGGERS]
    handlers = [handler for name in ("", *known) for handler in logging.getLogger(name).handlers]
    for handler in (*handlers, *filter(None, [logging.lastResort])):
        handler.addFilter(FILTER)


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error, without the errors that caused it, with the beginning of its text."""
    calls = [call[:MAX_CALL_CHARS] for call in traceback.format_tb(error.__traceback__)[-MAX_LOGGED_CALLS:]]
    text = _shorten(_said(lambda: f"{type(error).__name__}: {error}"), MAX_LOGGED_CHARS)
    return "".join(("Traceback (most recent call last):\n", *calls, text))


def _said(say: Callable[[], str]) -> str:
    """Return a text; if what it quotes cannot be shown, which error that is, since a log must not raise."""
    try:
        return say()
    except Exception as error:  # noqa: BLE001  # it is named in the log
        return f"a text that cannot be shown: {type(error).__name__}"


def _shorten(text: str, length: int) -> str:
    """Return the beginning of a text in one line, with no character that a terminal would follow."""
    shown = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[:length])
    return shown if len(text) <= length else f"{shown} …"
