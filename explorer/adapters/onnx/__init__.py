"""Watching ONNX Runtime: each graph transformer that changed the model is a step, and each state a model that runs."""
