"""The layers that resnet_cifar.py and resnet50.py share: ResNet v1.5, the stride in the 3x3 convolution.

Parameters and the moving moments of batch normalization, the statistics, are two trees of one form: dicts
by the name of the layer.
"""
import jax
import jax.numpy as jnp

import layers

EPSILON, MOMENTUM = 1e-5, 0.9


class Maker:
    """Makes the parameters and the statistics."""

    def __init__(self, draw):
        self.draw, self.parameters, self.statistics = draw, {}, {}

    def conv(self, name, size, inputs, filters, gamma=1.0):
        """A convolution and the normalization after it."""
        stddev = (2 / (size * size * inputs))**0.5
        self.parameters[name] = {
            'conv': {'kernel': layers.normal(self.draw, (size, size, inputs, filters), stddev)},
            'norm': {'gamma': jnp.full(filters, gamma), 'beta': jnp.zeros(filters)}}
        self.statistics[name] = {'mean': jnp.zeros(filters), 'variance': jnp.ones(filters)}

    def block(self, name, inputs, convs, project, last_gamma):
        channels = inputs
        for index, (filters, size) in enumerate(convs):
            self.conv(f'{name}/{index}', size, channels, filters,
                      last_gamma if index == len(convs) - 1 else 1.0)
            channels = filters
        if project:
            self.conv(f'{name}/shortcut', 1, inputs, channels)


class Net:
    """Computes, of the parameters and old statistics; `statistics` are the new ones."""

    def __init__(self, parameters, statistics):
        self.parameters, self.old, self.statistics = parameters, statistics, {}

    def conv(self, name, x, strides=1):
        p = self.parameters[name]
        x = layers.conv(p['conv'], x, strides)
        values = x.astype(jnp.float32)
        mean = values.mean((0, 1, 2))
        variance = jnp.square(values).mean((0, 1, 2)) - jnp.square(mean)
        rows = x.size // x.shape[-1]
        moments = {'mean': mean, 'variance': variance * (rows / (rows - 1))}
        self.statistics[name] = jax.tree.map(
            lambda moving, value: moving - (moving - jax.lax.stop_gradient(value)) * (1 - MOMENTUM),
            self.old[name], moments)
        scale = p['norm']['gamma'] * jax.lax.rsqrt(variance + EPSILON)
        return (values * scale + (p['norm']['beta'] - mean * scale)).astype(x.dtype)

    def block(self, name, x, convs, strides, project):
        """relu(f(x) + shortcut(x)); f is convolutions of (filters, size) each, the last but one with the
        strides, a norm after each and a relu between them."""
        y = x
        for index in range(len(convs)):
            y = self.conv(f'{name}/{index}', y, strides if index == len(convs) - 2 else 1)
            if index < len(convs) - 1:
                y = jax.nn.relu(y)
        if project:
            x = self.conv(f'{name}/shortcut', x, strides)
        return jax.nn.relu(y + x)


def blocks(groups):
    """(name, convs, strides, project) of each block; `groups`: convs, strides and the number of blocks."""
    for group, (convs, strides, count) in enumerate(groups):
        for index in range(count):
            yield f'group{group + 1}/{index}', convs, 1 if index else strides, index == 0


def make(draw, stem_size, inputs, groups, classes, last_gamma=1.0):
    """Parameters and statistics; the stem reads three channels and gives `inputs`."""
    maker = Maker(draw)
    maker.conv('stem', stem_size, 3, inputs)
    for name, convs, _, project in blocks(groups):
        maker.block(name, inputs, convs, project, last_gamma)
        inputs = convs[-1][0]
    maker.parameters['logits'] = layers.make_dense(draw, inputs, classes)
    return maker.parameters, maker.statistics


def logits(parameters, statistics, x, groups, stem):
    """And the new statistics; stem(net, x) is what is ahead of the groups."""
    net = Net(parameters, statistics)
    x = stem(net, x)
    for name, convs, strides, project in blocks(groups):
        x = net.block(name, x, convs, strides, project)
    pooled = x.mean((1, 2), dtype=jnp.float32).astype(x.dtype)
    return layers.dense(parameters['logits'], pooled), net.statistics


def decays(path):
    return '/norm/' not in path
