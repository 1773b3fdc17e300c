"""A circuit as units: what each fold computes, and the passes that combine and order them."""

from explorer.runtime.kernel_types import Kind as Kind
from explorer.runtime.units.ir import (
    OF_ONE_LAYER as OF_ONE_LAYER,
    WEIGHTED as WEIGHTED,
    KernelCall as KernelCall,
    Plan as Plan,
    Source as Source,
)
from explorer.runtime.units.lowering import (
    MAX_TABLE_ENTRIES as MAX_TABLE_ENTRIES,
    lower_to_units as lower_to_units,
)
from explorer.runtime.units.order import (
    SlotStep as SlotStep,
    slots_by_width as slots_by_width,
    with_slots as with_slots,
)
from explorer.runtime.units.passes import (
    PASSES as PASSES,
    UnitsPass as UnitsPass,
    plan_training_units as plan_training_units,
    plan_units as plan_units,
)
from explorer.runtime.units.sources import (
    input_table as input_table,
    layer_of as layer_of,
    num_states as num_states,
    states_of as states_of,
    units_read as units_read,
)
