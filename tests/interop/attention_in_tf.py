"""Attention as runtime/ops/attention.cc says it, all scores at once."""
import numpy as np
import tensorflow as tf

import philox
from recurrence_in_tf import rounded

HIDDEN = -1e9


def hidden(mask, causal, queries, keys):
    seen = tf.ones([1, 1, queries, keys])
    if causal:
        seen *= np.float32(np.arange(queries)[:, None] >= np.arange(keys))
    if mask is not None:
        seen *= tf.cast(tf.not_equal(mask, 0), tf.float32)[:, None, None, :]
    return (1 - seen) * HIDDEN


def split(more):
    """A mask, if there is one, and the step and the replica."""
    return (more[0] if len(more) % 2 else None), more[-2:]


def at(precision):
    return rounded if precision == 0 else lambda x: x


def attention(q, k, v, *more, precision, scale, causal=False, rate=0, **stream):
    product = at(precision)
    mask, place = split(more)
    scores = tf.einsum('nthd,nshd->nhts', product(q), product(k)) * scale
    scores += hidden(mask, causal, q.shape[1], k.shape[1])
    most = tf.reduce_max(scores, -1)
    powers = tf.exp(scores - most[..., None])
    total = tf.reduce_sum(powers, -1)
    keep = philox.kept(scores.shape, *place, rate, **stream) if rate else tf.ones_like(scores)
    y = tf.einsum('nhts,nshe->nthe', product(tf.where(keep > 0, powers, 0)), product(v))
    y = y / tf.transpose(total, [0, 2, 1])[..., None] * tf.reduce_max(keep)
    return y, tf.stack([most, 1 / total], 2)


def attention_grad(dy, q, k, v, y, statistics, *more, precision, scale, causal=False, rate=0, **stream):
    product = at(precision)
    mask, place = split(more)
    dy, q, k, v, y = map(product, (dy, q, k, v, y))
    scores = tf.einsum('nthd,nshd->nhts', q, k) * scale
    scores += hidden(mask, causal, q.shape[1], k.shape[1])
    most, inverse = tf.unstack(tf.convert_to_tensor(statistics), axis=2)
    weights = tf.exp(scores - most[..., None]) * inverse[..., None]
    keep = philox.kept(scores.shape, *place, rate, **stream) if rate else tf.ones_like(scores)
    dv = tf.einsum('nhts,nthe->nshe', product(weights * keep), dy)
    dweights = tf.einsum('nthe,nshe->nhts', dy, v) * keep
    delta = tf.transpose(tf.reduce_sum(dy * y, -1), [0, 2, 1])
    dscores = product(weights * (dweights - delta[..., None]) * scale)
    return (tf.einsum('nhts,nshd->nthd', dscores, k), tf.einsum('nhts,nthd->nshd', dscores, q), dv)
