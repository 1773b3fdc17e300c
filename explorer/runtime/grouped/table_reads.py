"""Where groups read the rows of tables."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.runtime.grouped.groups import Groups
from explorer.runtime.packed import state_of
from explorer.runtime.units import num_states


@dataclass(frozen=True, eq=False)
class TableReads:
    """By width: the first row of the table of each read (T, 1), and the row (T) of its variable among the states."""

    starts: tuple[Tensor, ...]
    variables: tuple[Tensor, ...]


def make_table_reads(
    circuit: EvaluatedCircuit, groups: Groups, rows: Mapping[tuple[int, int], int], device: torch.device
) -> TableReads:
    """Where the rows of tables are read, from the row of each (variable, number of states)."""
    starts: list[Tensor] = []
    variables: list[Tensor] = []
    for reads in groups.tables.values():
        start, begin = 0, dict[int, int]()
        for number in dict.fromkeys(reads):
            begin[number] = start
            start += num_states(circuit, groups.units, number)
        starts.append(torch.tensor([begin[one] for one in reads], device=device).unsqueeze(1))
        chosen = [rows[state_of(circuit, groups.units, one)] for one in reads]
        variables.append(torch.tensor(chosen, device=device))
    return TableReads(tuple(starts), tuple(variables))
