"""Lesson 8, passes and quantization: fusing a batch norm, a pipeline in YAML, scale and offset for 8 bits."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

import explorer
from checks.feedback import Feedback, is_integer, not_answered, show, something_else
from explorer.errors import CircuitError
from explorer.rewrite import CompilationMode, FunctionPassPipeline, pipeline_from_yaml
from explorer.tensor import Quantization, quantized
from explorer.tensor.passes import passes
from explorer.tensor.torch_io.nhwc import activation_transposes
from explorer.trace import Trace

NEAR = 1e-9
"""Tolerance: far above rounding in double precision, far below a mistake."""

MAX_PASSES = 3
TAKES_NORMS_AWAY = "OptimizeBatchNorm"
LOW, HIGH = -1.0, 3.0
STEPS = 255
"""Steps between 256 integers."""


def _stirred(layers: nn.Module) -> nn.Module:
    """Initialize layers in double precision so that a mistake shows; leaves the global random generator unchanged."""
    generator = torch.Generator().manual_seed(11)
    for layer in layers.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.uniform_(layer.weight, 0.5, 1.5, generator=generator)
            nn.init.normal_(layer.bias, generator=generator)
            mean, var = layer.running_mean, layer.running_var
            if mean is not None and var is not None:
                mean.normal_(generator=generator)
                var.uniform_(0.001, 2.0, generator=generator)
        elif isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, generator=generator)
            if layer.bias is not None:
                nn.init.normal_(layer.bias, generator=generator)
    return layers.double().eval()


# ---------------------------------------------------------------------- a batch norm in a convolution


def exercise_1(answer: Any) -> None:
    """Weight and bias of the convolution that replaces a convolution and a batch norm."""
    show(grade_1(answer))


def grade_1(answer: Any) -> Feedback:
    """Compare with the result of the pass, on several convolutions."""
    what = "a weight and a bias, returned by fuse_norm"
    if answer is None:
        return not_answered(what)
    if not callable(answer):
        return something_else("a function fuse_norm", answer)
    for bias, groups, name in (
        (False, 1, "without bias"),
        (True, 1, "with bias"),
        (True, 2, "with bias and two groups"),
    ):
        conv = nn.Conv2d(4, 6, 3, bias=bias, groups=groups)
        norm = nn.BatchNorm2d(6, eps=0.01)
        feedback = _wrong_fused(answer, conv, norm, name, what)
        if feedback is not None:
            return feedback
    return Feedback(
        True,
        "Right: the pass computes the same, because a convolution is linear: a factor of its result can be moved into "
        "its weight, and its old bias is multiplied too.",
    )


def _wrong_fused(answer: Any, conv: nn.Conv2d, norm: nn.BatchNorm2d, name: str, what: str) -> Feedback | None:
    """Return what is wrong with the answer for one convolution, if anything."""
    module = _stirred(nn.Sequential(conv, norm))
    given = [conv.weight, conv.bias, norm.weight, norm.bias, norm.running_mean, norm.running_var]
    with torch.no_grad():
        try:
            found = answer(*(None if tensor is None else tensor.detach().clone() for tensor in given), norm.eps)
        except Exception as error:  # noqa: BLE001 - a student's code may raise anything
            return Feedback(False, f"For a convolution {name} it fails: {type(error).__name__}: {error}")
    if found is None:
        return not_answered(what)
    if not isinstance(found, tuple | list) or len(found) != 2 or not all(isinstance(one, Tensor) for one in found):
        return Feedback(False, f"Expected two tensors, the weight and the bias; got {_kinds(found)}.")
    odd = next((tensor.dtype for tensor in found if not tensor.is_floating_point()), None)
    if odd is not None:
        return Feedback(False, f"Expected two floating-point tensors; one has the type {odd}.")
    wanted = _by_the_pass(module)
    for part, mine, right in zip(("weight", "bias"), found, wanted, strict=True):
        if mine.shape != right.shape:
            return Feedback(
                False,
                f"For a convolution {name} the {part} has the wrong shape {tuple(mine.shape)}.",
            )
    wrong = [
        part
        for part, mine, right in zip(("weight", "bias"), found, wanted, strict=True)
        if not torch.allclose(mine.double(), right, rtol=NEAR, atol=NEAR)
    ]
    if not wrong:
        return None
    off = max(float((mine.double() - right).abs().max()) for mine, right in zip(found, wanted, strict=True))
    verb = "differs" if len(wrong) == 1 else "differ"
    rest = "" if len(wrong) == 2 else f" The {'bias' if wrong == ['weight'] else 'weight'} is right."
    return Feedback(False, f"For a convolution {name} the {' and the '.join(wrong)} {verb} by up to {off:.3g}.{rest}")


def _kinds(found: Any) -> str:
    """Describe the type of an answer and of its elements."""
    kind = type(found).__name__
    if not isinstance(found, tuple | list):
        return kind
    return f"{kind} of {', '.join(type(one).__name__ for one in found) or 'nothing'}"


def _by_the_pass(module: nn.Module) -> tuple[Tensor, Tensor]:
    trace = explorer.record(module, (torch.zeros(1, 4, 5, 5, dtype=torch.float64),), TAKES_NORMS_AWAY)
    snapshot: Any = trace.steps[-1].snapshot
    found = {constant.name: constant.data for constant in snapshot.state.function_graph().constants}
    return found["0.weight"].detach(), found["0.bias"].detach()


# ---------------------------------------------------------------------- a pipeline in YAML


def exercise_2(answer: Any) -> None:
    """A pipeline that leaves one transpose and no batch norm."""
    show(grade_2(answer))


def grade_2(answer: Any) -> Feedback:
    """Read the pipeline and run it on a network with channels last."""
    if answer is None:
        return not_answered("a pipeline as a YAML string")
    if isinstance(answer, FunctionPassPipeline):
        return Feedback(False, "That is a pipeline; the exercise asks for its YAML string. pipeline_to_yaml may help.")
    if not isinstance(answer, str):
        return something_else("a string", answer)
    try:
        pipeline = pipeline_from_yaml(answer, passes.names)
    except CircuitError as error:
        return Feedback(False, f"It cannot be read: {_short(str(error))}")
    if not len(pipeline):
        return not_answered("a pipeline as YAML; this string lists no pass")
    if len(pipeline) > MAX_PASSES:
        return Feedback(False, f"It has {len(pipeline)} passes; {MAX_PASSES} are enough.")
    return _run(pipeline)


def _short(message: str) -> str:
    """Drop the list of all passes."""
    return message.split("; known are: EmptyPass")[0]


def _run(pipeline: FunctionPassPipeline) -> Feedback:
    try:
        trace = explorer.record(_network(), (torch.zeros(1, 3, 8, 8, dtype=torch.float64),), pipeline, layout="nhwc")
    except CircuitError as error:
        return Feedback(False, f"It cannot be run: {_short(str(error))}")
    snapshot: Any = trace.steps[-1].snapshot
    graph = snapshot.state.function_graph()
    left = len(activation_transposes(graph))
    norms = sum("batch_norm" in node.op.name for node in graph.nodes)
    if left > 1:
        return Feedback(False, f"{left} transposes of images are left. Which pass makes them meet?")
    if norms:
        return Feedback(False, f"One transpose is left, but {norms} batch norms too{_why(trace)}")
    if any(config.pass_id == TAKES_NORMS_AWAY and CompilationMode.TRAIN in config.modes for config in pipeline):
        return Feedback(
            False, f"In the mode train it also runs {TAKES_NORMS_AWAY}. Which key of an entry selects the modes?"
        )
    return Feedback(
        True,
        f"Right: one transpose and no batch norm with {len(pipeline)} passes, because a norm is fused only "
        "if no transpose separates it from its convolution and the weight is a constant.",
    )


def _why(trace: Trace) -> str:
    """Return what the pass on batch norms reported, if it ran, as the end of a sentence."""
    feedback = [
        near.refusal.reason
        for step in trace.steps
        for near in step.refusals
        if near.refusal.pattern.startswith("batch_norm_into")
    ]
    if feedback:
        return f": {feedback[0]}. What must be done before?"
    if any(step.path.startswith(TAKES_NORMS_AWAY) for step in trace.steps):
        return f": {TAKES_NORMS_AWAY} found no batch norm directly after a convolution when it ran."
    return "."


def _network() -> nn.Module:
    layers: Sequence[nn.Module] = (
        *(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 5, 3, padding=1, bias=False), nn.BatchNorm2d(5), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten()),
    )
    return _stirred(nn.Sequential(*layers))


# ---------------------------------------------------------------------- scale and offset


def exercise_3(answer: Any) -> None:
    """Scale and offset for numbers from -1 to 3."""
    show(grade_3(answer))


def grade_3(answer: Any) -> Feedback:
    """Quantize many numbers of the range and check the errors."""
    if answer is None:
        return not_answered("a Quantization(scale=..., offset=...)")
    if isinstance(answer, tuple | list) and len(answer) == 2:
        if not all(isinstance(number, Real) for number in answer):
            return Feedback(False, f"Scale and offset must be two numbers; got {_kinds(answer)}.")
        try:
            answer = Quantization(*answer)
        except (CircuitError, TypeError, OverflowError) as error:
            return Feedback(False, f"This is not a quantization: {error}")
    if not isinstance(answer, Quantization):
        return something_else("a Quantization", answer)
    if not is_integer(answer.offset):
        return Feedback(False, f"The offset is a stored number, so it must be an integer; got {answer.offset!r}.")
    if not -128 <= answer.offset <= 127:
        return Feedback(
            False, f"The offset is the 8-bit integer that represents 0, so from -128 to 127; got {answer.offset}."
        )
    low, high = quantized.real_range(answer)
    stands_for = f"the integers represent {low:.3g} to {high:.3g}."
    numbers = torch.linspace(LOW, HIGH, 20_001)
    stored = quantized.quantize_tensor(numbers, answer.scale, answer.offset)
    errors = (quantized.dequantize_tensor(stored, answer.scale, answer.offset) - numbers).abs() / answer.scale
    worst = int(errors.argmax())
    if errors[worst] > 0.501:  # allows for rounding in 32 bits
        return Feedback(False, f"{numbers[worst]:.3g} is wrong by {errors[worst]:.3g} quanta: {stands_for}")
    if answer.scale > (HIGH - LOW) / STEPS * 1.001:
        return Feedback(False, f"The error is at most half a quantum, but the quantum could be smaller: {stands_for}")
    return Feedback(
        True,
        f"Right: a quantum of {answer.scale:.4g}, because {STEPS} steps span the range, and the offset shifts them to "
        "the numbers.",
    )
