"""The questions and answers of the quiz, the circuits made by their code, and their traces."""

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import explorer
from explorer.trace import Trace

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FUSE, SHATTER = "optimize/round 1/fuse", "optimize/round 1/shatter"


def sections(file: Path, title: str) -> dict[int, str]:
    """Return the text of each section with such a title, by its number."""
    found = re.split(rf"^## {title} (\d+)(?=\D)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    numbers = [int(number) for number in found[1::2]]
    assert len(set(numbers)) == len(numbers)
    return dict(zip(numbers, found[2::2], strict=True))


QUESTIONS = sections(NOTEBOOKS / "quiz.md", "Question")
ANSWERS = sections(NOTEBOOKS / "solutions" / "quiz.md", "Answer")


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def made_by(number: int, changes: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Run the code of a question, with changes, after the code at the top of the quiz; return its names."""
    (head,) = blocks((NOTEBOOKS / "quiz.md").read_text(encoding="utf-8").partition("## Question 1 ")[0])
    (code,) = blocks(QUESTIONS[number])
    for text, other in changes.items():
        assert text in code
        code = code.replace(text, other)
    made: dict[str, Any] = {}
    exec(head + code, made)  # the quiz is a file of this repository
    return made


def handbook(circuit: Any, **options: Any) -> Trace:
    return explorer.record(circuit, preset="handbook", fold=False, max_rounds=100, **options)


def verdicts(number: int) -> tuple[bool, ...]:
    """Return the answers to the statements of a question, in order."""
    found = re.findall(r"^(\d+)\. (True|False): ", ANSWERS[number], flags=re.MULTILINE)
    stated = re.findall(r"^(\d+)\. ", QUESTIONS[number], flags=re.MULTILINE)
    assert [one for one, _ in found] == stated == [str(at) for at in range(1, len(stated) + 1)]
    return tuple(word == "True" for _, word in found)


def judges(number: int, *computed: bool) -> None:
    """Assert that the engine agrees with the verdicts of an answer, and with the list in its first line."""
    assert verdicts(number) == computed
    true = [str(at) for at, one in enumerate(computed, start=1) if one]
    says(number, f"{', '.join(true[:-1])} and {true[-1]} are true.")


def says(number: int, *phrases: str) -> None:
    """Assert that the answer contains these words, ignoring bold and line breaks."""
    answer = " ".join(ANSWERS[number].replace("**", "").split())
    for words in phrases:
        assert words in answer
