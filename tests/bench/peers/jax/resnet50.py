"""models/zoo/resnet50/model.textproto in JAX: bf16 or f32, noise in memory.

resnet50.py takes the options of windows.py.
"""
import jax
import jax.numpy as jnp
import numpy as np

import layers
import optimizers
import resnet
import windows

GROUPS = [([(filters, 1), (filters, 3), (4 * filters, 1)], strides, blocks)
          for filters, strides, blocks in ((64, 1, 3), (128, 2, 4), (256, 2, 6), (512, 2, 3))]


def make(draw):
    parameters, statistics = resnet.make(draw, 7, 64, GROUPS, classes=1000, last_gamma=0.0)
    kernel = parameters['logits']['kernel']
    parameters['logits']['kernel'] = layers.normal(draw, kernel.shape, 0.01)
    return parameters, statistics


def stem(net, x):
    return layers.max_pool(jax.nn.relu(net.conv('stem', x, 2)), 3, 2, 'SAME')


def rate(step):
    """6255 steps of linear warm-up times a tenth at each of three boundaries."""
    passed = sum(jnp.where(step > boundary, 1, 0) for boundary in (37530, 75060, 100080))
    return 0.4 * jnp.minimum(step / 6255, 1) * 0.1**passed


def main():
    args = windows.parse_args()
    draw = np.random.default_rng(1)

    def loss(parameters, statistics, batch, key):
        x, labels = batch
        logits, statistics = resnet.logits(parameters, statistics, x.astype(args.dtype), GROUPS, stem)
        return windows.cross_entropy(logits, labels, label_smoothing=0.1), statistics

    count = 4 * args.batch_size
    data = draw.standard_normal((count, 224, 224, 3), np.float32), draw.integers(0, 1000, count)
    parameters, statistics = make(draw)
    optimizer = optimizers.Momentum(rate, 0.9, use_nesterov=True, l2=1e-4, decays=resnet.decays)
    windows.train(args, parameters, loss, optimizer, data, statistics)


if __name__ == '__main__':
    main()
