"""The range of seeds: what every generator of random numbers takes. No torch here, so that help stays quick."""

MAX_SEED = 2**63 - 1
