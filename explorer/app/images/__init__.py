"""Pictures as PNG, drawn without a browser."""
