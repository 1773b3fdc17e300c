"""The check of the links of the built site."""

from pathlib import Path

from docs.building.checking import broken_links


def test_a_link_without_a_file_or_a_heading_is_found(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "a b.html").write_text('<h1 id="top">A</h1><a href="#top"></a><a href="#none"></a>')
    (tmp_path / "one" / "c.html").write_text(
        '<a href="../a%20b.html#top">A</a><a href="../a%20b.html?x=1#none">A</a><img alt="" src="none.png">'
        '<a href="https://example.org/none">B</a><link rel="icon" href="data:,"><a class="x" href="">C</a>'
    )
    assert list(broken_links(tmp_path)) == [
        "a b.html: #none",
        "one/c.html: ../a%20b.html?x=1#none",
        "one/c.html: none.png",
    ]
