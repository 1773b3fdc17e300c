"""A dump that XLA made on a CPU with jax 0.10.2, without the states that equal their predecessor.

The program is `jax.nn.softmax(jnp.tanh(x @ w))` in the scope `head`, with x f32[4,8] and w f32[8,6].
"""

import shutil
from pathlib import Path

SOFTMAX = Path(__file__).parent / "dumps" / "softmax"
BEFORE = "module_0001.jit_forward.before_optimizations.txt"
FUSED = "module_0001.jit_forward.0017.HLO_passes_after_layout_assignment.after_fusion.before_fusion-wrapper.txt"
LOG = "fusion.log"


def text_of(name: str) -> str:
    """The text of a file of the dump."""
    return (SOFTMAX / name).read_text(encoding="utf-8")


def copied(folder: Path, leave_out: str = "") -> Path:
    """A copy of the dump without a file."""
    shutil.copytree(SOFTMAX, folder / "dump", ignore=lambda _, names: [name for name in names if name == leave_out])
    return folder / "dump"
