"""Random programs of three operators that are trained: views, in-place writes into them, operators on ties."""

import random

import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_leaves

VIEWS = {
    "t": lambda h: h.transpose(-1, -2),
    "even": lambda h: h[..., ::2],
    "tail": lambda h: h[..., 1:],
    "row": lambda h: h[0],
    "expand": lambda h: h.expand(2, *h.shape),
    "unfold": lambda h: h.unfold(-1, 2, 1),
    "diagonal": lambda h: h.diagonal(dim1=0, dim2=-1),
    "flat": lambda h: h.reshape(-1),
    "chunk": lambda h: h.chunk(2, -1)[-1],
    "swap": lambda h: h.movedim(0, -1),
    "squeeze": lambda h: h.unsqueeze(0).squeeze(),
    "as_strided": lambda h: (h if h.is_contiguous() else h.clone()).as_strided((2,), (1,)),
    "narrow": lambda h: h.narrow(-1, 0, 1),
}
WRITES = {
    "add_": lambda h, v: v.add_(1.5),
    "mul_": lambda h, v: v.mul_(h.sum()),
    "copy_": lambda h, v: v.copy_(h.mean()),
    "zero_": lambda h, v: v.zero_(),
    "fill_": lambda h, v: v.fill_(2.0),
    "set tail": lambda h, v: v.__setitem__((..., slice(1, None)), h.sum()),
    "set even": lambda h, v: v.__setitem__((..., slice(None, None, 2)), h.mean() * 2),
    "set one": lambda h, v: v.__setitem__((..., 0), v.detach().sum() + h.amax()),
    "set mask": lambda h, v: v.__setitem__(v > 0, 0.5),
    "set index": lambda h, v: v.__setitem__(torch.tensor([0]), h.prod()),
    "masked_fill_": lambda h, v: v.masked_fill_(v < 0, -1.0),
    "clamp_": lambda h, v: v.clamp_(-0.5, 0.5),
    "relu_": lambda h, v: v.relu_(),
    "exp_": lambda h, v: v.exp_(),
    "div_": lambda h, v: v.div_(2.0 + h.square().sum()),
    "sigmoid_": lambda h, v: v.sigmoid_(),
    "copy itself": lambda h, v: v.copy_(v.flip(0)),
    "index_fill_": lambda h, v: v.index_fill_(0, torch.tensor([0]), 3.0),
    "index_add_": lambda h, v: v.index_add_(0, torch.tensor([0]), v[:1].clone()),
}
FUNCTIONS = {
    "sin": torch.sin,
    "softmax": lambda h: h.softmax(-1),
    "var": lambda h: h.var(-1, unbiased=False),
    "var all": lambda h: h.var(unbiased=False),
    "std": lambda h: (h * h + 1).std(0, unbiased=False),
    "maximum": lambda h: torch.maximum(h, h.flip(0)),
    "maximum of views": lambda h: torch.maximum(h, h[..., :1]),
    "minimum": lambda h: torch.minimum(h, h.roll(1, -1)),
    "amax": lambda h: h.amax(-1, keepdim=True),
    "max": lambda h: h.max(-1).values,
    "max with itself": lambda h: torch.maximum(h, h),
    "median": lambda h: h.median(-1).values,
    "sort": lambda h: h.sort(-1).values,
    "norm": lambda h: torch.linalg.vector_norm(h, dim=-1),
    "cumsum": lambda h: h.cumsum(-1),
    "where": lambda h: torch.where(h > 0, h, h * 0.1),
    "cat": lambda h: torch.cat([h, h.flip(-1)], -1),
    "stack": lambda h: torch.stack([h, h]),
    "outer": lambda h: h.unsqueeze(-1) * h.unsqueeze(-2),
    "relu": torch.relu,
    "abs": torch.abs,
    "layer norm": lambda h: functional.layer_norm(h, h.shape[-1:]),
    "mean": lambda h: h.mean(-1, keepdim=True),
    "gather": lambda h: h.gather(-1, torch.zeros_like(h, dtype=torch.int64)),
    "detach": lambda h: h.detach() * h,
    "to double": lambda h: h.double().float(),
    "ones": lambda h: torch.ones_like(h) * h.sum(),
    "empty": lambda h: torch.zeros_like(h).copy_(h),
    "clone": lambda h: h.clone(),
    "x * 0": lambda h: h * 0 + h.mean(),
}
OPERATORS = [
    *(("view", name) for name in VIEWS),
    *(("write", name) for name in WRITES),
    *(("write", name) for name in WRITES),
    *(("function", name) for name in FUNCTIONS),
]


class Program(nn.Module):
    """Three operators on values that it has; it returns the last and the first of them."""

    def __init__(self, seed):
        super().__init__()
        chosen = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(3, 4, generator=generator))
        self.steps = [(*chosen.choice(OPERATORS), chosen.random(), chosen.random()) for _ in range(3)]
        self.seed = seed

    def forward(self, x):
        values = [x * self.weight]
        for kind, name, first, second in self.steps:
            h, v = values[int(first * len(values))], values[int(second * len(values))]
            if kind == "view":
                values.append(VIEWS[name](h))
            elif kind == "function":
                values.append(FUNCTIONS[name](h))
            else:
                WRITES[name](h.clone(), v)
        return values[-1], values[0]

    def extra_repr(self):
        return f"seed {self.seed}: " + "; ".join(f"{name} {a:.2f} {b:.2f}" for _, name, a, b in self.steps)


def is_possible(program, x):
    """Whether PyTorch runs and trains it."""
    try:
        total(program(x)).backward()
    except (RuntimeError, IndexError):
        return False
    finally:
        program.weight.grad = None
    return True


def total(results):
    """A number that depends on every element of the results."""
    parts = [r for r in tree_leaves(results) if r.requires_grad]
    sums = [(part * torch.arange(1.0, part.numel() + 1).reshape(part.shape)).sum() for part in parts]
    return torch.stack(sums).sum() if sums else torch.zeros(())


class Together(nn.Module):
    """Programs side by side, so that one export serves all of them."""

    def __init__(self, programs):
        super().__init__()
        self.programs = nn.ModuleList(programs)

    def forward(self, x):
        return [program(x) for program in self.programs]


def differences(program, compiled, results, x):
    """List the differences from the program: results, whether they have gradients, gradients."""
    wanted = program(x)
    found = []
    for i, (one, other) in enumerate(zip(results, wanted, strict=True)):
        if not torch.allclose(one, other, rtol=1e-4, atol=1e-5, equal_nan=True):
            found.append(f"result {i} differs")
        if one.requires_grad != other.requires_grad:
            found.append(f"result {i} {'has' if one.requires_grad else 'lost'} its gradient")
    try:
        (gradient,) = torch.autograd.grad(total(results), [compiled], retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        return [*found, str(error)]
    (expected,) = torch.autograd.grad(total(wanted), [program.weight], allow_unused=True)
    if (gradient is None) != (expected is None):
        return [*found, f"the gradient is {gradient}; expected {expected}"]
    if gradient is not None and not torch.allclose(gradient, expected, rtol=1e-3, atol=1e-4, equal_nan=True):
        found.append(f"the gradient is off by {(gradient - expected).abs().max():.2g}")
    return found
