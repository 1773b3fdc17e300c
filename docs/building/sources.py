"""Collects the pages of the site: `docs/`, the texts of the lessons, and what they link to.

A page keeps its path in the repository, but those of `docs/` are at the root. Links are rewritten, so that the files
read well in an editor, on a forge and on the site.
"""

import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("explorer", "widgets/explorer_widgets", "notebooks")
"""What lessons and stories are made with."""
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
"""The path and the heading of a link within the repository."""
OWN = re.compile(r"(?<=\]\()#[^)\s]+(?=\))")
"""A link within a page."""
BELOW = {
    "notebooks/README.md": (
        "[0-9]*",
        "quiz",
        "solutions/quiz",
        "worksheet",
        "solutions/worksheet",
        "glossary",
        "lecture",
    ),
    "docs/internals.md": (
        "CONTRIBUTING",
        "CHANGELOG",
        "explorer/**/README",
        "widgets/README",
        "widgets/js/README",
        "benchmarks/README",
    ),
}
"""The pages below a page in the contents, relative to it."""


@dataclass
class Sources:
    """The folder of the sources of the site. A file that does not change is not written, so Sphinx need not read it."""

    folder: Path
    written: set[Path] = field(default_factory=set[Path])

    def write(self, path: str, data: bytes | str) -> None:
        """Write a file of the site."""
        file = self.folder / path
        content = data.encode() if isinstance(data, str) else data
        self.written.add(file)
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def remove_others(self) -> None:
        """Remove the files that were not written: those of an earlier build."""
        for file in self.folder.rglob("*"):
            if file.is_file() and file not in self.written:
                file.unlink()


def keep(folder: Path, name: str, inputs: Iterable[Path], make: Callable[[], str]) -> str:
    """Return what `make` returns; `folder` keeps it while the inputs and the code of the packages stay the same."""
    seen = hashlib.sha256()
    for file in (*inputs, *(source for part in CODE for source in sorted((ROOT / part).rglob("*.py")))):
        seen.update(file.read_bytes())
    kept = folder / f"{name}-{seen.hexdigest()[:16]}"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for older in folder.glob(f"{name}-{'?' * 16}"):
            older.unlink()
        kept.write_text(make(), encoding="utf-8")
    return kept.read_text(encoding="utf-8")


def collect(sources: Sources, pictures: Mapping[str, str]) -> None:
    """Write the texts of the site, and the files that they link to but notebooks.

    `pictures` has HTML by the comment that it replaces.
    """
    waiting = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "notebooks").glob("*.md"))]
    known = set(waiting)
    for file in waiting:  # grows
        source = file.relative_to(ROOT).as_posix()
        if file.suffix == ".md":
            text = file.read_text(encoding="utf-8")
            page = rewrite_links(text, source) + _contents(BELOW.get(source, ()))
            for comment, html in pictures.items():
                page = page.replace(comment, html)
            sources.write(site_path(source), page)
            linked = [ROOT / path for path in links(text, source) if (ROOT / path).is_file()]
            waiting += [one for one in dict.fromkeys(linked) if one not in known]
            known.update(linked)
        elif file.suffix != ".ipynb":
            sources.write(site_path(source), file.read_bytes())


def site_path(path: str) -> str:
    """Return the path on the site of a file of the repository."""
    return path.removeprefix("docs/")


def links(text: str, source: str) -> Iterator[str]:
    """Return the paths in the repository that a text links to."""
    for found in LINK.finditer(text):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(source), found[1]))


def rewrite_links(text: str, source: str) -> str:
    """Return a text of the repository with the links that it has on the site."""
    folder = posixpath.dirname(source)
    here = posixpath.dirname(site_path(source)) or "."

    def rewritten(found: re.Match[str]) -> str:
        path = site_path(posixpath.normpath(posixpath.join(folder, found[1])))
        return posixpath.relpath(path, here) + github_anchor(found[2] or "")

    return OWN.sub(lambda found: github_anchor(found[0]), LINK.sub(rewritten, text))


def github_anchor(anchor: str) -> str:
    """Return the name of a heading as on GitHub: Jupyter's `#View,-slice` is `#view-slice`."""
    return re.sub(r"[^\w#-]", "", anchor.lower())


def _contents(pages: Sequence[str]) -> str:
    """Return the directive for the pages below a page; empty for none."""
    return "\n".join(["\n:::{toctree}", ":hidden:", ":glob:", "", *pages, ":::", ""]) if pages else ""
