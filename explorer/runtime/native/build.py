"""The library of native kernels: compiled at first use for the machine that runs it, and kept in a cache.

A library is known by its sources, flags, compiler and processor. It is written to a file of its own and then renamed,
so that two processes may compile at once and nobody loads a part of one. Only a library that no other user can have
written is loaded, from a folder that none can replace (POSIX).
"""

import errno
import hashlib
import logging
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from explorer.errors import LoweringError
from explorer.runtime.native.structures import header

LOGGER = logging.getLogger("explorer.runtime.native")
"""Says that something takes long, at level INFO; the commands print it."""
FOLDER = Path(__file__).with_name("kernels")
DOUBLES = "doubles.cpp"
"""The source of the kernels in double precision."""
HEADER = "structures.h"
"""The file that kernels include for what `structures` declares."""
FLAGS = ("-O3", "-std=gnu++17", "-ffp-contract=fast", "-fno-math-errno", "-shared", "-fPIC")
NATIVE = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
TIMEOUT_S = 300
OUTER_ROOT = 65534
"""The owner that a folder of root seems to have in a container that does not know root."""


class BuildError(LoweringError):
    """The kernels cannot be compiled, or not be loaded, on this machine."""


def library_path(source: str = "library.cpp") -> Path:
    """The library compiled from a file of `kernels/`, compiled now if the cache has none that may be trusted.

    Raises: BuildError with what the compiler said, or for a cache folder that other users can write.
    """
    compiler = find_compiler()
    command = [*compiler, *FLAGS, NATIVE, str(FOLDER / source)]
    name = hashlib.sha256(
        "\n".join([*command[:-1], source, _version(tuple(compiler)), _processor(), *_sources()]).encode()
    )
    folder = cache_folder()
    _make_folder(folder)
    folder = folder.resolve()
    _check_trusted(folder)
    for parent in folder.parents:
        _check_trusted(parent, is_parent=True)
    target = folder / f"kernels-{name.hexdigest()[:24]}.so"
    if not target.exists() or why_untrusted(target):
        what = "the native kernels in double precision" if source == DOUBLES else "the native kernels"
        LOGGER.info("compiling %s for this processor, once: about 10 seconds", what)
        _compile(command, target)
    _check_trusted(target)
    return target


def find_compiler() -> list[str]:
    """The C++ compiler: `CXX`, or the first of g++, clang++ and c++. Raises: BuildError if there is none."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    for name in ("g++", "clang++", "c++"):
        if path := shutil.which(name):
            return [path]
    raise BuildError("the native backend needs a C++ compiler (g++ or clang++); set CXX to its path")


def cache_folder() -> Path:
    """Return where libraries are kept: `CIRCUIT_EXPLORER_CACHE`, or the user's cache folder."""
    if folder := os.environ.get("CIRCUIT_EXPLORER_CACHE"):
        return Path(folder)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "circuit-explorer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "circuit-explorer"


def why_untrusted(path: Path, is_parent: bool = False) -> str:
    """Say why another user may have written a file or folder, or still can; empty if none but root can.

    In a folder that `is_parent` of the cache folder, others must not be able to replace what it contains.
    """
    if sys.platform == "win32":
        return ""
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0, *((OUTER_ROOT,) if is_parent else ())):
        return f"{path} belongs to another user (uid {found.st_uid})"
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if is_parent and (found.st_mode & stat.S_ISVTX or (writable == stat.S_IWGRP and _is_private(found.st_gid))):
        return ""
    return f"other users can write {path}" if writable else ""


def _is_private(group: int) -> bool:
    """Whether a group is root's, or the one with the name of this user, which many systems give to each user."""
    with suppress(ImportError, KeyError):
        import grp
        import pwd

        return group == 0 or grp.getgrgid(group).gr_name == pwd.getpwuid(os.geteuid()).pw_name
    return group == 0


def _check_trusted(path: Path, is_parent: bool = False) -> None:
    """Check that no other user can write a library or its folder: the code in it is executed. Raises: BuildError."""
    try:
        reason = why_untrusted(path, is_parent)
    except OSError as error:
        raise BuildError(f"the native kernels {path} cannot be read: {error.strerror or error}") from error
    if reason:
        raise BuildError(
            f"native kernels are loaded only from where no other user can write, and {reason}; set "
            f"CIRCUIT_EXPLORER_CACHE to a folder of your own, or if it is yours: chmod go-w {shlex.quote(str(path))}"
        )


def _make_folder(folder: Path) -> None:
    """Make the folder, for this user alone, whatever the umask; earlier versions let its group write the default one.

    Raises: BuildError if that is not possible.
    """
    try:
        if not folder.is_dir():
            folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
            folder.chmod(stat.S_IRWXU)
        elif not os.environ.get("CIRCUIT_EXPLORER_CACHE") and why_untrusted(folder):
            folder.chmod(stat.S_IRWXU)
    except PermissionError:
        return  # the default one is not this user's: `_check_trusted` says so
    except OSError as error:
        raise _not_writable(folder, error) from error


def _not_writable(folder: Path, error: OSError) -> BuildError:
    return BuildError(
        f"the native kernels could not be compiled into {folder}: {error}; "
        "set CIRCUIT_EXPLORER_CACHE to a folder that can be written"
    )


def _sources() -> list[str]:
    paths = sorted(path for path in FOLDER.iterdir() if path.suffix in (".cpp", ".h"))
    return [header(), *(path.read_text(encoding="utf-8") for path in paths)]


NO_SPACE = os.strerror(errno.ENOSPC)
"""The message of compilers and linkers on a full disk."""


def _compile(command: list[str], target: Path) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="compiling-") as folder:
            made = Path(folder) / target.name
            Path(folder).chmod(stat.S_IRWXU)
            Path(folder, HEADER).write_text(header(), encoding="utf-8")
            Path(folder, HEADER).chmod(0o600)
            done = subprocess.run(
                [*command, "-I", folder, "-o", str(made)],
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
                umask=-1 if sys.platform == "win32" else 0o077,
            )
            if done.returncode or not made.exists():
                said = done.stderr.strip()[-800:] or f"it ended with exit status {done.returncode} and no message"
                full = "; set CIRCUIT_EXPLORER_CACHE to a folder with more space" if NO_SPACE in said else ""
                raise BuildError(f"{command[0]} could not compile the native kernels: {said}{full}")
            made.chmod(0o755)
            made.replace(target)
    except subprocess.TimeoutExpired as error:
        raise BuildError(
            f"{command[0]} has not compiled the native kernels within {TIMEOUT_S} seconds, where 10 to 30 are usual; "
            "try again when the machine is less busy"
        ) from error
    except OSError as error:
        raise _not_writable(target.parent, error) from error


@cache
def _version(compiler: tuple[str, ...]) -> str:
    try:
        return subprocess.run([*compiler, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"the compiler {shlex.join(compiler)} cannot be run: {error}") from error


@cache
def _processor() -> str:
    """Return what tells processors apart: a library of one might have instructions that another one lacks."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    names = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(names)))
