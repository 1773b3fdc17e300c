"""`python -m explorer.app` is the command `circuit-explorer`."""

from explorer.app.cli import main

main()
