"""Runs commands one after the other in each process that torchrun starts; `{rank}` in an argument is the process.

The first of several commands may fail, which ends its process: it runs in a fork, which does not load PyTorch again,
nor what PyTorch itself loads for an optimizer.
Processes that connect again through the same store may find addresses of the connections before. So each command but
the last has a store of its own, on one of the given ports; the last one has the store of torchrun.
"""

import json
import os
import sys
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from explorer.app.cli import app

if __name__ == "__main__":
    folder, rank = Path(sys.argv[1]), os.environ["RANK"]
    (folder / f"rank-{rank}.pid").write_text(str(os.getpid()))
    commands = [[part.replace("{rank}", rank) for part in command] for command in json.loads(sys.argv[2])]
    ports = [*json.loads(sys.argv[3]), os.environ["MASTER_PORT"]]
    for number, (command, port) in enumerate(zip(commands, ports, strict=True)):
        os.environ["MASTER_PORT"] = str(port)
        if number == 0 and len(commands) > 1:
            for name in ("explorer.app.training.checkpoint", "torch._dynamo", "torch.distributed.fsdp"):
                import_module(name)
            process = get_context("fork").Process(target=app, args=(command,))
            process.start()
            process.join()
        else:
            app(command, standalone_mode=False)
