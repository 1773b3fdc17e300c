"""What a distributed run does when a worker is lost or fails: the workers that are left find out which one it was.

Each worker answers a roll call in the store that torchrun keeps, with its own error if it has one. Whoever does not
answer in time was killed, or cannot be reached. The first of those that answered reports, and all of them end.

torchrun notices a process that has ended. To notice a machine that has frozen or is gone, each worker counts in the
store: the first one watches all, and all watch the first one.
"""

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from threading import Lock, Thread
from typing import NoReturn

import torch.distributed as dist

POLL_SECONDS = 0.25
GRACE_SECONDS = 3.0
"""How long a worker has to answer: its thread looks every `POLL_SECONDS`, whatever else it is doing."""
BEAT_SECONDS = 5.0
SILENT_SECONDS = 60.0
"""A worker that has not counted for so long is lost."""
CONNECT_SECONDS = 10.0
LOST_STORE = "it lost the connection to the machine that the run was started on"
FAILED = 2


class RollCall:
    """Watches a distributed run, in a thread of each worker, because the main thread may be waiting for a lost one.

    `report` is called in one worker only, with what happened. torchrun sends SIGTERM to the workers that are left
    when it finds one dead.
    """

    def __init__(self, rank: int, size: int, report: Callable[[str], None]) -> None:
        self._rank, self._size, self._report = rank, size, report
        self._prefix = f"roll call/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        # A connection of its own: those of the process group are blocked while it waits.
        self._store = dist.TCPStore(  # pyright: ignore[reportPrivateImportUsage] (it is documented there)
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            is_master=False,
            wait_for_workers=False,
            timeout=timedelta(seconds=CONNECT_SECONDS),
        )
        self._beats = 0
        self._silence = Silence(range(size) if rank == 0 else (0,))
        self._leaving = Lock()
        self._signals, writer = os.pipe()
        os.set_blocking(writer, False)
        self._writer = writer
        self._handler = signal.signal(signal.SIGTERM, lambda *_: None)
        self._wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._thread = Thread(target=self._watch, name="roll call", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End watching: the run is over, or interrupted."""
        signal.set_wakeup_fd(self._wakeup)
        signal.signal(signal.SIGTERM, self._handler)
        os.close(self._writer)  # the thread reads the end of the pipe
        self._thread.join()
        os.close(self._signals)

    def leave(self, error: str = "") -> NoReturn:
        """End this process, after the roll call and, if it is the first to answer, its report.

        `error` is this worker's own error; it is empty if the worker ends because of another one.
        """
        self._leaving.acquire()  # never released: a process ends once
        try:
            try:
                answers = self._call(error)
            except RuntimeError:  # the store went with the machine that kept it
                answers = {self._rank: error or LOST_STORE}
            if min(answers) == self._rank:
                self._report(what_happened(answers, self._size))
        finally:
            os._exit(FAILED)

    def _call(self, error: str) -> Mapping[int, str]:
        """Answer, and collect the answers of the others until all have answered or the time is over."""
        self._store.set(self._answer(self._rank), f"={error}")
        self._store.set(f"{self._prefix}/failed", "1")
        until = time.monotonic() + GRACE_SECONDS
        present = {self._rank}
        while len(present) < self._size and time.monotonic() < until:
            time.sleep(POLL_SECONDS / 5)
            present = {rank for rank in range(self._size) if self._store.check([self._answer(rank)])}
        return {rank: self._store.get(self._answer(rank)).decode()[1:] for rank in sorted(present)}

    def _answer(self, rank: int) -> str:
        return f"{self._prefix}/answer/{rank}"

    def _watch(self) -> None:
        while True:
            ready, _, _ = select.select([self._signals], [], [], POLL_SECONDS)
            received = os.read(self._signals, 64) if ready else b""
            if ready and (not received or signal.SIGINT in received):
                return  # stopped; or Ctrl-C, which the main thread handles
            if signal.SIGTERM in received or self._somebody_is_lost():
                self.leave()

    def _somebody_is_lost(self) -> bool:
        now = time.monotonic()
        try:
            if now - self._silence.asked >= BEAT_SECONDS:
                self._beats += 1
                self._store.set(self._beat(self._rank), str(self._beats))
                keys = {rank: self._beat(rank) for rank in self._silence.ranks}
                counts = {rank: self._store.get(key) for rank, key in keys.items() if self._store.check([key])}
                if self._silence.silent(counts, now):
                    return True
            return self._store.check([f"{self._prefix}/failed"])
        except RuntimeError:
            return True

    def _beat(self, rank: int) -> str:
        return f"{self._prefix}/beat/{rank}"


class Silence:
    """Finds the workers, of the watched `ranks`, that have not counted for `SILENT_SECONDS`."""

    def __init__(self, ranks: Iterable[int]) -> None:
        self.ranks = tuple(ranks)
        self.asked = -BEAT_SECONDS
        """When `silent` was called last."""
        self._changed: dict[int, tuple[bytes, float]] = {}

    def silent(self, counts: Mapping[int, bytes], now: float) -> list[int]:
        """The ranks whose counts, none before the first, have been the same for too long, at the time `now`."""
        # Time in which nobody looked does not count: this process may have been stopped itself.
        pause = max(0.0, now - self.asked - 2 * BEAT_SECONDS) if self._changed else 0.0
        self.asked = now
        for rank in self.ranks:
            count = counts.get(rank, b"")
            before, since = self._changed.get(rank, (None, now))
            self._changed[rank] = (count, since + pause if count == before else now)
        return [rank for rank, (_, since) in self._changed.items() if now - since >= SILENT_SECONDS]


def what_happened(answers: Mapping[int, str], size: int) -> str:
    """A sentence about the answers of a roll call: error by rank, empty for a worker that has none of its own.

    >>> what_happened({0: ""}, 2)
    'rank 1 of 2 does not answer: it was killed, or its machine or the connection to it is gone'
    """
    missing = [rank for rank in range(size) if rank not in answers]
    errors = {rank: error for rank, error in answers.items() if error}
    found: list[str] = []
    if missing:
        one = len(missing) == 1
        ranks = f"rank{'s' * (not one)} {', '.join(map(str, missing))} of {size}"
        found.append(
            f"{ranks} {'does' if one else 'do'} not answer: {'it was' if one else 'they were'} killed, or "
            f"{'its machine' if one else 'their machines'} or the connection to {'it' if one else 'them'} is gone"
        )
    if len(errors) == size and len(set(errors.values())) == 1:
        found.append(errors[0])
    else:
        found += [f"rank {rank} of {size} failed: {error}" for rank, error in errors.items()]
    return "; ".join(found) or "the run was stopped by the signal SIGTERM"
