"""A pipeline of passes as one rewriter, as `record` accepts it."""

from dataclasses import dataclass

from explorer.rewrite import (
    CompilationMode,
    FunctionPassPipeline,
    Pass,
    PassManager,
    PassOptions,
    PassRegistry,
    PassRun,
)
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.rewriting import LocalRewriter, Rewriter


@dataclass(eq=False)
class ManagedPipeline:
    """Runs a pipeline in a mode. Raises: UnknownNameError for an unknown pass."""

    pipeline: FunctionPassPipeline
    mode: CompilationMode = CompilationMode.INFER
    passes: PassRegistry[FunctionGraph] | None = None
    options: PassOptions[FunctionGraph] | None = None
    label: str = "pipeline"

    def __post_init__(self) -> None:
        self._passes: PassRegistry[FunctionGraph] = passes if self.passes is None else self.passes
        self._manager = PassManager(self.pipeline, self._passes, self.options)

    def rewrite(self, graph: FunctionGraph) -> tuple[PassRun, ...]:
        """Run all passes of the mode; return what each one did, with a `Profile` for each of its rounds."""
        return self._manager.run(graph, self.mode)

    def rule_names(self) -> tuple[str, ...]:
        """The rules of all its passes, each once."""
        return tuple(dict.fromkeys(name for made in self._made() for name in made.rule_names()))

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        """Those of them that look at one application."""
        found: dict[str, LocalRewriter] = {}
        for made in self._made():
            for rule in getattr(made, "local_rewriters", tuple)():
                found.setdefault(rule.label, rule)
        return tuple(found.values())

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        """Those of them that look at the whole graph."""
        made = [made for made in self._made() if isinstance(made, GraphPass)]
        return tuple(dict.fromkeys(rule for one in made for rule in one.rewriter().global_rewriters()))

    def entries(self) -> list[str]:
        """The names of its passes in order, as a record keeps them."""
        return [str(config) for config in self.pipeline]

    def _made(self) -> list[Pass[FunctionGraph]]:
        return [self._passes[name] for name in self.pipeline.pass_ids if name in self._passes.passes]
