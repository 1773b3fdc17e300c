"""The option `--distributed` of commands: joins the processes that torchrun started, of which one prints and writes."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from datetime import timedelta
from pathlib import Path
from traceback import print_exception
from typing import TYPE_CHECKING, TextIO

import typer

from explorer.app.commands.console import notes, say_error, say_note
from explorer.errors import CircuitError, check_name

if TYPE_CHECKING:
    from explorer.learning.workers import Workers

PROCESS_GROUP_BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
"""The backend of `torch.distributed` for a device."""
TIMEOUT = timedelta(minutes=10)
"""How long workers wait for one that neither answers nor ends."""
TORCHRUN = "torchrun --standalone --nproc-per-node 2 -m explorer.app"
ENVIRONMENT = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@contextmanager
def joined_workers(
    distributed: bool, device: str, command: str, advice: Callable[[], str] = lambda: ""
) -> "Iterator[Workers]":
    """Join the workers of a distributed run; alone, if it is not one. `command` is this one, for messages.

    If a worker fails or is lost, all of them end, and one of them reports which and why, with the `advice` what to do.
    Workers other than the first print nothing.

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
    """Connect the workers; an error in one of them ends all."""
    import torch.distributed as dist

    from explorer.app.training.roll_call import RollCall

    stderr = sys.stderr

    def report(what: str) -> None:
        with redirect_stderr(stderr):
            notes().show_cursor()  # a progress bar hides it
            say_error(what)
            if advised := advice():
                say_note(advised)

    dist.init_process_group(backend, timeout=TIMEOUT)
    roll_call = RollCall(workers.rank, workers.size, report)
    with ExitStack() as silence:
        if not workers.is_first:
            nowhere = silence.enter_context(Path(os.devnull).open("w"))
            silence.enter_context(redirect_stdout(nowhere))
            silence.enter_context(redirect_stderr(nowhere))
        try:
            yield workers
            dist.barrier()  # until the first one has printed and written the results
        except (KeyboardInterrupt, typer.Exit):
            raise
        except Exception as error:  # noqa: BLE001 (whatever it is, the others must not wait for this worker)
            roll_call.leave(_own_error(error, stderr))
        finally:
            roll_call.stop()
    dist.destroy_process_group()


def _own_error(error: Exception, stderr: TextIO) -> str:
    """The message of an error of this worker; empty if it says that another one is gone."""
    import torch.distributed as dist

    text = str(error)
    if isinstance(error, dist.DistError) or (isinstance(error, RuntimeError) and "gloo" in text):
        return ""
    if not isinstance(error, CircuitError | OSError):
        print_exception(error, file=stderr)
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
