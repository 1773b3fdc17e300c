"""`circuit-explorer gallery`: lists the named circuits, their sizes, and what each one teaches."""

from rich.table import Table

from explorer.app.commands.console import notes, results


def list_gallery() -> None:
    """List the named circuits: layers, variables, and what each one teaches."""
    from explorer.templates import gallery

    table = Table()
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("layers", justify="right")
    table.add_column("variables", justify="right")
    table.add_column("what it shows", overflow="fold")
    with notes().status("Building the circuits"):
        for name in gallery.names():
            circuit = gallery.load_named(name)
            table.add_row(name, f"{len(circuit.graph):,}", f"{len(circuit.scope):,}", gallery.describe(name))
    results().print(table)
