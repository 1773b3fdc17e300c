"""The mark after which rewriters may overwrite inputs."""

from explorer.rewrite import Exactness
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import Rewriter


class AddDestroyHandler(Rewriter):
    """Attaches the feature that checks operators which overwrite their inputs; changes nothing else."""

    name = "add_destroy_handler"
    exactness = Exactness.EXACT

    def add_requirements(self, graph: FunctionGraph) -> None:
        graph.attach_feature(DestroyHandler())

    def apply(self, graph: FunctionGraph) -> Profile | None:
        return None
