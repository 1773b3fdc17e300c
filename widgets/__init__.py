"""The hosts and the drawing: views of plain data in Jupyter, in the dashboard and in a page of their own come here."""
