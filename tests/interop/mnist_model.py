"""The mnist example: its images, and its model without dropout."""
import gzip

import numpy as np

from classifier import (Classifier, reference_conv2d, reference_dense, reference_max_pooling2d, tf,
                        v1)

LAYERS = ('conv2d', 'conv2d_1', 'dense', 'logits')
VARIABLES = [f'{layer}/{variable}' for layer in LAYERS for variable in ('kernel', 'bias')]


def read_idx(path, header_bytes):
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header_bytes)


def read_rows(images, labels):
    """float32 [rows, 28, 28, 1] images as the example casts them, and int32 [rows] labels."""
    pixels = read_idx(images, 16).reshape(-1, 28, 28, 1).astype(np.float32)
    return pixels * np.float32(1 / 255) - np.float32(0.5), read_idx(labels, 8).astype(np.int32)


class Mnist(Classifier):
    shape = (28, 28, 1)

    @staticmethod
    def net(features, initializer):
        net = features
        for name, filters in (('conv2d', 32), ('conv2d_1', 64)):
            net = v1.layers.conv2d(net, filters, 5, padding='same', activation=tf.nn.relu,
                                   kernel_initializer=initializer, name=name)
            net = v1.layers.max_pooling2d(net, 2, 2)
        net = v1.layers.dense(v1.layers.flatten(net), 128, tf.nn.relu,
                              kernel_initializer=initializer, name='dense')
        return v1.layers.dense(net, 10, kernel_initializer=initializer, name='logits')

    @staticmethod
    def reference_logits(values, features, round_operand):
        net = features
        for name in ('conv2d', 'conv2d_1'):
            net = np.maximum(reference_conv2d(net, values, name, round_operand), 0)
            net = reference_max_pooling2d(net)
        net = net.reshape(len(net), -1)
        net = np.maximum(reference_dense(net, values, 'dense', round_operand), 0)
        return reference_dense(net, values, 'logits', round_operand)


def example_optimizer():
    rate = v1.train.exponential_decay(0.05, v1.train.get_or_create_global_step(), 100000, 0.96)
    return v1.train.MomentumOptimizer(rate, 0.9)
