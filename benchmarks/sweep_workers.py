"""Runs a sweep on Dask: each worker measures one configuration at a time, and those of a lost worker are done again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from logging import CRITICAL, getLogger
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from benchmarks.sweep import Configuration, SweepRow, circuit_data, measure_configuration
from explorer.errors import CircuitError
from explorer.packages import require
from explorer.timings import Run

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 10
LOST_SECONDS = 60.0
"""How long to wait for a new worker when there is none left; a worker that is started again takes a few seconds."""
RESULT_SECONDS = 30.0
"""How long to wait for the result of a finished configuration, which is measured again if its worker is lost."""
POLL_SECONDS = 0.5
SCHEDULER_LOST = "the connection to the Dask scheduler was lost"
WORKER = "dask worker ADDRESS --nthreads 1"


@contextmanager
def connected(address: str | None, num_workers: int) -> "Iterator[Client]":
    """Connect to the scheduler at this address, or start local workers of one thread each, until the end of the block.

    Raises: MissingPackageError; CircuitError if there is no scheduler at the address, or it has no workers.
    """
    require("a sweep", "sweep", "distributed")
    from distributed import Client, LocalCluster

    getLogger("distributed").setLevel(CRITICAL)  # the rows report lost workers
    if address is None:
        # Without an address, each scheduler asks for the same port of the machine.
        web = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
        quiet = {"dashboard_address": None, "silence_logs": CRITICAL, "scheduler_kwargs": web}
        with (
            LocalCluster(n_workers=num_workers, threads_per_worker=1, memory_limit=0, **quiet) as cluster,
            Client(cluster) as one,
        ):
            yield one
        return
    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise CircuitError(
            f"no Dask scheduler answers at {address} ({error}); start one with: dask scheduler, and "
            f"workers on any machines with: {WORKER}"
        ) from error
    with client:
        if not _has_workers(client):
            raise CircuitError(f"the Dask scheduler at {address} has no workers; start one with: {WORKER}")
        yield client


def run_sweep(
    client: "Client",
    chosen: Sequence[Configuration],
    *,
    max_seconds: float,
    num_threads: int = 1,
    on_row: Callable[[SweepRow], None] = lambda row: None,
) -> tuple[SweepRow, ...]:
    """Measure all configurations on the workers; returns the rows in the order of the configurations.

    `on_row` receives each row as soon as it is known. A configuration that fails has its error in its row. Dask starts
    the configurations of a lost worker again on another one; one that loses several workers is given up.
    Raises: UnknownNameError, FileFormatError for a circuit.
    """
    import distributed

    wait: Any = distributed.wait  # by its type a coroutine, which it is for an asynchronous client only
    topic = f"sweep {uuid4()}"
    data = {name: circuit_data(name) for name in dict.fromkeys(one.circuit for one in chosen)}
    futures: dict[Any, int] = {
        client.submit(
            _measure, topic, number, one, data[one.circuit], max_seconds, num_threads, key=f"{topic}, {number}"
        ): number
        for number, one in enumerate(chosen)
    }
    rows: dict[int, SweepRow] = {}
    last_seen = monotonic()
    try:
        while left := [future for future, number in futures.items() if number not in rows]:
            try:
                done = wait(left, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED").done
            except (TimeoutError, CancelledError):
                done = set()
            if done or _has_workers(client):
                last_seen = monotonic()
            lost = "" if client.status == "running" else SCHEDULER_LOST
            if monotonic() - last_seen > LOST_SECONDS:
                lost = lost or "the workers were lost, and no new one came"
            for future in left if lost else done:
                number = futures[future]
                row = (
                    SweepRow(chosen[number], error=lost)
                    if lost
                    else _row(client, topic, chosen[number], number, future)
                )
                if row is not None:
                    rows[number] = row
                    on_row(row)
    finally:
        if client.status == "running":
            client.cancel(list(futures))
    return tuple(rows[number] for number in range(len(chosen)))


def _measure(
    topic: str,
    number: int,
    configuration: Configuration,
    data: Mapping[str, Any] | None,
    max_seconds: float,
    num_threads: int,
) -> tuple[str, Run]:
    """In a worker: measure a configuration; returns the worker's name, too."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(topic, (number, worker.address))
    return str(worker.name), measure_configuration(configuration, data, max_seconds, num_threads)


def _row(client: "Client", topic: str, configuration: Configuration, number: int, future: "Future") -> SweepRow | None:
    """The row of a finished configuration; None if its result was lost with its worker, so that it is done again."""
    if future.cancelled():
        return SweepRow(configuration, error=SCHEDULER_LOST)
    worker, run, text = "", None, ""
    try:
        error = future.exception(timeout=RESULT_SECONDS)
        if error is None:
            worker, run = future.result(timeout=RESULT_SECONDS)
        else:
            text = str(error) if isinstance(error, CircuitError) else f"{type(error).__name__}: {error}"
        # last: a result that is lost while it is fetched is measured again before it comes
        events: Any = client.get_events(topic)
    except OSError:
        return None
    starts = sum(number == started for _, (started, _) in events)
    return SweepRow(configuration, run, text, worker, starts)


def _has_workers(client: "Client") -> bool:
    return bool(client.scheduler_info()["workers"])
