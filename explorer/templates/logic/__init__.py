"""Logic circuits: read SDD and NNF files, smooth, prune, count models, and build probabilistic circuits from them."""

from explorer.templates.logic.build import build_circuit as build_circuit
from explorer.templates.logic.builder import LogicBuilder as LogicBuilder, prune as prune
from explorer.templates.logic.circuit import LogicCircuit as LogicCircuit
from explorer.templates.logic.counting import count_models as count_models, weighted_count as weighted_count
from explorer.templates.logic.files import (
    FOREIGN_LOGIC as FOREIGN_LOGIC,
    LOGIC_SUFFIXES as LOGIC_SUFFIXES,
    logic_of_bytes as logic_of_bytes,
    read_logic as read_logic,
)
from explorer.templates.logic.nnf import read_nnf as read_nnf
from explorer.templates.logic.nodes import LogicKind as LogicKind, LogicNode as LogicNode
from explorer.templates.logic.sdd import read_sdd as read_sdd
from explorer.templates.logic.smoothing import smooth as smooth
from explorer.templates.logic.vtree import Vtree as Vtree, read_vtree as read_vtree
