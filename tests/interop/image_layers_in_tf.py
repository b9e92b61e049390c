"""Layers of images, and of sequences as images of one row, for layers_in_tf: convolutions, pools, edges, larger
images."""
import tensorflow as tf


def pair(values, default=(1, 1)):
    return list(values) * (2 if len(values) == 1 else 1) or list(default)


def conv1d(self, args, x):
    """Keras' own, with variables of this scope."""
    size, groups, filters = args.get('kernel_size'), args.get('groups', 1), args.get('filters')
    layer = tf.keras.layers.Conv1D(
        filters, size, args.get('strides', 1), args.get('padding', 'VALID').lower(),
        dilation_rate=args.get('dilation_rate', 1), groups=groups, use_bias=False)
    layer.build(x.shape)
    layer.kernel = self.operand(self.variable('kernel', [size, x.shape[-1] // groups, filters],
                                              args.get('kernel_initializer')))
    return self.finished(layer.call(self.operand(x)), args)


def conv2d(self, args, x):
    shape = [*pair(args.all('kernel_size')), x.shape[-1] // args.get('groups', 1), args.get('filters')]
    kernel = self.variable('kernel', shape, args.get('kernel_initializer'))
    return self.finished(tf.nn.conv2d(
        self.operand(x), self.operand(kernel), pair(args.all('strides')), args.get('padding', 'VALID'),
        dilations=pair(args.all('dilation_rate'))), args)


def conv2d_transpose(self, args, x):
    size, strides = pair(args.all('kernel_size')), pair(args.all('strides'))
    padding, filters = args.get('padding', 'VALID'), args.get('filters')
    kernel = self.variable('kernel', [*size, filters, x.shape[-1]], args.get('kernel_initializer'))
    height, width = (int(n) * step + (max(window - step, 0) if padding == 'VALID' else 0)
                     for n, step, window in zip(x.shape[1:3], strides, size))
    y = tf.nn.conv2d_transpose(self.operand(x), self.operand(kernel),
                               tf.stack([tf.shape(x)[0], height, width, filters]), strides, padding)
    return self.finished(tf.ensure_shape(y, [None, height, width, filters]), args)


def pool(op):
    def build(self, args, x):
        size = pair(args.all('pool_size'), (2, 2))
        return op(x, size, pair(args.all('strides'), size), args.get('padding', 'VALID'))
    return build


def pool1d(layer):
    def build(self, args, x):
        return layer(args.get('pool_size', 2), args.get('strides'), args.get('padding', 'VALID').lower())(x)
    return build


def global_average_pooling1d(self, args, x):
    """As Keras, but 0 where all is masked, for which Keras divides 0 by 0."""
    mask = getattr(x, '_keras_mask', None)
    if mask is None:
        return tf.keras.layers.GlobalAveragePooling1D()(x)
    mask = tf.cast(mask, tf.float32)[:, :, None]
    return tf.math.divide_no_nan(tf.reduce_sum(x * mask, 1), tf.reduce_sum(mask, 1))


def global_max_pooling1d(self, args, x):
    """Keras ignores masks."""
    mask = getattr(x, '_keras_mask', None)
    if mask is None:
        return tf.keras.layers.GlobalMaxPooling1D()(x)
    largest = tf.reduce_max(tf.where(mask[:, :, None], x, x.dtype.min), 1)
    return tf.where(tf.reduce_any(mask, 1)[:, None], largest, 0.0)


def depthwise(self, args, x):
    kernel = self.variable('depthwise_kernel', [*pair(args.all('kernel_size')), x.shape[-1],
                                                args.get('depth_multiplier', 1)],
                           args.get('depthwise_initializer'))
    return tf.nn.depthwise_conv2d(
        self.operand(x), self.operand(kernel), [1, *pair(args.all('strides')), 1], args.get('padding', 'VALID'),
        dilations=pair(args.all('dilation_rate')))


def depthwise_conv2d(self, args, x):
    return self.finished(depthwise(self, args, x), args)


def separable_conv2d(self, args, x):
    y = depthwise(self, args, x)
    kernel = self.variable('pointwise_kernel', [1, 1, y.shape[-1], args.get('filters')],
                           args.get('pointwise_initializer'))
    return self.finished(tf.nn.conv2d(self.operand(y), self.operand(kernel), 1, 'VALID'), args)


def edges(values, default=1):
    """Of each axis, as Keras wants them."""
    values = list(values) or [default]
    if len(values) == 4:
        return tuple(values[:2]), tuple(values[2:])
    return tuple(pair(values))


def keras(name, layer):
    """`layer` makes one of Keras from the arguments."""
    def build(self, args, x):
        return layer(args)(x)
    build.__name__ = name
    return build


def named(name, build):
    build.__name__ = name
    return build


K = tf.keras.layers
LEAVES = [
    conv1d, conv2d, conv2d_transpose, depthwise_conv2d, separable_conv2d, global_average_pooling1d,
    global_max_pooling1d,
    named('max_pooling1d', pool1d(K.MaxPooling1D)), named('average_pooling1d', pool1d(K.AveragePooling1D)),
    named('max_pooling2d', pool(tf.nn.max_pool2d)), named('average_pooling2d', pool(tf.nn.avg_pool2d)),
    keras('global_average_pooling2d', lambda args: K.GlobalAveragePooling2D()),
    keras('global_max_pooling2d', lambda args: K.GlobalMaxPooling2D()),
    keras('zero_padding1d', lambda args: K.ZeroPadding1D(tuple(pair(args.all('padding'))))),
    keras('zero_padding2d', lambda args: K.ZeroPadding2D(edges(args.all('padding')))),
    keras('cropping1d', lambda args: K.Cropping1D(tuple(pair(args.all('cropping'))))),
    keras('cropping2d', lambda args: K.Cropping2D(edges(args.all('cropping')))),
    keras('up_sampling1d', lambda args: K.UpSampling1D(args.get('size', 2))),
    keras('up_sampling2d', lambda args: K.UpSampling2D(
        tuple(pair(args.all('size'), (2, 2))), interpolation=args.get('interpolation', 'NEAREST').lower())),
    keras('repeat_vector', lambda args: K.RepeatVector(args.get('n')))]
