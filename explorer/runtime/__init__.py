"""Fast circuits: backends behind one callable with the circuit's own semantics."""

from explorer.runtime.backends import BACKENDS as BACKENDS
from explorer.runtime.choosing import fast as fast
from explorer.runtime.circuit import Certificate as Certificate, FastCircuit as FastCircuit
