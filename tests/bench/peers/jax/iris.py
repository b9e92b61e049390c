"""testdata/iris/model.textproto in JAX: bf16 or f32, noise in memory.

iris.py takes the options of windows.py.
"""
import jax
import numpy as np

import layers
import optimizers
import windows


def make(draw):
    return [layers.make_dense(draw, *sizes) for sizes in ((4, 10), (10, 10), (10, 3))]


def main():
    args = windows.parse_args()
    draw = np.random.default_rng(1)

    def loss(parameters, statistics, batch, key):
        x, labels = batch
        *hidden, last = parameters
        x = x.astype(args.dtype)
        for p in hidden:
            x = jax.nn.relu(layers.dense(p, x))
        return windows.cross_entropy(layers.dense(last, x), labels), statistics

    count = 20 * args.batch_size
    data = draw.random((count, 4), np.float32), draw.integers(0, 3, count)
    windows.train(args, make(draw), loss, optimizers.Adagrad(lambda step: 0.1), data)


if __name__ == '__main__':
    main()
