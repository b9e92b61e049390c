"""testdata/mnist/model.textproto in JAX: bf16 or f32, data in memory.

mnist.py [IMAGES LABELS] and the options of windows.py. Without the two idx files, .gz or not, it trains
on noise.
"""
import argparse
import gzip

import jax
import numpy as np

import layers
import optimizers
import windows


def read_idx(path, header_bytes):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as file:
        return np.frombuffer(file.read(), np.uint8, offset=header_bytes)


def read(args, draw):
    """Images (N, 28, 28, 1) with values of -0.5 to 0.5, and labels (N)."""
    if args.images:
        images, labels = read_idx(args.images, 16), read_idx(args.labels, 8)
    else:
        count = 20 * args.batch_size
        images, labels = draw.integers(0, 256, count * 28 * 28), draw.integers(0, 10, count)
    return images.reshape(-1, 28, 28, 1).astype(np.float32) / 255 - 0.5, labels.astype(np.int32)


def make(draw):
    return {'conv2d': layers.make_conv(draw, 5, 1, 32), 'conv2d_1': layers.make_conv(draw, 5, 32, 64),
            'dense': layers.make_dense(draw, 7 * 7 * 64, 128),
            'logits': layers.make_dense(draw, 128, 10)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('images', nargs='?')
    parser.add_argument('labels', nargs='?')
    args = windows.parse_args(parser)
    draw = np.random.default_rng(1)

    def loss(p, statistics, batch, key):
        x, labels = batch
        x = x.astype(args.dtype)
        for name in ('conv2d', 'conv2d_1'):
            x = layers.max_pool(jax.nn.relu(layers.conv(p[name], x)), 2, 2)
        x = jax.nn.relu(layers.dense(p['dense'], x.reshape(len(x), -1)))
        logits = layers.dense(p['logits'], layers.dropout(key, x, 0.4))
        return windows.cross_entropy(logits, labels), statistics

    optimizer = optimizers.Momentum(lambda step: 0.05 * 0.96**(step / 100000), 0.9)
    windows.train(args, make(draw), loss, optimizer, read(args, draw))


if __name__ == '__main__':
    main()
