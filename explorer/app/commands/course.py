"""`circuit-explorer course`: the lessons as pages that need neither Python nor a network."""

from pathlib import Path
from typing import Annotated

import typer

from explorer.app.commands.console import notes, print_text
from explorer.errors import CircuitError

OUTPUT = Path("build") / "course"
WHERE = "clone the repository and run this command in its folder notebooks"


def course(
    lessons: Annotated[
        list[str] | None, typer.Argument(metavar="LESSON", help="by number or name (default: all lessons)")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="write the pages here")] = OUTPUT,
) -> None:
    """Run the lessons and write them as HTML pages that open from disk, step, and check answers without Python."""
    from explorer.app.commands.lab import notebooks_folder
    from explorer.app.course.build import LESSONS, build_course

    folder, found = notebooks_folder()
    if not found and not any(folder.glob(LESSONS)):
        raise CircuitError(f"the lessons are not installed with the package, and {folder} has none: {WHERE}")
    with notes().status("Running the lessons") as status:
        sizes = build_course(folder, output, lessons or (), lambda name: status.update(f"Running {name}"))
    for name, size in sizes.items():
        print_text(f"{output / name}.html ({size / 1000:,.0f} kB)")
    print_text(f"Open {output / 'index.html'} in a browser.")
