"""Times of steps, pages and the dashboard against their budgets, for `circuit-explorer bench views`."""
