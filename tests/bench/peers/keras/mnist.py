"""testdata/mnist/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU: mixed_bfloat16
or f32, data in memory. The momentum is of steps, as Keras has it, not of gradients.

mnist.py [IMAGES LABELS] and the options of windows.py. Without the two idx files, .gz or not, it trains
on noise.
"""
import argparse
import gzip

import numpy as np
import tensorflow as tf

import windows

layers = tf.keras.layers


def read_idx(path, header_bytes):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        return np.frombuffer(file.read(), np.uint8, offset=header_bytes)


def read(args):
    """Images (N, 28, 28, 1) with values of -0.5 to 0.5, and labels (N)."""
    if args.images:
        images, labels = read_idx(args.images, 16), read_idx(args.labels, 8)
    else:
        count = 20 * args.batch_size
        draw = np.random.default_rng(1)
        images, labels = draw.integers(0, 256, count * 28 * 28), draw.integers(0, 10, count)
    images = images.reshape(-1, 28, 28, 1).astype(np.float32) / 255 - 0.5
    return tf.constant(images), tf.constant(labels.astype(np.int32))


def mnist():
    return tf.keras.Sequential([
        layers.InputLayer(input_shape=[28, 28, 1]),
        layers.Conv2D(32, 5, padding='same', activation='relu'),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 5, padding='same', activation='relu'),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, 'relu'),
        layers.Dropout(0.4),
        layers.Dense(10),
    ])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('images', nargs='?')
    parser.add_argument('labels', nargs='?')
    args = windows.parse_args(parser)
    rate = tf.keras.optimizers.schedules.ExponentialDecay(0.05, 100000, 0.96)
    optimizer = tf.keras.optimizers.legacy.SGD(rate, momentum=0.9)
    windows.train(args, mnist(), *read(args), optimizer)


if __name__ == '__main__':
    main()
