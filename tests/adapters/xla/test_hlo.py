"""HLO text is parsed, and truncated or mutated text never raises."""

import pytest
from hypothesis import given, strategies as st

from explorer.adapters.xla.hlo import HloModule, bytes_of, parse_hlo
from tests.adapters.xla.recorded import BEFORE, FUSED, text_of
from tests.fuzzing import examples

PIECES = ['"', "(", ")", "{", "}", "[", ",", "=", " = ", "%", "ROOT ", "ENTRY ", "f32[9999999999]", "\\", "\n", "/*"]


def instruction(line: str, before: str = ""):
    module = parse_hlo(f"ENTRY %main () -> f32[] {{\n{before}\n  {line}\n}}\n")
    assert not module.missing
    return list(module.computations["main"].values())[-1]


def check_consistent(module: HloModule):
    for instructions in module.computations.values():
        seen = set()
        for name, one in instructions.items():
            assert seen.issuperset(one.operands)
            assert one.num_bytes >= 0
            seen.add(name)
    if not module.computations.get(module.entry):
        assert any("entry" in text for text in module.missing)


def test_a_dumped_module_is_parsed_whole():
    module = parse_hlo(text_of(FUSED))
    entry = module.computations[module.entry]
    assert module.missing == []
    opcodes = "parameter parameter fusion tanh constant reduce fusion fusion fusion"
    assert " ".join(one.opcode for one in entry.values()) == opcodes
    fusion = entry["broadcast_multiply_fusion"]
    assert fusion.operands == ("subtract_exponential_fusion", "reduce_divide_fusion")
    assert fusion.called == ("fused_computation.1",)
    assert [one.opcode for one in module.computations["fused_computation.1"].values()][-1] == "multiply"
    assert (fusion.results, fusion.num_bytes, fusion.is_root) == (("f32[4,6]",), 96, True)
    assert (fusion.op_name, module.locations[fusion.frame]) == ("jit(forward)/head/div", "model.py:7")


@pytest.mark.parametrize(
    ("shape", "num_bytes"),
    [
        ("f32[8,64]{1,0}", 2048),
        ("(s32[], bf16[3]{0}, (pred[2,2]{1,0:T(8,128)}, token[]))", 14),
        ("s4[3]", 2),
        ("c64[2]", 16),
        ("f8e4m3fn[5]", 5),
        ("f32[<=7]", 28),
        ("f32[999999999999999999,999999999999999999]", 0),
        ("f32[" + "9" * 5000 + "]", 0),
        ("nothing", 0),
    ],
)
def test_the_bytes_of_a_shape(shape, num_bytes):
    assert bytes_of(shape) == num_bytes


def test_instructions_of_other_versions_and_forms():
    metadata = 'metadata={op_type="neg" op_name="jit(f)/neg" source_file="/a/b.py" source_line=12}'
    old = f"add = f32[2]{{0}} negate(f32[2]{{0}} %x), {metadata}"
    one = instruction(old, "x = f32[2]{0} parameter(0)")
    assert (one.operands, one.op_name, one.source) == (("x",), "jit(f)/neg", "b.py:12")
    one = instruction(
        '%c = (s32[], /*index=1*/f32[2]{0}) custom-call(), custom_call_target="a, (b", backend_config={"k":{}}'
    )
    assert (one.opcode, one.results) == ("custom-call", ("s32[]", "f32[2]"))
    assert one.attributes == {"custom_call_target": '"a, (b"', "backend_config": '{"k":{}}'}
    one = instruction("%k = s32[2,2]{1,0} constant({ { 1, 2 }, { 3, 4 } })")
    assert (one.operands, one.attributes["value"]) == ((), "{ { 1, 2 }, { 3, 4 } }")
    one = instruction("%w = (s32[], f32[2]) while(%t), condition=%c, body=%b", "  %t = (s32[], f32[2]) parameter(0)")
    assert one.called == ("c", "b")


def test_what_a_text_lacks_is_said():
    text = text_of(FUSED)
    assert "there is no entry computation" in parse_hlo(text[: text.index("ENTRY")]).missing
    cut = parse_hlo(text[: text.index("  %wrapped") if "  %wrapped" in text else len(text) - 300])
    assert "the text ends inside of the computation main.3" in cut.missing
    assert "1 operands are not defined before they are read" in parse_hlo(text.replace("%x.1 = ", "%y = ")).missing
    assert parse_hlo("").missing == ["there is no entry computation"]


@pytest.mark.parametrize("piece", ['"', '\\"', "(", "/*", "a", ") ", "{", "f32[", "%x = ", " into %", "=", "1,"])
def test_long_lines_take_time_in_proportion_to_their_length(piece):
    line = "%a = f32[] add(" + piece * (200_000 // len(piece))
    check_consistent(parse_hlo(f"ENTRY %main () -> f32[] {{\n{line}\n%b = ({line}\n{line[5:]}\n}}\n{line} {{"))


def test_a_tuple_of_layouts_that_do_not_end_takes_time_in_proportion_to_its_length():
    one = instruction(f"%a = ({'f32[1]{' * 150_000}) add()")  # it took minutes
    assert len(one.results) == 150_000
    assert set(one.layouts) == {""}


@given(st.data())
@examples(300)
def test_mutated_text_is_read_without_an_error(data):
    text = text_of(data.draw(st.sampled_from([BEFORE, FUSED])))
    for _ in range(data.draw(st.integers(1, 6))):
        begin = data.draw(st.integers(0, len(text)))
        end = min(begin + data.draw(st.integers(0, 200)), len(text))
        text = text[:begin] + data.draw(st.sampled_from([*PIECES, "", text[:end]])) + text[end:]
    check_consistent(parse_hlo(text[: data.draw(st.integers(0, len(text)))]))
