"""The roof of a measurement: the time that no program undercuts, by its work and the limits of this machine."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from explorer.backend import EvaluatedCircuit
from explorer.bench.machine_limits import MachineLimits, measure_machine_limits
from explorer.errors import LoweringError
from explorer.runtime.recording.snapshot import UnitsSnapshot
from explorer.runtime.units import Plan, lower_to_units, plan_units
from explorer.runtime.work import measure_work, total_work
from explorer.timings import CPU, Timing
from explorer.trace import Trace


def with_roof(timings: Sequence[Timing], roof_ms: float | None) -> tuple[Timing, ...]:
    """Timings on the CPU with a roof; those on other devices have none."""
    return tuple(replace(one, roof_ms=roof_ms) if one.device == CPU else one for one in timings)


def roof_of_circuit(circuit: EvaluatedCircuit, rows: int, num_threads: int) -> float | None:
    """The least time of a circuit in milliseconds; None if it has no units, or the limits cannot be measured."""
    try:
        return _roof_ms(plan_units(lower_to_units(circuit)), circuit, rows, num_threads)
    except LoweringError:
        return None


def with_roofs_of_steps(timings: Sequence[Timing], trace: Trace, num_threads: int) -> tuple[Timing, ...]:
    """Timings of the steps of a trace of units, each with the roof of its own units; of other traces they have none."""
    found: list[Timing] = []
    for one in timings:
        snapshot = None if one.step is None else trace.steps[one.step].snapshot
        roof = None
        if isinstance(snapshot, UnitsSnapshot) and one.device == CPU:
            roof = _roof_ms(snapshot.units, snapshot.circuit_of_units, one.batch_size, num_threads)
        found.append(replace(one, roof_ms=roof))
    return tuple(found)


def _roof_ms(units: Plan, circuit: EvaluatedCircuit, rows: int, num_threads: int) -> float | None:
    limits = machine_limits(num_threads)
    if limits is None:
        return None
    work = total_work(tuple(measure_work(units, circuit, rows).values()))
    return 1000 * work.seconds(limits.flops_per_second, limits.bytes_per_second)


@cache
def machine_limits(num_threads: int) -> MachineLimits | None:
    """The limits of this machine, measured once; None without a C++ compiler."""
    try:
        return measure_machine_limits(num_threads)
    except LoweringError:
        return None
