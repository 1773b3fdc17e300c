"""`python -m explorer` runs the command `circuit-explorer`."""

from explorer.app.cli import main

if __name__ == "__main__":
    main()
