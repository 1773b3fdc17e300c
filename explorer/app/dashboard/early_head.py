"""Sends the head of a page before its session is made, so that the browser loads the scripts meanwhile."""

import logging
from html import escape
from typing import Any

from panel.io.server import DocHandler

END = "</head>"
RELOAD = "<script>location.reload()</script>"
DARK = "dark"


def failure_html(error: Exception) -> str:
    """What follows a head that was sent if the session cannot be made: a page that shows the error."""
    text = escape(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
    return f"""{END}<body><p role="alert">This page could not be made. The log of the server says where it failed.
<a href="">Load it again</a></p><pre style="white-space:pre-wrap">{text}</pre></body></html>"""


class EarlyHeadHandler(DocHandler):
    """Sends the head of the last page first: those of a theme have the same one, unless an extension was loaded since.

    `heads` are the known ones by theme; a server has its own.
    """

    heads: dict[str, str]
    sent = ""

    def initialize(self, *args: Any, heads: dict[str, str], **more: Any) -> None:
        """Receive the heads from the rule of the server."""
        self.heads = heads

    async def get(self, *args: Any, **more: Any) -> None:
        """Answer with the page. If it fails after the head was sent, with status 200, the page shows the error."""
        answer: Any = super().get
        try:
            await answer(*args, **more)
        except Exception as error:
            if not self.sent:
                raise
            logging.getLogger("explorer").exception("The page could not be made: %.200r", self.request.uri)
            super().write(failure_html(error))

    async def get_session(self) -> Any:
        """Send the head, then make the session."""
        self.sent = self.heads.get(self._theme, "")
        if self.sent:
            self.set_header("Content-Type", "text/html")
            super().write(self.sent)
            await self.flush()
        make: Any = super().get_session
        return await make()

    def write(self, chunk: Any) -> None:
        """Write what follows the head that was sent. If it was a different one, the page is to be loaded again."""
        if not isinstance(chunk, str) or END not in chunk:
            super().write(chunk)
            return
        self.heads[self._theme] = chunk.partition(END)[0]
        super().write(chunk.removeprefix(self.sent) if chunk.startswith(self.sent) else RELOAD)

    @property
    def _theme(self) -> str:
        """The theme of the page, which its head names: Panel reads it from the address."""
        return DARK if self.get_argument("theme", "") == DARK else ""
