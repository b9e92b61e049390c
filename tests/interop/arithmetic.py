"""Products and stored values in TensorFlow: in float32, and rounded where a TPU rounds."""
import itertools
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import tensorflow as tf


def round_to_bfloat16(x):
    return tf.cast(tf.cast(x, tf.bfloat16), tf.float32)


@tf.custom_gradient
def stored_in_bfloat16(value):
    """As the gradient of it is: the sum over its readers, rounded once."""
    return round_to_bfloat16(value), round_to_bfloat16


class F32:
    """TensorFlow's own."""

    def product(self, multiply, x, kernel):
        return multiply(x, kernel)

    def summed(self, value):
        """What is made of sums, which have another last bit in another order."""
        return value

    def stored(self, value):
        """The result of a layer as others read it."""
        return value

    def conv2d(self, x, kernel, strides=1):
        return self.product(lambda x, kernel: tf.nn.conv2d(x, kernel, strides, 'SAME'), x, kernel)

    def matmul(self, x, kernel):
        return self.product(tf.matmul, x, kernel)


class Tpu(F32):
    """A product and both of its gradients are of operands rounded to bfloat16; all else is float32,
    but for the sums of products, which are float64 to begin with.

    `noise` is added to what is made of sums, in both directions: a normal error of that share of the
    root of the mean square of the tensor, another in each run.
    """

    def __init__(self, noise=0.0):
        self.noise = noise
        self.seeds = itertools.count(1)

    def operand(self, x):
        return tf.cast(round_to_bfloat16(x), tf.float64)

    def noisy(self, value):
        if not self.noise:
            return value
        size = self.noise * tf.sqrt(tf.reduce_mean(tf.square(value)))
        return value + size * tf.random.normal(tf.shape(value), seed=next(self.seeds))

    def product(self, multiply, x, kernel):
        @tf.custom_gradient
        def rounded(x, kernel):
            operands = [self.operand(x), self.operand(kernel)]
            result = multiply(*operands)

            def gradient(dy):
                return [self.noisy(tf.cast(sums, tf.float32))
                        for sums in tf.gradients(result, operands, self.operand(dy))]

            return self.noisy(tf.cast(result, tf.float32)), gradient

        return rounded(x, kernel)

    def summed(self, value):
        return tf.custom_gradient(lambda value: (self.noisy(value), self.noisy))(value)


class StoredTpu(Tpu):
    """And what layers give, with the gradients of it, is stored in bfloat16."""

    def stored(self, value):
        return stored_in_bfloat16(value)
