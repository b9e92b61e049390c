"""The random numbers of runtime/base/random.h, drawn by TensorFlow's Philox4x32-10."""
import numpy as np
import tensorflow as tf

BLOCKS_OF_GROUP, DRAWS_OF_BLOCK = 16, 8


def stream_of(name):
    """FNV-1a."""
    result = 2166136261
    for byte in name.encode():
        result = (result ^ byte) * 16777619 % 2**32
    return result


def lanes(seed, stream, a, b, count, first_block=0):
    """`count` numbers of 32 bits of a stream, from a block of four on, as an array."""
    key = (seed ^ (seed >> 32) * 0x9e3779b9) % 2**32 | stream << 32
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(tf.raw_ops.StatelessRandomUniformFullIntV2(
            shape=[count], key=tf.constant([key], tf.uint64),
            counter=tf.constant([first_block, a | b << 32], tf.uint64), alg=1, dtype=tf.uint32))


def kept(shape, step, replica, rate, seed, stream):
    """1 / (1 - rate) where dropout keeps a value, else 0 (runtime/ops/dropout_draws.h). The values of the
    last dimension are divided into groups; draw i of block b of a group is of its value 16 i + b."""
    groups = -(-shape[-1] // (BLOCKS_OF_GROUP * DRAWS_OF_BLOCK))
    blocks = int(np.prod(shape[:-1])) * groups * BLOCKS_OF_GROUP
    words = lanes(seed, stream, int(step), int(replica), blocks * 4)
    draws = np.stack([words & 0xffff, words >> 16], -1)
    draws = draws.reshape(*shape[:-1], groups, BLOCKS_OF_GROUP, DRAWS_OF_BLOCK).swapaxes(-1, -2)
    threshold = min(round(rate * 65536), 65535)
    kept = draws.reshape(*shape[:-1], -1)[..., :shape[-1]] >= threshold
    return np.float32(kept / (1 - threshold / 65536))
