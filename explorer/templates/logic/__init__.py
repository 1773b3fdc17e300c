"""Logic circuits: read SDD and NNF files, smooth, prune, count models, and build probabilistic circuits from them."""

from explorer.templates.logic.logic_builder import LogicBuilder as LogicBuilder, prune as prune, smooth as smooth
from explorer.templates.logic.logic_circuit import (
    LogicCircuit as LogicCircuit,
    LogicKind as LogicKind,
    LogicNode as LogicNode,
)
from explorer.templates.logic.logic_weights import (
    build_circuit as build_circuit,
    count_models as count_models,
    weighted_count as weighted_count,
)
from explorer.templates.logic.nnf import (
    FOREIGN_LOGIC as FOREIGN_LOGIC,
    LOGIC_SUFFIXES as LOGIC_SUFFIXES,
    logic_of_bytes as logic_of_bytes,
    read_logic as read_logic,
    read_nnf as read_nnf,
)
from explorer.templates.logic.sdd import Vtree as Vtree, read_sdd as read_sdd, read_vtree as read_vtree
