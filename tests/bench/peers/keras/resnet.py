"""The layers that resnet_cifar.py and resnet50.py share: ResNet v1.5, the stride in the 3x3 convolution."""
import tensorflow as tf

layers = tf.keras.layers


def conv(x, filters, size, strides=1):
    scaled = tf.keras.initializers.VarianceScaling(2.0)
    return layers.Conv2D(filters, size, strides, 'same', use_bias=False, kernel_initializer=scaled)(x)


def norm(x, gamma='ones'):
    return layers.BatchNormalization(momentum=0.9, epsilon=1e-5, gamma_initializer=gamma)(x)


def block(x, convs, strides, project, last_gamma):
    """relu(f(x) + shortcut(x)); f is convolutions of (filters, size) each, the last but one with the
    strides, a norm after each and a relu between them."""
    y = x
    for index, (filters, size) in enumerate(convs):
        y = conv(y, filters, size, strides if index == len(convs) - 2 else 1)
        last = index == len(convs) - 1
        y = norm(y, last_gamma if last else 'ones')
        if not last:
            y = layers.ReLU()(y)
    if project:
        x = norm(conv(x, filters, 1, strides))
    return layers.ReLU()(y + x)


def groups(x, convs_strides_blocks, last_gamma):
    for convs, strides, blocks in convs_strides_blocks:
        for index in range(blocks):
            x = block(x, convs, 1 if index else strides, index == 0, last_gamma)
    return layers.GlobalAveragePooling2D()(x)


def decays(variable):
    return 'batch_normalization' not in variable.name
