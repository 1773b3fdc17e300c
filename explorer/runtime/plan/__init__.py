"""A circuit as kernel calls: what each fold computes, and the passes that combine and order them."""

from explorer.runtime.kernel_types import Kind as Kind
from explorer.runtime.plan.kernel_calls import (
    OF_ONE_LAYER as OF_ONE_LAYER,
    WEIGHTED as WEIGHTED,
    KernelCall as KernelCall,
    Plan as Plan,
    ReportSkipped as ReportSkipped,
    Source as Source,
)
from explorer.runtime.plan.lowering import (
    MAX_TABLE_ENTRIES as MAX_TABLE_ENTRIES,
    input_table as input_table,
    layer_of as layer_of,
    lower_to_plan as lower_to_plan,
    num_states as num_states,
    states_of as states_of,
    units_read as units_read,
)
from explorer.runtime.plan.order import (
    SlotStep as SlotStep,
    slots_by_width as slots_by_width,
    with_slots as with_slots,
)
from explorer.runtime.plan.passes import (
    PASSES as PASSES,
    PlanPass as PlanPass,
    run_passes as run_passes,
    run_training_passes as run_training_passes,
)
