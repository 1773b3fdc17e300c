"""The passes on kernel calls: structure, on circuits that are small enough to be read."""

import pytest

from explorer.backend import TorchHadamardLayer
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.graph import Graph
from explorer.runtime.plan import KernelCall, Kind, Plan, lower_to_plan, run_passes
from explorer.runtime.plan.order import depth_first, with_slots, without_unused
from explorer.runtime.plan.passes import combine_tables, multiply_densities, multiply_within_sums, split_products
from explorer.symbolic import CircuitBuilder
from explorer.templates import gallery, load_named
from tests.symbolic.building import coin


def plan_of(*calls: KernelCall, outputs: tuple[int, ...] = ()) -> Plan:
    return Plan(dict(enumerate(calls)), outputs or (len(calls) - 1,))


def table(variable: int, width: int = 2) -> KernelCall:
    return KernelCall(Kind.TABLE, width, variables=(variable,))


def test_a_circuit_of_two_pairs_of_coins_as_kernel_calls():
    b = CircuitBuilder()
    coins = [b.add(coin(at)) for at in range(4)]
    pairs = [b.sum(b.hadamard(*coins[at : at + 2]), num_units=2) for at in (0, 2)]
    circuit = b.build(b.sum(b.hadamard(*pairs), num_units=1))
    lowered = lower_to_plan(TorchCompiler(optimize=False).compile(circuit))
    assert lowered.counts() == {"table": 4, "product": 3, "sum": 3}
    assert run_passes(lowered).text().splitlines() == [
        "%0 = table(x0; 10[0]) : 2",
        "%1 = table(x1; 10[1]) : 2",
        "%6 = sum(%0 * %1; 12[0]) : 2 -> slot 0",
        "%2 = table(x2; 10[2]) : 2",
        "%3 = table(x3; 10[3]) : 2",
        "%7 = sum(%2 * %3; 12[1]) : 2 -> slot 1",
        "%9 = sum(%6 * %7; 9[0]) : 1 -> slot 2",
        "outputs: %9",
    ]


@pytest.mark.parametrize("name", [name for name in gallery.names() if name != "poon-domingos"])
def test_planned_calls_are_in_order_and_no_slot_is_overwritten_while_it_is_needed(name: str):
    planned = run_passes(lower_to_plan(TorchCompiler().compile(load_named(name))))
    seen: set[int] = set()
    holds: dict[int, int] = {}
    for number, call in planned.calls.items():
        assert seen.issuperset(call.inputs)
        seen.add(number)
        if call.kind is Kind.TABLE:
            continue
        for one in call.inputs:
            assert planned.calls[one].kind is Kind.TABLE or holds[planned.slots[one]] == one
        assert planned.slots[number] not in {planned.slots[one] for one in call.inputs if one in planned.slots}
        holds[planned.slots[number]] = number
    assert all(holds[planned.slots[one]] == one for one in planned.outputs if one in planned.slots)


def test_a_sum_of_tables_by_one_variable_is_a_table():
    found = combine_tables(
        plan_of(
            table(0),
            table(0),
            table(1),
            KernelCall(Kind.SUM, 3, inputs=(0, 1), terms=2),
            KernelCall(Kind.SUM, 3, inputs=(0, 2), terms=2),
            KernelCall(Kind.SUM, 1, inputs=(3,)),
            KernelCall(Kind.SUM, 3, inputs=(0, 1)),  # of a product
        )
    )
    assert [call.kind for call in found.calls.values()][3:] == [Kind.TABLE, Kind.SUM, Kind.TABLE, Kind.SUM]
    assert found.calls[5].variables == (0,)


def test_densities_that_are_multiplied_are_one_call():
    densities = [KernelCall(Kind.GAUSSIAN, 2, variables=(variable,)) for variable in range(3)]
    found = multiply_densities(
        plan_of(
            *densities,
            table(3),
            KernelCall(Kind.PRODUCT, 2, inputs=(0, 1, 2)),
            KernelCall(Kind.SUM, 2, inputs=(0, 3, 1)),
            KernelCall(Kind.SUM, 2, inputs=(0, 1), terms=2),
            outputs=(4, 5, 6),
        )
    )
    assert found.calls[4] == KernelCall(Kind.GAUSSIAN, 2, variables=(0, 1, 2))
    assert found.calls[7] == KernelCall(Kind.GAUSSIAN, 2, variables=(0, 1))
    assert found.calls[5].inputs == (7, 3)
    assert found.calls[6].inputs == (0, 1)


def test_products_that_one_sum_reads_are_computed_there():
    product = KernelCall(Kind.PRODUCT, 2, inputs=(0, 1))
    sums = (
        KernelCall(Kind.SUM, 1, inputs=(2, 3), terms=2),
        KernelCall(Kind.MIXING, 2, inputs=(4,)),
        KernelCall(Kind.SUM, 1, inputs=(4,)),
    )
    before = plan_of(table(0), table(1), product, product, product, *sums, outputs=(5, 6, 7))
    found = without_unused(multiply_within_sums(before))
    assert found.calls[5].inputs == (0, 1, 0, 1)
    assert found.calls[5].factors == ((0, 1), (0, 1))
    assert found.calls[6].inputs == (4,), "two kernel calls read it"
    assert list(found.calls) == [0, 1, 4, 5, 6, 7]


def test_a_product_of_many_factors_is_computed_in_parts():
    inputs = tuple(range(18))
    for user in (KernelCall(Kind.PRODUCT, 2, inputs=inputs), KernelCall(Kind.SUM, 1, inputs=inputs)):
        found = split_products(plan_of(*map(table, inputs), user))
        products = {number: call.inputs for number, call in found.calls.items() if call.kind is Kind.PRODUCT}
        assert max(map(len, products.values())) == 4

        def leaves(number: int, found: Plan = found) -> list[int]:
            call = found.calls[number]
            return [leaf for one in call.inputs for leaf in leaves(one)] if call.inputs else [number]

        assert leaves(18) == list(inputs)


def test_what_needs_more_slots_is_evaluated_first():
    """A chain and a tree of two: the tree needs two slots, and then one."""
    leaf = KernelCall(Kind.GAUSSIAN, 2, variables=(0,))
    found = with_slots(
        depth_first(
            plan_of(
                leaf,
                leaf,
                leaf,
                KernelCall(Kind.PRODUCT, 2, inputs=(1, 2)),
                KernelCall(Kind.PRODUCT, 2, inputs=(0, 3)),
            )
        )
    )
    assert list(found.calls) == [1, 2, 3, 0, 4]
    assert found.slots == {1: 0, 2: 1, 3: 2, 0: 0, 4: 1}


def test_a_layer_of_another_class_has_no_kernel_calls():
    """It may compute something else than the class that it was derived from."""

    class Louder(TorchHadamardLayer):
        pass

    circuit = TorchCompiler(optimize=False).compile(load_named("digits"))
    node = next(node for node, layer in circuit.graph.nodes.items() if type(layer) is TorchHadamardLayer)
    config = {name: getattr(circuit.graph.nodes[node], name) for name in ("num_input_units", "arity", "num_folds")}
    louder = Louder(num_output_units=config["num_input_units"], **config)
    circuit.graph = Graph({**circuit.graph.nodes, node: louder}, circuit.graph.inputs, circuit.graph.outputs)
    with pytest.raises(LoweringError, match=rf"layer {node} \(Louder\) has no kernel call"):
        lower_to_plan(circuit)
