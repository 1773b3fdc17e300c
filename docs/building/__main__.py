"""Builds the site: `python -m docs.building [LESSON ...]`, by number; the others are shown as they are, not run."""

import sys
from collections.abc import Sequence
from pathlib import Path

from sphinx.cmd.build import build_main

from docs.building.checking import broken_links
from docs.building.gallery import cards_css, write_gallery, write_living
from docs.building.lessons import lesson_files, write_lesson
from docs.building.reference import write_reference
from docs.building.sources import ROOT, Sources, collect
from explorer_widgets.page import shared_script

OUTPUT = ROOT / "build" / "site"
WORK = ROOT / "build" / "site-work"


def build(output: Path = OUTPUT, work: Path = WORK, run: Sequence[str] | None = None) -> int:
    """Write the pages of the site into `output`; return the exit code of Sphinx.

    `work` keeps the sources of the site and the lessons that were run, so that the next build is quick. `run` has the
    numbers of the lessons to run: all by default.
    """
    sources = Sources(work / "sources")
    collect(sources, {**write_living(output), **write_gallery(output, work / "stories")})
    write_reference(sources)
    for lesson in lesson_files():
        runs = run is None or lesson.name[:2] in run
        write_lesson(lesson, sources, work / "lessons" if runs else None)
    sources.remove_others()
    code = build_html(sources, output, work)
    broken = list(broken_links(output))
    sys.stderr.writelines(f"a link leads nowhere: {one}\n" for one in broken)
    return code or bool(broken)


def build_html(sources: Sources, output: Path, work: Path, strict: bool = True) -> int:
    """Write the pages of these sources; return the exit code of Sphinx. Warnings are errors if it is strict."""
    static = work / "static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "pictures.js").write_text(shared_script(), encoding="utf-8")
    (static / "cards.css").write_text(cards_css(), encoding="utf-8")
    settings = ["-c", str(ROOT / "docs"), "-D", f"html_static_path=static,{static}", "-d", str(work / "read")]
    settings += ["-W", "--keep-going"] if strict else ["-Q"]
    return build_main(["-b", "html", "-q", *settings, str(sources.folder), str(output)])


if __name__ == "__main__":
    sys.exit(build(run=[number.zfill(2) for number in sys.argv[1:]] or None))
