"""models/zoo/resnet50/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU:
mixed_bfloat16 or f32, noise in memory. Nesterov's momentum is of steps, as Keras has it, not of
gradients.

resnet50.py takes the options of windows.py.
"""
import tensorflow as tf

import resnet
import windows

layers = tf.keras.layers


def resnet50():
    images = tf.keras.Input([224, 224, 3])
    x = layers.ReLU()(resnet.norm(resnet.conv(images, 64, 7, 2)))
    x = layers.MaxPooling2D(3, 2, 'same')(x)
    groups = [([(filters, 1), (filters, 3), (4 * filters, 1)], strides, blocks)
              for filters, strides, blocks in ((64, 1, 3), (128, 2, 4), (256, 2, 6), (512, 2, 3))]
    x = resnet.groups(x, groups, last_gamma='zeros')
    small = tf.keras.initializers.TruncatedNormal(stddev=0.01)
    return tf.keras.Model(images, layers.Dense(1000, kernel_initializer=small)(x))


def rate(step):
    """6255 steps of linear warm-up times a tenth at each of three boundaries."""
    value = 0.4 * tf.minimum(step / 6255, 1)
    for boundary in (37530, 75060, 100080):
        value = tf.where(step > boundary, 0.1 * value, value)
    return value


def smoothed_loss(labels, logits):
    smoothed = 0.9 * tf.one_hot(labels, logits.shape[-1]) + 0.1 / logits.shape[-1]
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(smoothed,
                                                                  tf.cast(logits, tf.float32)))


def main():
    args = windows.parse_args()
    count = 4 * args.batch_size
    images = tf.random.normal([count, 224, 224, 3])
    labels = tf.random.uniform([count], 0, 1000, tf.int32)
    optimizer = tf.keras.optimizers.legacy.SGD(windows.Rate(rate), momentum=0.9, nesterov=True)
    windows.train(args, resnet50(), images, labels, optimizer, smoothed_loss, l2=1e-4,
                  decays=resnet.decays)


if __name__ == '__main__':
    main()
