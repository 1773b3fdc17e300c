"""The program level: instructions on explicit buffers, the memory passes, and running them."""

from explorer.program.ir.parsing import parse_program as parse_program
from explorer.program.ir.program import Program as Program
from explorer.program.ir.verify import verify as verify
from explorer.program.lowering import lower as lower, lower_joint as lower_joint
from explorer.program.memory.planning import MemoryPlan as MemoryPlan, plan_memory as plan_memory
from explorer.program.memory.sharing import why_not_shared as why_not_shared
from explorer.program.passes import MEMORY_PIPELINE as MEMORY_PIPELINE, passes as passes
from explorer.program.running.executor import Executor as Executor
from explorer.program.running.module import (
    to_program_module as to_program_module,
    why_not_planned as why_not_planned,
)
