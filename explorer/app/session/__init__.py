"""One reader's session without a user interface: view state, opening, patterns as forms, what is selected."""
