"""The random numbers of runtime/base/random.h, drawn by TensorFlow's Philox4x32-10."""
import math

import numpy as np
import tensorflow as tf


def stream_of(name):
    """FNV-1a."""
    result = 2166136261
    for byte in name.encode():
        result = (result ^ byte) * 16777619 % 2**32
    return result


def lanes(seed, stream, a, b, count):
    """The first `count` numbers of 32 bits of a stream, as an array."""
    key = (seed ^ (seed >> 32) * 0x9e3779b9) % 2**32 | stream << 32
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=[count], key=tf.constant([key], tf.uint64),
            counter=tf.constant([0, a | b << 32], tf.uint64), alg=1, dtype=tf.uint32))


def uniform(seed, stream, a, b, shape):
    """In [0, 1), of 24 bits."""
    return (lanes(seed, stream, a, b, math.prod(shape)) >> 8).reshape(shape) * np.float32(2**-24)
