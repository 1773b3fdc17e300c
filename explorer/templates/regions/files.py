"""Region graph files: a region graph as versioned JSON, and back."""

from collections.abc import Mapping
from typing import Any

from explorer.errors import CircuitError, FileFormatError
from explorer.files import check_format
from explorer.templates.regions.region_graph import Partition, RegionGraph

FORMAT = "circuit-explorer region graph"
VERSION = 1


def region_graph_to_json(region_graph: RegionGraph) -> dict[str, Any]:
    """The region graph as JSON data, in which positions identify regions."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "regions": [list(scope) for scope in region_graph.regions],
        "partitions": [{"region": p.region, "children": list(p.children)} for p in region_graph.partitions],
    }


def region_graph_from_json(data: Mapping[str, Any], where: str = "region graph data") -> RegionGraph:
    """The region graph of JSON data. Raises: FileFormatError, with the reason."""
    check_format(data, FORMAT, VERSION, where)
    try:
        regions = tuple(tuple(map(int, scope)) for scope in data["regions"])
        partitions = tuple(
            Partition(int(row["region"]), tuple(map(int, row["children"]))) for row in data["partitions"]
        )
        return RegionGraph(regions, partitions)
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"{where}: incomplete region graph: {type(error).__name__}: {error}") from error
    except CircuitError as error:
        raise FileFormatError(f"{where}: invalid region graph: {error}") from error
