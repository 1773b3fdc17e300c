"""The option `--distributed` of commands: joins the processes that torchrun started; one of them prints and writes."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from datetime import timedelta
from pathlib import Path
from traceback import print_exception
from typing import TYPE_CHECKING, NoReturn

import typer

from explorer.app.commands.console import notes, say_error, say_note
from explorer.errors import CircuitError, check_name

if TYPE_CHECKING:
    from explorer.learning.workers import Workers

PROCESS_GROUP_BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
"""The backend of `torch.distributed` for a device."""
TIMEOUT, STORE_TIMEOUT = timedelta(minutes=10), timedelta(seconds=10)
"""Maximum time that workers wait for one that neither answers nor ends, and for the store of torchrun."""
LOST = "another worker failed or was killed, or the run was stopped: torchrun says below which rank, and why"
FAILED = 2
TORCHRUN = "torchrun --standalone --nproc-per-node 2 -m explorer.app"
ENVIRONMENT = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@contextmanager
def joined_workers(
    distributed: bool, device: str, command: str, advice: Callable[[], str] = lambda: ""
) -> "Iterator[Workers]":
    """Join the workers of a distributed run; alone, if it is not one. `command` is this one, for messages.

    If a worker fails or is lost, all of them end, and the first to notice it prints why, with the `advice` what to do;
    torchrun prints the rank, and the signal of a killed one. Workers other than the first print nothing else.

    Raises: UnknownNameError for a device; CircuitError if the device is missing, if this process was not started by
    torchrun, or if it was, and the command is not distributed.
    """
    check_name("device", device, PROCESS_GROUP_BACKENDS)
    _check_environment(distributed, command)
    with notes().status("Loading torch") if os.environ.get("RANK", "0") == "0" else nullcontext():
        import torch

        from explorer.learning.workers import Workers

    if device == "cuda" and not torch.cuda.is_available():
        from explorer.bench.machine import why_no_cuda

        raise CircuitError(f"--device cuda needs a CUDA device: {why_no_cuda()}")
    if not distributed:
        yield Workers(device=torch.device(device))
        return
    rank, local_rank, size = (int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
    own_device = torch.device(device)
    if device == "cuda":
        own_device = torch.device(device, local_rank)
        if local_rank >= torch.cuda.device_count():
            raise CircuitError(
                f"rank {rank} needs CUDA device {local_rank}, this machine has {torch.cuda.device_count()}: "
                "start at most as many processes on a machine as it has devices"
            )
        torch.cuda.set_device(own_device)
    with _connected(Workers(rank, size, own_device, True), PROCESS_GROUP_BACKENDS[device], advice) as workers:
        yield workers


@contextmanager
def _connected(workers: "Workers", backend: str, advice: Callable[[], str]) -> "Iterator[Workers]":
    """Connect the workers. If one fails or is lost, all end: torchrun ends those that do not notice it themselves."""
    import torch.distributed as dist

    stderr = sys.stderr
    dist.init_process_group(backend, timeout=TIMEOUT)
    with ExitStack() as stack:
        if not workers.is_first:
            nowhere = stack.enter_context(Path(os.devnull).open("w"))
            stack.enter_context(redirect_stdout(nowhere))
            stack.enter_context(redirect_stderr(nowhere))
        if backend == "gloo":  # a worker that waits for a CUDA device would not get as far as the handler
            stack.callback(signal.signal, signal.SIGTERM, signal.signal(signal.SIGTERM, _end))
        try:
            yield workers
            dist.barrier()  # until the first one has printed and written the results
        except (KeyboardInterrupt, typer.Exit):
            raise
        except (Exception, _EndedError) as error:  # noqa: BLE001 (whatever it is, the others must not wait for this worker)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun sends it when the first worker has ended
            with redirect_stderr(stderr):
                _report(workers, error, advice)
            os._exit(FAILED)
    dist.destroy_process_group()


class _EndedError(BaseException):
    """This worker is ended by a signal: another one has failed, or the run is stopped."""


def _end(*_: object) -> NoReturn:
    raise _EndedError


def _report(workers: "Workers", error: BaseException, advice: Callable[[], str]) -> None:
    """Print the error of this worker, unless another one has printed its own, which is the cause."""
    import torch.distributed as dist

    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    wait = {"wait_for_workers": False, "timeout": STORE_TIMEOUT}
    try:
        store = dist.TCPStore(*address, is_master=False, **wait)  # pyright: ignore[reportPrivateImportUsage]
        if store.add(f"reports/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", 1) > 1:
            return
    except RuntimeError:  # the store went with the machine that kept it
        pass
    own = _own_error(error)
    notes().show_cursor()  # a progress bar hides it
    say_error(f"rank {workers.rank} of {workers.size} failed: {own}" if own else LOST)
    if advised := advice():
        say_note(advised)


def _own_error(error: BaseException) -> str:
    """Return the message of an error of this worker; empty if another one is gone."""
    import torch.distributed as dist

    text = str(error)
    is_other = isinstance(error, dist.DistError | _EndedError) or (isinstance(error, RuntimeError) and "gloo" in text)
    if is_other:
        return ""
    if not isinstance(error, CircuitError | OSError):
        print_exception(error, file=sys.stderr)
        return f"{type(error).__name__}: {text}"
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}" if error.filename else text
    return text


def _check_environment(distributed: bool, command: str) -> None:
    missing = [name for name in ENVIRONMENT if name not in os.environ]
    if distributed and missing:
        raise CircuitError(
            f"--distributed needs processes that torchrun starts ({', '.join(missing)} not set); "
            f"run: {TORCHRUN} {command} --distributed"
        )
    if not distributed and not missing and int(os.environ["WORLD_SIZE"]) > 1:
        raise CircuitError(
            f"this is process {os.environ['RANK']} of {os.environ['WORLD_SIZE']} that torchrun started, and each would "
            "do all of the work; add --distributed"
        )
