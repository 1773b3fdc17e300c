"""Opens files of programs that can be recorded: a model of ONNX, an exported program of PyTorch.

Only files that the user names on the command line are opened: an exported program may contain code, which loading it
runs.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import is_zipfile

from explorer.app.commands.console import say_note
from explorer.app.user_functions import ExampleModule
from explorer.errors import FileFormatError
from explorer.trace import Trace


def _optimize_onnx(file: Path) -> Trace:
    """Return the trace of optimizing a model by ONNX Runtime. Raises: as `watch_onnx`."""
    from explorer.adapters.onnx.watching import watch_onnx

    return watch_onnx(file)


def _load_exported(file: Path) -> ExampleModule:
    """Return the module of an exported program, with the inputs that it was exported for. Raises: FileFormatError."""
    import torch

    say_note(f"loading {file} can run code that is in it: open only exported programs that you trust")
    try:
        if not is_zipfile(file):  # torch would log where it found that
            raise ValueError("not an archive")
        with file.open("rb") as stream:  # torch does not read a name that ends in .PT2
            program = torch.export.load(stream)
        module, (inputs, named) = program.module(), program.example_inputs or ((), {})
    except Exception as error:
        raise FileFormatError(
            f"{file} is not an exported program that torch {torch.__version__} can load ({type(error).__name__}: "
            f"{error}); write it by torch.export.save(torch.export.export(module, inputs), FILE)"
        ) from error
    if program.example_inputs is None or named:
        what = f"has named inputs ({', '.join(named)})" if named else "was saved without example inputs"
        raise FileFormatError(f"{file} {what}; record it in Python: explorer.record(torch.export.load({str(file)!r}))")
    return ExampleModule(module, tuple(inputs), file.name)


PROGRAMS: Mapping[str, Callable[[Path], ExampleModule | Trace]] = {".onnx": _optimize_onnx, ".pt2": _load_exported}
"""The functions that open a file, by its suffix."""


def is_program(source: str) -> bool:
    """Whether a name is an existing file with a program."""
    return Path(source).suffix.lower() in PROGRAMS and Path(source).is_file()


def open_program(source: str) -> ExampleModule | Trace:
    """Return what a file with a program becomes. Raises: FileFormatError; MissingPackageError without its packages."""
    return PROGRAMS[Path(source).suffix.lower()](Path(source))
