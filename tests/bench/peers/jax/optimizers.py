"""The optimizers of the models, as tpurun's. slots(parameters) is what an optimizer keeps of each
parameter; update(step, gradients, parameters, slots) gives the new parameters and slots. `rate` is a
function of the step; `decays` tells from the path of a parameter ('dense/kernel') whether it decays.
"""
import dataclasses
import typing

import jax
import jax.numpy as jnp


def map_with_path(function, tree, *trees):
    """function(path, leaf, ...) of each, where it is a tuple: a tuple of trees."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(tree)
    others = [structure.flatten_up_to(other) for other in trees]
    paths = ('/'.join(str(getattr(key, 'key', getattr(key, 'idx', ''))) for key in path)
             for path, _ in leaves)
    results = [function(path, leaf, *more)
               for path, (_, leaf), *more in zip(paths, leaves, *others)]
    return tuple(structure.unflatten(column) for column in zip(*results))


@dataclasses.dataclass
class Adagrad:
    rate: typing.Callable
    initial: float = 0.1

    def slots(self, parameters):
        return jax.tree.map(lambda value: jnp.full_like(value, self.initial), parameters)

    def update(self, step, gradients, parameters, slots):
        def one(path, value, gradient, sums):
            sums = sums + gradient**2
            return value - self.rate(step) * gradient * jax.lax.rsqrt(sums), sums

        return map_with_path(one, parameters, gradients, slots)


@dataclasses.dataclass
class Momentum:
    rate: typing.Callable
    momentum: float
    use_nesterov: bool = False
    l2: float = 0.0
    decays: typing.Callable = lambda path: True

    def slots(self, parameters):
        return jax.tree.map(jnp.zeros_like, parameters)

    def update(self, step, gradients, parameters, slots):
        def one(path, value, gradient, accumulated):
            if self.l2 and self.decays(path):
                gradient = gradient + self.l2 * value
            accumulated = self.momentum * accumulated + gradient
            change = gradient + self.momentum * accumulated if self.use_nesterov else accumulated
            return value - self.rate(step) * change, accumulated

        return map_with_path(one, parameters, gradients, slots)


@dataclasses.dataclass
class Adam:
    """With an l2 that is a part of the gradient, or a weight_decay that is not, as AdamW's."""
    rate: typing.Callable
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    l2: float = 0.0
    weight_decay: float = 0.0
    decays: typing.Callable = lambda path: True

    def slots(self, parameters):
        zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)
        return zeros(), zeros()

    def update(self, step, gradients, parameters, slots):
        rate = self.rate(step)
        corrected = rate * jnp.sqrt(1 - self.beta2**(step + 1.0)) / (1 - self.beta1**(step + 1.0))

        def one(path, value, gradient, mean, square):
            if self.l2 and self.decays(path):
                gradient = gradient + self.l2 * value
            mean = self.beta1 * mean + (1 - self.beta1) * gradient
            square = self.beta2 * square + (1 - self.beta2) * gradient**2
            if self.weight_decay and self.decays(path):
                value = value - rate * self.weight_decay * value
            return value - corrected * mean / (jnp.sqrt(square) + self.epsilon), mean, square

        parameters, *slots = map_with_path(one, parameters, gradients, *slots)
        return parameters, tuple(slots)
