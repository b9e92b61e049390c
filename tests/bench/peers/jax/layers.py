"""Layers as pairs of functions: one makes the parameters, a dict, with an np.random.Generator; the other
computes. Products and values are of the type of x; parameters are f32.
"""
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np


def glorot_uniform(draw, shape):
    receptive = math.prod(shape[:-2])
    limit = math.sqrt(6 / (receptive * (shape[-2] + shape[-1])))
    return jnp.asarray(draw.uniform(-limit, limit, shape), jnp.float32)


def normal(draw, shape, stddev):
    """Within two of those."""
    return jnp.asarray(np.clip(draw.normal(0, stddev, shape), -2 * stddev, 2 * stddev), jnp.float32)


def count(tree):
    """Of the parameters of all."""
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


def make_dense(draw, inputs, units):
    return {'kernel': glorot_uniform(draw, (inputs, units)), 'bias': jnp.zeros(units)}


def dense(p, x):
    return x @ p['kernel'].astype(x.dtype) + p['bias'].astype(x.dtype)


def make_conv(draw, size, inputs, filters):
    return {'kernel': glorot_uniform(draw, (size, size, inputs, filters)), 'bias': jnp.zeros(filters)}


def convolve(x, kernel, strides, padding, x_dilation=1, kernel_dilation=1):
    """x (N, H, W, C), kernel (H, W, C, O)."""
    return jax.lax.conv_general_dilated(x, kernel, (strides,) * 2, padding, (x_dilation,) * 2,
                                        (kernel_dilation,) * 2, ('NHWC', 'HWIO', 'NHWC'))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def conv_same(x, kernel, strides):
    """Padded to SAME. JAX's own gradients have other orders of dimensions. XLA puts those in order for
    its fast kernels on a CPU only outside of loops and calls (issue 12868 of jax-ml/jax); with these,
    ResNet-20 trains many times as fast in a scan."""
    return convolve(x, kernel, strides, 'SAME')


def conv_forward(x, kernel, strides):
    return conv_same(x, kernel, strides), (x, kernel)


def conv_backward(strides, saved, dy):
    x, kernel = saved
    x_padding, kernel_padding = [], []
    for size, width, out in zip(x.shape[1:3], kernel.shape, dy.shape[1:3]):
        reach = (out - 1) * strides
        before = max(reach + width - size, 0) // 2
        x_padding.append((width - 1 - before, size - 1 - reach + before))
        kernel_padding.append((before, width + reach - size - before))
    turned = kernel[::-1, ::-1].transpose(0, 1, 3, 2)
    dx = convolve(dy, turned, 1, x_padding, x_dilation=strides)
    dkernel = convolve(x.transpose(3, 1, 2, 0), dy.transpose(1, 2, 0, 3), 1, kernel_padding,
                       kernel_dilation=strides)
    return dx, dkernel.transpose(1, 2, 0, 3)


conv_same.defvjp(conv_forward, conv_backward)


def conv(p, x, strides=1):
    y = conv_same(x, p['kernel'].astype(x.dtype), strides)
    return y + p['bias'].astype(x.dtype) if 'bias' in p else y


def max_pool(x, size, strides, padding='VALID'):
    if size == strides and padding == 'VALID':  # of windows apart, without XLA's slow scatter
        n, height, width, channels = x.shape
        parts = x.reshape(n, height // size, size, width // size, size, channels)
        return parts.max((2, 4))
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, size, size, 1),
                                 (1, strides, strides, 1), padding)


def make_layer_norm(width):
    return {'gamma': jnp.ones(width), 'beta': jnp.zeros(width)}


def layer_norm(p, x, epsilon):
    """In f32, stored as x is."""
    values = x.astype(jnp.float32)
    mean = values.mean(-1, keepdims=True)
    variance = jnp.square(values - mean).mean(-1, keepdims=True)
    normalized = (values - mean) * jax.lax.rsqrt(variance + epsilon)
    return (normalized * p['gamma'] + p['beta']).astype(x.dtype)


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def dropout(key, x, rate):
    """Drops that part of x, in 256ths: one drawn number of 32 bits does for four elements."""
    dropped = round(256 * rate)
    drawn = jax.random.bits(key, (-(-x.size // 4),), jnp.uint32)
    kept = jax.lax.bitcast_convert_type(drawn, jnp.uint8).reshape(-1)[:x.size].reshape(x.shape) >= dropped
    return jnp.where(kept, x * jnp.asarray(256 / (256 - dropped), x.dtype), jnp.zeros((), x.dtype))


def make_attention(draw, width):
    return {part: make_dense(draw, width, width) for part in ('query', 'key', 'value', 'output')}


def attention(p, key, x, heads, seen, rate):
    """x (N, T, C); `seen` (N or 1, 1, T or 1, T) is False where a position does not see another."""
    q, k, v = (dense(p[part], x).reshape(*x.shape[:2], heads, -1) for part in ('query', 'key', 'value'))
    scores = jnp.einsum('nqhd,nkhd->nhqk', q * jnp.asarray(q.shape[-1]**-0.5, q.dtype), k)
    scores = jnp.where(seen, scores.astype(jnp.float32), -jnp.inf)
    weights = dropout(key, jax.nn.softmax(scores).astype(x.dtype), rate)
    return dense(p['output'], jnp.einsum('nhqk,nkhd->nqhd', weights, v).reshape(x.shape))


def make_feed_forward(draw, width):
    return {'intermediate': make_dense(draw, width, 4 * width),
            'output': make_dense(draw, 4 * width, width)}


def feed_forward(p, x):
    return dense(p['output'], gelu(dense(p['intermediate'], x)))
