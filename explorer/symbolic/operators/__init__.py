"""Operators on circuits: products, integrals, conditioning on evidence, conjugates, derivatives, concatenation.

Each returns a `Circuit` that shares the leaves of its operands under the same names, and has a `derivation`.
"""

from explorer.symbolic.operators.assembly import (
    Assembly as Assembly,
    RuleTable as RuleTable,
    concatenate as concatenate,
    expand_rules as expand_rules,
    replace_inputs as replace_inputs,
)
from explorer.symbolic.operators.input_products import multiply_rules as multiply_rules
from explorer.symbolic.operators.multiply import multiply as multiply
from explorer.symbolic.operators.unary import (
    conjugate as conjugate,
    conjugate_rules as conjugate_rules,
    differentiate as differentiate,
    differentiate_rules as differentiate_rules,
    evidence as evidence,
    integrate as integrate,
    integrate_rules as integrate_rules,
)
