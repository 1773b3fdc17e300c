"""The log of the fusion pass is read: decisions, their consumers and reasons."""

from explorer.adapters.xla.fusion_log import Decision, parse_log
from explorer.adapters.xla.hlo import parse_hlo
from tests.adapters.xla.recorded import FUSED, LOG, SOFTMAX, text_of


def test_a_log_has_the_fused_groups_and_the_refusals():
    (run,) = parse_log(text_of(LOG))
    assert run.is_complete
    assert next(iter(run.groups()["reduce_divide_fusion"])) == "divide"
    assert set(run.roots) == set(run.groups())
    assert Decision("exp.1", "broadcast_multiply_fusion", "expensive producer would be duplicated") in run.decisions
    assert all(one.is_told for one in run.decisions)


def test_a_log_of_the_documented_detail_names_most_consumers():
    (full,) = parse_log(text_of(LOG))
    (short,) = parse_log("\n".join(line for line in text_of(LOG).splitlines() if "Considering" not in line))
    assert short.groups() == full.groups()
    told = [one for one in short.decisions if one.is_told]
    assert set(told) < set(full.decisions)
    assert len(short.decisions) == len(full.decisions)


def test_a_truncated_log_ends_early():
    text = text_of(LOG)
    (full,) = parse_log(text)
    for length in range(0, len(text), 97):
        runs = list(parse_log(text[:length]))
        assert len(runs) <= 1
        if runs:
            assert not runs[0].is_complete
            assert len(runs[0].decisions) <= len(full.decisions)


def test_other_lines_are_ignored():
    assert list(parse_log("instruction_fusion.cc:1] \nfusion.cc:x] Fusing\n\0 fusion.cc:12] Fusing %a into %b\n")) == []


def test_the_fused_pairs_give_the_fusions_that_xla_dumped():
    states = [path for path in sorted(SOFTMAX.iterdir()) if path.name < FUSED and "after_dot-library" in path.name]
    modules = [parse_hlo(path.read_text()) for path in (*states, SOFTMAX / FUSED)]
    before, after = (module.computations[module.entry] for module in modules)
    (run,) = parse_log(text_of(LOG))
    groups = run.groups()
    assert set(after) - set(before) == set(groups)
    assert set(before) - set(after) <= {name for members in groups.values() for name in members}
    for fusion, members in groups.items():
        read = {name for member in members for name in before[member].operands} - set(members)
        assert {run.roots.get(name, name) for name in after[fusion].operands} == read
