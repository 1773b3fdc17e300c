"""`circuit-explorer watch`: compiles a module by torch.compile, and opens what the compiler did in the dashboard."""

import sys
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from explorer.app.commands.console import check_output, command, complete_circuit, notes, print_text
from explorer.app.commands.serve import open_dashboard
from explorer.app.commands.trace import MODE, recorder_of, save
from explorer.errors import CircuitError
from explorer.packages import UI, require
from explorer.trace import WATCHED


def _self_test(asked: bool) -> None:
    """Print what is heard of the installed torch, and end: with status 1 if something is not."""
    if asked:
        from explorer.adapters.inductor.self_test import self_test

        with notes().status("Compiling by torch.compile"):
            found = self_test()
        print_text(str(found))
        raise typer.Exit(0 if found.ok else 1)


def _pair(text: str) -> tuple[str, str]:
    """The names of ONE,OTHER. Raises: CircuitError."""
    one, _, other = (part.strip() for part in text.partition(","))
    if not one or not other or "," in other:
        raise CircuitError(f"--apart {text}: expected ONE,OTHER, such as op4,op5")
    return one, other


def watch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            autocompletion=complete_circuit,
            help="FILE.py:FUNCTION, which returns a module and a tuple of inputs, or an exported program (.pt2): both "
            "run code; or a circuit",
        ),
    ],
    adapter: Annotated[
        str | None,
        typer.Option(
            metavar="xla|onnx|NAME",
            help="another compiler: xla, for FILE.py:FUNCTION of JAX or a folder of a dump; onnx, for a model of ONNX "
            "Runtime; or the name of an installed adapter",
        ),
    ] = None,
    mode: Annotated[str, typer.Option(help="infer, or train: forward, and backward of the sum of the outputs")] = MODE,
    apart: Annotated[
        list[str] | None,
        typer.Option(metavar="ONE,OTHER", help="do not fuse these scheduler nodes, such as op4,op5 (repeatable)"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="write the trace here (.trace.json or .trace.json.gz)")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="the port of the dashboard")] = None,
    dashboard: Annotated[
        bool | None,
        typer.Option(
            "--dashboard/--no-dashboard",
            help="open the dashboard at the end, until Ctrl-C (default: if this is a terminal)",
            show_default=False,
        ),
    ] = None,
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test", callback=_self_test, is_eager=True, help="only say what is heard of the installed torch"
        ),
    ] = False,
) -> None:
    """Compile a module by torch.compile, print every step of the compiler, and open them in the dashboard.

    Each pass over the graph, each round of fusion with its candidates and refusals, and the code of each kernel is a
    step. The compiler's caches of graphs are off, and the program is run once.
    """
    from explorer.adapters.finding import watch_by
    from explorer.app.circuits import load_source
    from explorer.app.user_functions import ExampleModule

    pairs = [_pair(one) for one in apart or ()]
    if dashboard is None:
        dashboard = sys.stdout.isatty()
    if dashboard:
        require("the dashboard", "ui", *UI)  # and not after the compilation
    if out is not None:
        check_output(out, source)
    if adapter is None:
        found = load_source(source)
        make_trace = recorder_of(found, source, WATCHED, mode=mode)
        if pairs:
            if not isinstance(found, ExampleModule):
                raise CircuitError("--apart is for FILE.py:FUNCTION; in Python, explorer.record has apart=[...], too")
            make_trace = partial(found.record, WATCHED, mode=mode, apart=pairs)
    elif pairs:
        raise CircuitError(f"--apart is for torch.compile; the adapter {adapter} has no such option")
    elif mode != MODE:
        raise CircuitError(f"--mode {mode} is for torch.compile; the adapter {adapter} has its own source")
    else:
        make_trace = partial(watch_by, adapter, source)
    with notes().status(f"Compiling by {adapter or 'torch.compile'}"):
        trace = make_trace()
    print_text(str(trace))
    if out is not None:
        save(trace, out)
        print_text(f"\nWrote {out}. Look inside: {command()} show {quote(str(out))}")
    if dashboard:
        open_dashboard(source, port, trace=trace)
