"""`python -m explorer.app` runs the command `circuit-explorer`."""

from explorer.app.cli import main

main()
