"""`circuit-explorer html` and `svg`: a trace as one page that steps without Python, a step as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import check_output, notes, results, say_note
from explorer.app.commands.trace import OfLevel, Source, trace_of
from explorer.files import replace_file
from explorer.trace.ladder import COMPILED

if TYPE_CHECKING:
    from explorer.trace import Trace
    from explorer_widgets.schema import ColourBy, Mode

PICTURES = (".svg", ".png")
"""The formats of pictures, by the ending of the file's name."""
ENGINES = ("own", "dot")


def html(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="write the page here")],
    level: OfLevel = COMPILED.name,
) -> None:
    """Write a trace as one self-contained HTML file that opens from disk and steps without Python."""
    from explorer.app.session.exporting import note_on_size, page_recording
    from explorer.views import TraceIndex
    from explorer_widgets import page_html

    check_output(out, source)
    trace = trace_of(source, level)
    if note := note_on_size(trace):
        say_note(note)
    with notes().status("Drawing every step"):
        page = page_html(page_recording(TraceIndex(trace), Path(source).name)).encode()
        replace_file(out, page)
    results().print(f"Wrote {out} ({len(page) / 1000:,.0f} kB); open it in a browser.", markup=False)


def svg(
    source: Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="write the picture here")],
    step: Annotated[str, typer.Option(metavar="N|PATH", help="the step: by number (-1 is the last) or by path")] = "-1",
    mode: Annotated[str, typer.Option(help="diff, before, after or side")] = "diff",
    colour_by: Annotated[str, typer.Option(help="change, kind, time, memory or fold")] = "change",
    engine: Annotated[str, typer.Option(help="own, or dot: the graph after the step, drawn by Graphviz")] = "own",
    level: OfLevel = COMPILED.name,
) -> None:
    """Write a step of a trace as a picture, SVG or PNG by the ending of the file's name."""
    from explorer.errors import FileFormatError, check_name, unknown_name
    from explorer.views import COLOURS, MODES

    if mode not in MODES:
        raise unknown_name("mode", mode, list(MODES))
    if colour_by not in COLOURS:
        raise unknown_name("colouring", colour_by, list(COLOURS))
    check_name("engine", engine, ENGINES)
    ending = out.suffix.lower()
    if ending not in PICTURES:
        raise FileFormatError(f"cannot write {out}: a picture is one of {', '.join(PICTURES)}, by the name of the file")
    check_output(out, source)
    trace = trace_of(source, level)
    index = trace.step(int(step) if step.lstrip("-").isdigit() else step).index
    if engine == "dot":
        drawn = _drawn_by_dot(trace, index, ending[1:])
    else:
        drawn = _drawn(trace, index, mode, colour_by, ending)
    replace_file(out, drawn)
    results().print(f"Wrote {out}: step {index}, {trace.step(index).path}.", markup=False)


def _drawn(trace: "Trace", step: int, mode: "Mode", colour_by: "ColourBy", ending: str) -> bytes:
    from explorer.app.images import picture_png
    from explorer.views import TraceIndex, picture, static_svg

    drawn = picture(TraceIndex(trace), step, mode, colour_by)
    return picture_png(drawn).data if ending == ".png" else static_svg(drawn).encode()


def _drawn_by_dot(trace: "Trace", step: int, file_format: str) -> bytes:
    """Draw the graph after a step by Graphviz. Raises: MissingPackageError if `dot` is not installed."""
    import graphviz  # pyright: ignore[reportMissingTypeStubs]

    from explorer.errors import MissingPackageError

    try:
        return trace.to_graphviz(step).pipe(file_format)
    except graphviz.ExecutableNotFound as error:
        raise MissingPackageError(
            "the engine 'dot' needs Graphviz, which is not installed; install it (apt install graphviz, "
            "brew install graphviz or conda install graphviz), or use --engine own"
        ) from error
