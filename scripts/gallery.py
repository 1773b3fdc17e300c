"""Record the cards of the front page, with thumbnails and times on this machine: `make pictures`."""

import argparse
import json
from dataclasses import asdict

from explorer.app.dashboard.front_page import FILE, RecordedTime, card_of, load_cards
from explorer.bench import measure_steps
from explorer.compiler import record
from explorer.files import replace_file
from explorer.templates import gallery
from explorer.timings import CPU
from explorer.trace import Trace
from explorer.views import TraceIndex

BATCH_SIZE, MAX_SECONDS = 64, 30.0


def main() -> None:
    """Record all cards, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(gallery.names()))
    parser.add_argument("--no-times", action="store_true", help="keep the recorded times")
    asked = parser.parse_args()
    known = load_cards() if FILE.exists() else {}
    cards = dict(known)
    for name in asked.names or gallery.names():
        trace = record(gallery.load_named(name))
        kept = known[name].time if name in known else None
        cards[name] = card_of(TraceIndex(trace), kept if asked.no_times else _measure(trace))
    data = {name: asdict(cards[name]) for name in gallery.names() if name in cards}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
    replace_file(FILE, text.encode())


def _measure(trace: Trace) -> RecordedTime | None:
    """Return the times before and after compilation; nothing if their intervals overlap or one is missing."""
    steps = (trace.start, len(trace.steps) - 1)
    run = measure_steps(trace, steps, devices=(CPU,), batch_size=BATCH_SIZE, total_seconds=MAX_SECONDS)
    first, last = (run.of_step(step, CPU) for step in steps)
    if first is None or last is None or first.estimate is None or last.estimate is None:
        return None
    if first.estimate.low <= last.estimate.high:
        return None
    before, after = (float(f"{one.estimate.median:.3g}") for one in (first, last) if one.estimate is not None)
    return RecordedTime(before, after, BATCH_SIZE, run.setup.devices[CPU], run.setup.versions["torch"].split("+")[0])


if __name__ == "__main__":
    main()
