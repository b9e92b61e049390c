"""models/zoo/resnet_cifar/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU:
mixed_bfloat16 or f32, noise in memory (it trains as fast as images).

resnet_cifar.py takes the options of windows.py.
"""
import math

import tensorflow as tf

import resnet
import windows

layers = tf.keras.layers


def resnet20():
    images = tf.keras.Input([32, 32, 3])
    x = layers.ReLU()(resnet.norm(resnet.conv(images, 16, 3)))
    groups = [([(filters, 3)] * 2, strides, 3) for filters, strides in ((16, 1), (32, 2), (64, 2))]
    return tf.keras.Model(images, layers.Dense(10)(resnet.groups(x, groups, last_gamma='ones')))


def rate(step):
    """200 steps of linear warm-up times a cosine over 1000."""
    cosine = (1 + tf.cos(math.pi * tf.minimum(step, 1000) / 1000)) / 2
    return 0.005 * tf.minimum(step / 200, 1) * cosine


def main():
    args = windows.parse_args()
    count = 16 * args.batch_size
    images, labels = tf.random.uniform([count, 32, 32, 3]) - 0.5, tf.random.uniform(
        [count], 0, 10, tf.int32)
    optimizer = tf.keras.optimizers.legacy.Adam(windows.Rate(rate), epsilon=1e-8)
    windows.train(args, resnet20(), images, labels, optimizer, l2=1e-4, decays=resnet.decays)


if __name__ == '__main__':
    main()
