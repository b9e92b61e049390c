"""models/zoo/resnet_cifar/model.textproto in JAX: bf16 or f32, noise in memory (it trains as
fast as images).

resnet_cifar.py takes the options of windows.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

import optimizers
import resnet
import windows

GROUPS = [([(filters, 3)] * 2, strides, 3) for filters, strides in ((16, 1), (32, 2), (64, 2))]


def make(draw):
    return resnet.make(draw, 3, 16, GROUPS, classes=10)


def stem(net, x):
    return jax.nn.relu(net.conv('stem', x))


def rate(step):
    """200 steps of linear warm-up times a cosine over 1000."""
    cosine = (1 + jnp.cos(jnp.pi * jnp.minimum(step, 1000) / 1000)) / 2
    return 0.005 * jnp.minimum(step / 200, 1) * cosine


def main():
    args = windows.parse_args()
    draw = np.random.default_rng(1)

    def loss(parameters, statistics, batch, key):
        x, labels = batch
        logits, statistics = resnet.logits(parameters, statistics, x.astype(args.dtype), GROUPS, stem)
        return windows.cross_entropy(logits, labels), statistics

    count = 16 * args.batch_size
    data = draw.random((count, 32, 32, 3), np.float32) - 0.5, draw.integers(0, 10, count)
    parameters, statistics = make(draw)
    optimizer = optimizers.Adam(rate, l2=1e-4, decays=resnet.decays)
    windows.train(args, parameters, loss, optimizer, data, statistics)


if __name__ == '__main__':
    main()
