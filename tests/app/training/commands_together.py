"""Runs commands one after the other in each process that torchrun starts; `{rank}` in an argument is the process.

Processes that connect again through the same store may find addresses of the connections before. So each command but
the last has a store of its own, on one of the given ports; the last one has that of torchrun.
"""

import json
import os
import sys
from pathlib import Path

from explorer.app.cli import app

if __name__ == "__main__":
    folder, rank = Path(sys.argv[1]), os.environ["RANK"]
    (folder / f"rank-{rank}.pid").write_text(str(os.getpid()))
    commands, ports = json.loads(sys.argv[2]), json.loads(sys.argv[3])
    torchrun = {name: os.environ[name] for name in ("MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE")}
    stores = [{"MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "False"} for port in ports]
    for command, store in zip(commands, [*stores, torchrun], strict=True):
        os.environ.update(store)
        app([argument.replace("{rank}", rank) for argument in command], standalone_mode=False)
