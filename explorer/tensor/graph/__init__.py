"""The graph that holds applications, its transactions and its features."""
