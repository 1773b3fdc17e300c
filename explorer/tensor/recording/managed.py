"""A pipeline of passes as one rewriter, as `record` accepts it."""

from dataclasses import dataclass

from explorer.rewrite import (
    DCE_PASS,
    CompilationMode,
    DCERequiredMode,
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
        return tuple(dict.fromkeys(name for made in self._pipeline_passes() for name in made.rule_names()))

    def local_rewriters(self) -> tuple[LocalRewriter, ...]:
        """The local rewriters of all its passes, each once."""
        return tuple(dict.fromkeys(local for rewriter in self._rewriters() for local in rewriter.local_rewriters()))

    def global_rewriters(self) -> tuple[Rewriter, ...]:
        """The global rewriters of all its passes, each once."""
        return tuple(dict.fromkeys(found for rewriter in self._rewriters() for found in rewriter.global_rewriters()))

    def entries(self) -> list[str]:
        """The names of its passes in order, as a record keeps them."""
        return [str(config) for config in self.pipeline]

    def _rewriters(self) -> list[Rewriter]:
        return [made.rewriter() for made in self._pipeline_passes() if isinstance(made, GraphPass)]

    def _pipeline_passes(self) -> list[Pass[FunctionGraph]]:
        """The passes that may run: its entries, and DCE if it runs before one of them."""
        names = [*self.pipeline.pass_ids]
        if any(config.dce is DCERequiredMode.BEFORE_PASS for config in self.pipeline):
            names.append(DCE_PASS)
        return [self._passes[name] for name in dict.fromkeys(names) if name in self._passes.passes]
