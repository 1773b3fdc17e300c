"""The benchmark of reads: what ordered slices save in circuits of the gallery."""

import benchmarks
from benchmarks import OrderedReads, ReadCounts
from tests.benchmarks.test_measurements import text_of


def test_the_reads_of_digits_and_levels_are_counted_without_and_with_ordered_slices():
    digits, levels = map(benchmarks.measure_reads, ("digits", "levels"))
    assert digits == OrderedReads("digits", ReadCounts(5, 2, 2, 8_192), ReadCounts(5, 0, 0, 0))
    assert levels == OrderedReads("levels", ReadCounts(5, 3, 1, 240), ReadCounts(5, 2, 0, 144))
    text = text_of(benchmarks.reads_table([digits, levels]))
    assert "8,192" in text
    assert benchmarks.reads_to_json([digits])["reads"][0]["after"]["copied_bytes"] == 0
