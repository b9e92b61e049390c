"""A classifier of our examples in TensorFlow 1.x terms, and in numpy as a TPU computes it."""
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Classifier:
    """A model with its own session; the loss is the mean sparse softmax cross-entropy.

    A subclass has `shape`, that of one example, and `net`.
    """

    def __init__(self, optimizer, seed=1):
        graph = tf.Graph()
        with graph.as_default():
            v1.set_random_seed(seed)
            self.features = v1.placeholder(tf.float32, [None, *self.shape])
            self.labels = v1.placeholder(tf.int32, [None])
            self.logits = self.net(self.features, v1.glorot_uniform_initializer(seed=seed))
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.labels, logits=self.logits))
            step = v1.train.get_or_create_global_step()
            self.minimize = optimizer().minimize(self.loss, global_step=step)
            self.variables = {v.op.name: v for v in v1.global_variables()}
            self.saver = v1.train.Saver(max_to_keep=None)
            initialize = v1.global_variables_initializer()
        graph.finalize()
        self.session = v1.Session(graph=graph)
        self.session.run(initialize)

    @staticmethod
    def net(features, initializer):
        """The logits; `initializer` is that of the kernels."""
        raise NotImplementedError

    @staticmethod
    def reference_logits(values, features, round_operand):
        """The model in numpy: each operand of a product goes through round_operand."""
        raise NotImplementedError

    def save(self, prefix):
        with self.session.graph.as_default():
            return self.saver.save(self.session, prefix, write_meta_graph=False)

    def restore(self, prefix):
        with self.session.graph.as_default():
            self.saver.restore(self.session, prefix)

    def values(self):
        return self.session.run(self.variables)

    def train(self, features, labels):
        """The loss before the update."""
        feed = {self.features: features, self.labels: labels}
        return self.session.run([self.loss, self.minimize], feed)[0]

    def predict(self, features):
        return self.session.run(self.logits, {self.features: features})


def batch_rows(num_rows, batch_size, step):
    """The rows of the batch of `step` (from 0) when the input is repeated in its own order."""
    return np.arange(step * batch_size, (step + 1) * batch_size) % num_rows


def largest_relative_error(got, want, floor=0.0):
    """max |got - want| / max(|want|, floor)"""
    got, want = np.float64(got), np.float64(want)
    error = np.abs(got - want)
    return float(np.max(error / np.maximum(np.abs(want), floor), where=error > 0, initial=0.0))


def to_bfloat16(x):
    """float32 values rounded to 8 bits of mantissa, halves to even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7fff) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded & np.uint32(0xffff0000)).view(np.float32)


def reference_dense(net, values, name, round_operand):
    """Layer `name` before its activation; sums in float64."""
    kernel = round_operand(values[f'{name}/kernel']).astype(np.float64)
    net = round_operand(net).astype(np.float64) @ kernel
    return (net + values[f'{name}/bias']).astype(np.float32)


def reference_conv2d(net, values, name, round_operand):
    """The same of a convolution, SAME with strides of 1 and a square kernel of odd size."""
    kernel = round_operand(values[f'{name}/kernel']).astype(np.float64)
    size = len(kernel)
    around = size // 2
    net = np.pad(round_operand(net), ((0, 0), (around, around), (around, around), (0, 0)))
    # [batch, height, width, channels, kernel height, kernel width]
    windows = np.lib.stride_tricks.sliding_window_view(net, (size, size), axis=(1, 2))
    net = np.tensordot(windows.astype(np.float64), kernel, axes=((4, 5, 3), (0, 1, 2)))
    return (net + values[f'{name}/bias']).astype(np.float32)


def reference_max_pooling2d(net):
    """Over windows of 2x2 that do not overlap."""
    rows, height, width, channels = net.shape
    return net.reshape(rows, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def cross_entropy(logits, labels):
    """The mean sparse softmax cross-entropy, in float64."""
    shifted = np.float64(logits) - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))
    return np.mean(log_sum - shifted[np.arange(len(labels)), labels])
