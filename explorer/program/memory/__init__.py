"""When the buffers of a program are alive, and where they lie."""
