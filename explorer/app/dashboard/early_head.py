"""Sends the head of a page before its session is made, so that the browser loads the scripts meanwhile."""

from typing import Any, ClassVar

from panel.io.server import DocHandler

END = "</head>"
RELOAD = "<script>location.reload()</script>"


class EarlyHeadHandler(DocHandler):
    """Sends the head of the last page first: all pages have the same one, unless an extension was loaded since."""

    known_head: ClassVar[str] = ""
    sent = ""

    async def get_session(self) -> Any:
        """Send the head, then make the session."""
        self.sent = self.known_head
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
        type(self).known_head = chunk.partition(END)[0]
        super().write(chunk.removeprefix(self.sent) if chunk.startswith(self.sent) else RELOAD)
