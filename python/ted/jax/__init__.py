"""ted functions as operators of JAX: `op`; programs of JAX as functions of ted: `from_jaxpr`.

    @ted.jax.op
    def energy(x, w): return ted.sum(ted.tanh(x @ w))

    jax.jit(jax.grad(energy))(x, w)  # arrays of JAX; derivatives of any order are derived by ted

Before: a custom call in C++ with a `custom_vjp`, and another one for that
After:  a function; jit, grad, jvp, vmap, scan and shard_map know it
"""

from ted.jax.importing import from_jaxpr
from ted.jax.operators import Operator, op

__all__ = ["Operator", "from_jaxpr", "op"]
