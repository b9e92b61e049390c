"""Golden files with the numbers of the real TensorFlow.

  python make_goldens.py FOLDER    writes FOLDER/{ops,layers,losses,metrics,schedules,clipping}/*.txt

goldens_test compares them with testdata.
"""
import math
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.init_ops import _compute_fans

from golden_text import HEAD, OpCase, OpError, declared, f32, number, shortest, tensor
import norm_goldens

losses = tf.compat.v1.losses


class LossCase:
    """One loss of x * kernel, and its gradient by the kernel."""

    def __init__(self, name, kind, arguments, loss, x, kernel, labels, weights=None, l2=0.0,
                 exclude=''):
        self.name, self.kind, self.arguments, self.loss = name, kind, arguments, loss
        self.x, self.kernel, self.labels, self.weights = x, kernel, labels, weights
        self.l2, self.exclude = l2, exclude  # the exclude of the bias, which there is with l2 alone

    def text(self):
        kernel = tf.Variable(self.kernel)
        with tf.GradientTape() as tape:
            predictions = tf.linalg.matmul(self.x, kernel)
            if self.l2:
                predictions += BIAS
            weights = 1.0 if self.weights is None else self.weights
            loss = self.loss(self.labels, predictions, weights)
            if self.l2:
                kept = [kernel] if self.exclude else [kernel, tf.constant(BIAS)]
                loss += self.l2 * tf.add_n([tf.nn.l2_loss(v) for v in kept])
        gradient = tape.gradient(loss, kernel).numpy()
        of = 'logits' if self.kind.endswith('entropy') else 'predictions'
        arguments = f'labels: "y" {of}: "z"{self.arguments}'
        lines = [f'case: {self.name}', 'model:', declared('feature', 'x', self.x),
                 declared('label', 'y', self.labels)]
        if self.weights is not None:
            lines.append(declared('label', 'w', self.weights))
            arguments += ' weights: "w"'
        units = self.kernel.shape[1]
        bias = '' if self.l2 else ' use_bias: false'
        lines += [f'  layer {{ name: "z" dense {{ units: {units}{bias} }} input: "x" }}',
                  f'  loss {{ name: "l" {self.kind} {{ {arguments} }} }}']
        if self.l2:
            lines.append(f'  regularization {{ l2 {{ scale: {self.l2}{self.exclude} }} }}')
        lines.append('  optimizer { gradient_descent {} learning_rate { constant: 1 } }')
        model = list(lines)
        variables = [f'variable z/bias: {tensor(BIAS)}'] if self.l2 else []
        variables.append(f'variable z/kernel: {tensor(self.kernel)}')
        fed = {'x': self.x, 'y': self.labels}
        if self.weights is not None:
            fed['w'] = self.weights
        lines += ['mode: TRAIN', *(f'feed {name}: {tensor(array)}' for name, array in fed.items()),
                  *variables, f'expect loss: {number(loss)}',
                  f'expect gradient z/kernel: {tensor(gradient)}', '']
        # Evaluated with a row of padding, a copy of the first.
        lines += [model[0] + ', evaluated', *model[1:], 'mode: EVAL',
                  *(f'feed {name}: {tensor(np.concatenate([array, array[:1]]))}'
                    for name, array in fed.items()),
                  f'feed row_weight: f32[{len(self.x) + 1}] = ' + '1 ' * len(self.x) + '0',
                  *variables, f'expect metric loss: {number(loss)}']
        return '\n'.join(lines) + '\n'


class MetricCase:
    """One metric of two batches, which tpurun sees as one with a row of padding."""

    def __init__(self, name, kind, arguments, metric, labels, predictions, weights=None):
        self.name, self.kind, self.arguments, self.metric = name, kind, arguments, metric
        self.labels, self.predictions, self.weights = labels, predictions, weights

    def value(self):
        half = (len(self.labels) + 1) // 2
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            arrays = [self.labels, self.predictions]
            if self.weights is not None:
                arrays.append(self.weights)
            fed = [tf.compat.v1.placeholder(a.dtype, (None,) + a.shape[1:]) for a in arrays]
            value, update = self.metric(*fed, *([None] if self.weights is None else []))
            session.run(tf.compat.v1.local_variables_initializer())
            for rows in (slice(0, half), slice(half, None)):
                session.run(update, {at: array[rows] for at, array in zip(fed, arrays)})
            return session.run(value)

    def text(self):
        rows = len(self.labels)
        arguments = f'labels: "y" predictions: "p"{self.arguments}'
        lines = [f'case: {self.name}', 'model:', declared('feature', 'p', self.predictions),
                 declared('label', 'y', self.labels)]
        fed = {'p': self.predictions, 'y': self.labels}
        if self.weights is not None:
            lines.append(declared('label', 'w', self.weights))
            arguments += ' weights: "w"'
            fed['w'] = self.weights
        lines += [f'  eval_metric {{ name: "m" {self.kind} {{ {arguments} }} }}', 'mode: EVAL']
        # The padding is a copy of the first row.
        lines += [f'feed {name}: {tensor(np.concatenate([array, array[:1]]))}'
                  for name, array in fed.items()]
        lines += [f'feed row_weight: f32[{rows + 1}] = ' + '1 ' * rows + '0',
                  f'expect metric m: {number(self.value())}']
        return '\n'.join(lines) + '\n'


def log_cosh(labels, predictions, weights):
    values = tf.keras.losses.LogCosh(reduction='none')
    # Of each element: Keras takes the mean over the last axis.
    elements = values(tf.expand_dims(labels, -1), tf.expand_dims(predictions, -1))
    return losses.compute_weighted_loss(elements, weights)


def smoothed_ids(share):
    return lambda labels, logits, weights: losses.softmax_cross_entropy(
        tf.one_hot(labels, logits.shape[-1]), logits, weights, label_smoothing=share)


def softmax(share):
    return lambda labels, logits, weights: losses.softmax_cross_entropy(
        labels, logits, weights, label_smoothing=share)


def sigmoid(share):
    return lambda labels, logits, weights: losses.sigmoid_cross_entropy(
        labels, logits, weights, label_smoothing=share)


X = f32([1, 2], [-1, 0.5], [3, -2], [0, 0])
KERNEL = f32([0.5, -1, 2], [1, 0.25, -0.75])
BIAS = np.array([0.5, -1, 0.25], np.float32)
PROBABILITIES = f32([0.2, 0.3, 0.5], [1, 0, 0], [0, 0.9, 0.1], [0, 0, 1])
FAR = f32([1, 2], [-30, 50], [3, -200], [0, 0])
IDS = np.array([2, 0, 1, 1], np.int32)
ROWS = np.array([1, 0, 2, 0.5], np.float32)
SEQUENCE = np.stack([X[:2], X[2:]])  # (2, 2, 2)

LOSSES = {
    'log_cosh': ('l = log(cosh(p - y))', [
        LossCase('near and far', 'log_cosh', '', log_cosh, FAR, KERNEL,
                 f32([2.5, -0.5, 0.5], [1, 2, 3], [0, 0, 0], [0, 1e-3, -1])),
        LossCase('weights of rows', 'log_cosh', '',
                 lambda y, p, w: log_cosh(y, p, w[:, None]), X, KERNEL, PROBABILITIES, ROWS),
    ]),
    'l2_regularization': ('the loss + scale * sum(v^2) / 2', [
        LossCase('of kernel and bias', 'softmax_cross_entropy', '', softmax(0), X,
                 KERNEL, PROBABILITIES, l2=0.1),
        LossCase('but for the bias', 'softmax_cross_entropy', '', softmax(0), X,
                 KERNEL, PROBABILITIES, ROWS, l2=0.02, exclude=' exclude: "bias$"'),
    ]),
    'sigmoid_cross_entropy': ('l = max(z, 0) - z y + log(1 + exp(-|z|))', [
        LossCase('near and far, and 0', 'sigmoid_cross_entropy', '', sigmoid(0), FAR, KERNEL,
                 f32([1, 0, 1], [0, 1, 0.25], [1, 1, 0], [1, 0, 0.5])),
        LossCase('smoothed, weights of rows', 'sigmoid_cross_entropy', ' label_smoothing: 0.2',
                 lambda y, z, w: sigmoid(0.2)(y, z, w[:, None]), X, KERNEL,
                 f32([1, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 0]), ROWS),
    ]),
    'softmax_cross_entropy': ('l = sum_c y_c (log(sum_j exp(z_j)) - z_c)', [
        LossCase('probabilities', 'softmax_cross_entropy', '', softmax(0), X, KERNEL, PROBABILITIES),
        LossCase('far', 'softmax_cross_entropy', '', softmax(0), FAR, KERNEL, PROBABILITIES),
        LossCase('smoothed, weights of rows', 'softmax_cross_entropy', ' label_smoothing: 0.1',
                 softmax(0.1), X, KERNEL, PROBABILITIES, ROWS),
        LossCase('of every position', 'softmax_cross_entropy', ' label_smoothing: 0.25',
                 softmax(0.25), SEQUENCE, KERNEL, PROBABILITIES.reshape(2, 2, 3)),
    ]),
    'sparse_softmax_cross_entropy_smoothed': (
        'softmax_cross_entropy of one-hot labels, smoothed: y_c (1 - s) + s / C', [
            LossCase('ids', 'sparse_softmax_cross_entropy', ' label_smoothing: 0.1',
                     smoothed_ids(0.1), X, KERNEL, IDS),
            LossCase('weights of rows', 'sparse_softmax_cross_entropy', ' label_smoothing: 0.3',
                     smoothed_ids(0.3), X, KERNEL, IDS, ROWS),
            LossCase('of every position', 'sparse_softmax_cross_entropy', ' label_smoothing: 0.3',
                     smoothed_ids(0.3), SEQUENCE, KERNEL, IDS.reshape(2, 2)),
        ]),
}

metrics = tf.compat.v1.metrics
SCORES = np.array([0.1, 0.4, 0.35, 0.8, 0.0, 1.0, 0.8, 0.55, 0.2], np.float32)
TRUTH = np.array([0, 0, 1, 1, 0, 1, 0, 1, 1], np.float32)
WEIGHTS = np.array([1, 2, 0, 0.5, 1, 3, 1, 0.25, 1], np.float32)
FOUND = np.array([0, 1, 1, 1, 0, 0, 2, 0, 1], np.int32)
TABLE = f32([1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1], [0, 5, 5, -1], [np.inf, 0, 0, 1],
            [2, np.nan, 1, 0])
CLASSES = np.array([3, 2, 0, 2, 3, 0], np.int64)


def in_top_k(k):
    def metric(labels, predictions, weights):
        return metrics.mean(tf.nn.in_top_k(labels, predictions, k), weights)
    return metric


METRICS = {
    'auc': ('The trapezoids under the ROC curve at 200 thresholds', [
        MetricCase('of rows', 'auc', '', metrics.auc, TRUTH, SCORES),
        MetricCase('weighted', 'auc', '', metrics.auc, TRUTH, SCORES, WEIGHTS),
        MetricCase('one class only', 'auc', '', metrics.auc, np.ones(9, np.float32), SCORES),
        MetricCase('several outputs a row', 'auc', '', metrics.auc, TRUTH.reshape(3, 3),
                   SCORES.reshape(3, 3)),
    ]),
    'in_top_k': ('1 where fewer than k values of the row are larger than the label\'s', [
        MetricCase('the largest', 'in_top_k', '', in_top_k(1), CLASSES, TABLE),
        MetricCase('of two', 'in_top_k', ' k: 2', in_top_k(2), CLASSES, TABLE),
        MetricCase('of three, weighted', 'in_top_k', ' k: 3', in_top_k(3), CLASSES, TABLE,
                   WEIGHTS[:6]),
    ]),
    'precision': ('true positives / predicted', [
        MetricCase('of rows', 'precision', '', metrics.precision, TRUTH, FOUND),
        MetricCase('weighted', 'precision', '', metrics.precision, TRUTH, FOUND, WEIGHTS),
        MetricCase('nothing predicted', 'precision', '', metrics.precision, TRUTH,
                   np.zeros(9, np.int32)),
    ]),
    'recall': ('true positives / true', [
        MetricCase('of rows', 'recall', '', metrics.recall, TRUTH, FOUND),
        MetricCase('weighted', 'recall', '', metrics.recall, TRUTH, FOUND, WEIGHTS),
        MetricCase('nothing true', 'recall', '', metrics.recall, np.zeros(9, np.float32), FOUND),
    ]),
    'root_mean_squared_error': ('sqrt(sum(w (p - y)^2) / sum(w))', [
        MetricCase('of rows', 'root_mean_squared_error', '', metrics.root_mean_squared_error, TRUTH,
                   SCORES),
        MetricCase('weighted', 'root_mean_squared_error', '', metrics.root_mean_squared_error, TRUTH,
                   SCORES, WEIGHTS),
    ]),
}


def draws(seed, *shape):
    """In [-1, 1], of two decimals."""
    return np.round(np.random.default_rng(seed).uniform(-1, 1, shape), 2).astype(np.float32)


def rounded(array):
    """To bf16 and back."""
    return tf.cast(tf.cast(array, tf.bfloat16), tf.float32)


def pads_of(padding, size, window, stride, dilation):
    """Before and after, along one axis, as tf.nn.convolution says."""
    if padding == 'VALID':
        return [0, 0]
    total = max((math.ceil(size / stride) - 1) * stride + (window - 1) * dilation + 1 - size, 0)
    return [total // 2, total - total // 2]


def convolutions(x_dims, kernel_dims, strides, padding, dilations=(1, 1)):
    """conv2d and its two gradients."""
    x, kernel = draws(1, *x_dims), draws(2, *kernel_dims)
    pads = sum((pads_of(padding, x_dims[i + 1], kernel_dims[i], strides[i], dilations[i])
                for i in range(2)), [])
    arguments = {'strides': [1, *strides, 1], 'padding': padding, 'dilations': [1, *dilations, 1]}
    y = tf.raw_ops.Conv2D(input=x, filter=kernel, **arguments)
    dy = draws(3, *y.shape)

    attrs = {'precision': 3, 'strides': strides, 'pads': pads}
    if dilations != (1, 1):
        attrs['dilations'] = dilations
    return [
        OpCase('conv2d', lambda x, kernel: y, x, kernel, **attrs),
        OpCase('conv2d_input_grad', lambda dy, kernel: tf.raw_ops.Conv2DBackpropInput(
            input_sizes=x_dims, filter=kernel, out_backprop=dy, **arguments), dy, kernel, **attrs,
               x_dims=x_dims),
        OpCase('conv2d_filter_grad', lambda x, dy: tf.raw_ops.Conv2DBackpropFilter(
            input=x, filter_sizes=kernel_dims, out_backprop=dy, **arguments), x, dy, **attrs,
               kernel_dims=kernel_dims),
    ]


VALID = {'precision': 3, 'strides': (1, 1), 'pads': (0, 0, 0, 0)}


def cross_entropy(logits, labels):
    result = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
    return [result.loss, result.backprop]


OPS = {
    'conv2d_dilations_and_groups': ('conv2d and its gradients: taps dh and dw pixels apart, channels in '
                                    'groups', [
        *convolutions((2, 6, 5, 1), (3, 2, 1, 2), (1, 1), 'VALID', (2, 3)),
        *convolutions((2, 3, 4, 2), (3, 3, 2, 2), (1, 1), 'SAME', (2, 3)),
        *convolutions((1, 7, 5, 2), (2, 3, 2, 3), (2, 3), 'SAME', (3, 2)),
        *convolutions((1, 9, 5, 1), (3, 3, 1, 2), (3, 2), 'VALID', (2, 1)),
        *convolutions((2, 2, 3, 4), (2, 2, 2, 6), (1, 1), 'SAME'),
        *convolutions((1, 5, 3, 6), (3, 2, 2, 3), (2, 1), 'VALID'),
        *convolutions((2, 3, 4, 3), (3, 3, 1, 6), (2, 2), 'SAME'),
        *convolutions((1, 5, 3, 4), (2, 2, 1, 4), (2, 1), 'SAME', (3, 3)),
        OpError('conv2d', 'conv2d: want x [N,H,W,C] and a kernel [KH,KW,C/groups,F], groups dividing '
                'C and F, got [1,2,2,4] and [1,1,2,3]', draws(1, 1, 2, 2, 4), draws(2, 1, 1, 2, 3),
                **VALID),
        OpError('conv2d', 'conv2d: a kernel of 2x3 with dilations [2,3] does not fit into [1,4,6,1] '
                'with pads [0,0,0,0]', draws(1, 1, 4, 6, 1), draws(2, 2, 3, 1, 1),
                **VALID, dilations=(2, 3)),
        OpError('conv2d', 'conv2d: want 2 dilations of 1 or more, got [0,1]', draws(1, 1, 2, 2, 1),
                draws(2, 1, 1, 1, 1), **VALID, dilations=(0, 1)),
    ]),
    'sin': ('sin(x)', [
        OpCase('sin', tf.math.sin, np.array([-100, -0.5, 0, 1, 3.1415927, 10], np.float32)),
        OpError('sin', 'sin: want f32, got s32[1]', np.array([1], np.int32)),
    ]),
    'cos': ('cos(x)', [
        OpCase('cos', tf.math.cos, np.array([-100, -0.5, 0, 1, 3.1415927, 10], np.float32)),
        OpError('cos', 'cos: want f32, got s32[1]', np.array([1], np.int32)),
    ]),
    'elu': ('x, exp(x) - 1', [
        OpCase('elu', tf.nn.elu, np.array([-100, -3, -0.001, 0.001, 2, 100], np.float32)),
        OpError('elu', 'elu: want f32, got s32[1]', np.array([1], np.int32)),
    ]),
    'softplus': ('log(1 + exp(x))', [
        OpCase('softplus', tf.math.softplus, np.array([-100, -30, -1, 0, 2, 30, 100], np.float32)),
        OpError('softplus', 'softplus: want f32, got s32[1]', np.array([1], np.int32)),
    ]),
    'softmax_cross_entropy': ('sum_c y_c (log(sum_j exp(x_j)) - x_c), and softmax(x) - y', [
        OpCase('softmax_cross_entropy', cross_entropy,
               f32([1, 2, 3], [0, 0, 0], [0.5, -0.5, 0.25], [1000, 0, -1000]), PROBABILITIES,
               no_gradient='none flows to the labels; testdata/losses has that of the logits'),
        OpError('softmax_cross_entropy',
                'softmax_cross_entropy: want f32[N,C] and labels of that shape, got f32[1,3] and '
                'f32[1,2]', f32([1, 2, 3]), f32([0, 1])),
    ]),
}


class LayerCase:
    """A layer of x with a kernel and a bias; the gradients of its mean squared error, that of the
    kernel of a dense layer before it included."""

    def __init__(self, name, fields, function, x_dims, kernel_dims, filters, tpu=False):
        self.name, self.fields, self.function, self.tpu = name, fields, function, tpu
        self.x, self.kernel, self.bias = draws(1, *x_dims), draws(2, *kernel_dims), draws(3, filters)

    def lines(self, name, before, mode, loss=()):
        feature = declared('feature', 'x', self.x)
        layer = f'  layer {{ name: "y" {self.fields} }}'
        lines = [f'case: {name}', 'model:', feature, *before, layer, *loss, f'mode: {mode}']
        return lines + (['use_tpu: true'] if self.tpu else [])

    def predicted(self):
        operands = [rounded(array) if self.tpu else array for array in (self.x, self.kernel)]
        y = self.function(tf.constant(operands[0]), tf.Variable(operands[1]), tf.Variable(self.bias))
        fan_in, fan_out = _compute_fans(self.kernel.shape)
        limit = math.sqrt(3 / max(1, (fan_in + fan_out) / 2))
        initializer = f'uniform({-limit!r},{limit!r})'
        if 'variance_scaling' in self.fields:
            # The divisor is variance_scaling's, of draws that are cut off.
            initializer = f'truncated_normal(0,{math.sqrt(1 / fan_in) / .87962566103423978!r})'
        dims = ','.join(map(str, self.kernel.shape))
        return self.lines(self.name, [], 'PREDICT', ['  prediction { name: "y" }']) + [
            f'feed x: {tensor(self.x)}', f'variable y/kernel: {tensor(self.kernel)}',
            f'variable y/bias: {tensor(self.bias)}', f'expect prediction y: {tensor(y.numpy())}',
            'expect variables:',
            f'  "y/kernel" f32[{dims}] {initializer} trainable',
            f'  "y/bias" f32[{len(self.bias)}] constant(0) trainable'], y.shape

    def trained(self, y_dims):
        channels = self.x.shape[-1]
        dense, wanted = draws(4, channels, channels), draws(5, *y_dims)
        variables = {name: tf.Variable(array) for name, array in (
            ('u/kernel', dense), ('y/kernel', self.kernel), ('y/bias', self.bias))}
        with tf.GradientTape() as tape:
            u = tf.linalg.matmul(self.x, variables['u/kernel'])
            y = self.function(u, variables['y/kernel'], variables['y/bias'])
            loss = losses.mean_squared_error(wanted, y)
        gradients = tape.gradient(loss, variables)
        return self.lines(f'{self.name}, trained', [
            declared('label', 'w', wanted),
            f'  layer {{ name: "u" dense {{ units: {channels} use_bias: false }} input: "x" }}'],
                          'TRAIN', ['  loss { name: "l" mean_squared_error { labels: "w" predictions: "y" } }',
                                    '  optimizer { gradient_descent {} learning_rate { constant: 1 } }']) + [
            f'feed x: {tensor(self.x)}', f'feed w: {tensor(wanted)}', 'tolerance: 1e-5',
            *(f'variable {name}: {tensor(variables[name].numpy())}' for name in variables),
            f'expect loss: {number(loss)}',
            *(f'expect gradient {name}: {tensor(gradients[name].numpy())}' for name in variables)]

    def text(self):
        lines, y_dims = self.predicted()
        if not self.tpu:
            lines += ['', *self.trained(y_dims)]
        return '\n'.join(lines) + '\n'


def keras(layer):
    """A Keras layer as a function of x, kernel and bias."""
    def function(x, kernel, bias):
        layer.build(x.shape)
        layer.kernel, layer.bias = kernel, bias
        return layer(x)
    return function


def conv2d(strides, padding, dilations):
    """What Keras refuses: strides with dilations."""
    return lambda x, kernel, bias: tf.nn.bias_add(
        tf.nn.conv2d(x, kernel, strides, padding, dilations=dilations), bias)


Conv2D, Conv2DTranspose = tf.keras.layers.Conv2D, tf.keras.layers.Conv2DTranspose
LAYERS = {
    'conv2d_dilation_and_groups': ('y = f(x * kernel + bias) with dilation_rate and groups', [
        LayerCase('dilated, valid', 'conv2d { filters: 3 kernel_size: 3 dilation_rate: 2 }',
                  keras(Conv2D(3, 3, dilation_rate=2)), (2, 5, 6, 2), (3, 3, 2, 3), 3),
        LayerCase('dilated by two rates, same', 'conv2d { filters: 2 kernel_size: [2, 3] padding: SAME '
                  'dilation_rate: [3, 2] activation: TANH }',
                  keras(Conv2D(2, (2, 3), dilation_rate=(3, 2), padding='same', activation='tanh')),
                  (2, 4, 5, 2), (2, 3, 2, 2), 2),
        LayerCase('dilated, with strides, same', 'conv2d { filters: 2 kernel_size: 3 strides: 2 '
                  'padding: SAME dilation_rate: 2 }', conv2d(2, 'SAME', 2), (2, 5, 6, 2),
                  (3, 3, 2, 2), 2),
        LayerCase('dilated, with two strides, valid', 'conv2d { filters: 2 kernel_size: [3, 2] '
                  'strides: [2, 3] dilation_rate: [2, 4] }', conv2d((2, 3), 'VALID', (2, 4)),
                  (1, 7, 8, 2), (3, 2, 2, 2), 2),
        LayerCase('groups', 'conv2d { filters: 6 kernel_size: 3 padding: SAME groups: 3 }',
                  keras(Conv2D(6, 3, padding='same', groups=3)), (1, 3, 4, 6), (3, 3, 2, 6), 6),
        LayerCase('groups, with strides, valid', 'conv2d { filters: 4 kernel_size: [3, 2] strides: 2 '
                  'groups: 2 activation: SIGMOID }',
                  keras(Conv2D(4, (3, 2), strides=2, groups=2, activation='sigmoid')), (2, 5, 3, 4),
                  (3, 2, 2, 4), 4),
        LayerCase('one channel a group', 'conv2d { filters: 6 kernel_size: 2 groups: 3 }',
                  keras(Conv2D(6, 2, groups=3)), (2, 3, 3, 3), (2, 2, 1, 6), 6),
        LayerCase('one channel a group, with strides, same', 'conv2d { filters: 4 kernel_size: 3 '
                  'strides: 2 padding: SAME groups: 4 }',
                  keras(Conv2D(4, 3, strides=2, padding='same', groups=4)), (2, 5, 4, 4),
                  (3, 3, 1, 4), 4),
        LayerCase('one channel a group, dilated', 'conv2d { filters: 4 kernel_size: 2 groups: 2 '
                  'dilation_rate: 3 }', keras(Conv2D(4, 2, groups=2, dilation_rate=3)), (2, 4, 5, 2),
                  (2, 2, 1, 4), 4),
        LayerCase('the TPU rounds both operands to bf16', 'conv2d { filters: 4 kernel_size: 3 groups: 2 '
                  'dilation_rate: 2 }', keras(Conv2D(4, 3, groups=2, dilation_rate=2)), (1, 6, 6, 4),
                  (3, 3, 2, 4), 4, tpu=True),
    ]),
    'conv2d_transpose': ('y = f(the gradient of a conv2d by its input + bias)', [
        LayerCase('valid, the defaults', 'conv2d_transpose { filters: 3 kernel_size: [3, 2] '
                  'kernel_initializer { variance_scaling {} } }', keras(Conv2DTranspose(3, (3, 2))),
                  (2, 3, 4, 2), (3, 2, 3, 2), 3),
        LayerCase('valid, with strides', 'conv2d_transpose { filters: 2 kernel_size: 3 strides: 2 '
                  'activation: TANH }', keras(Conv2DTranspose(2, 3, strides=2, activation='tanh')),
                  (2, 3, 2, 3), (3, 3, 2, 3), 2),
        LayerCase('valid, strides wider than the kernel', 'conv2d_transpose { filters: 2 '
                  'kernel_size: [2, 1] strides: 3 }', keras(Conv2DTranspose(2, (2, 1), strides=3)),
                  (2, 2, 3, 2), (2, 1, 2, 2), 2),
        LayerCase('same', 'conv2d_transpose { filters: 2 kernel_size: [3, 4] padding: SAME }',
                  keras(Conv2DTranspose(2, (3, 4), padding='same')), (2, 3, 4, 2), (3, 4, 2, 2), 2),
        LayerCase('same, with strides', 'conv2d_transpose { filters: 1 kernel_size: 3 strides: 2 '
                  'padding: SAME activation: SIGMOID }',
                  keras(Conv2DTranspose(1, 3, strides=2, padding='same', activation='sigmoid')),
                  (2, 3, 3, 2), (3, 3, 1, 2), 1),
        LayerCase('same, two strides, one wider than the kernel', 'conv2d_transpose { filters: 2 '
                  'kernel_size: [5, 2] strides: [2, 3] padding: SAME }',
                  keras(Conv2DTranspose(2, (5, 2), strides=(2, 3), padding='same')), (2, 3, 2, 3),
                  (5, 2, 2, 3), 2),
        LayerCase('the TPU rounds both operands to bf16', 'conv2d_transpose { filters: 2 kernel_size: 3 '
                  'strides: 2 padding: SAME }',
                  keras(Conv2DTranspose(2, 3, strides=2, padding='same')), (1, 3, 4, 3), (3, 3, 2, 3),
                  2, tpu=True),
    ]),
}


class ScheduleCase:

    def __init__(self, name, text, rate, steps):
        self.name, self.schedule, self.rate, self.steps = name, text, rate, steps

    def text(self):
        lines = [f'case: {self.name}', f'schedule: {self.schedule}']
        for step in self.steps:
            rate = self.rate(tf.constant(step, tf.int64))
            rate = rate() if callable(rate) else rate
            lines.append(f'expect {step}: {number(rate)}')
        return '\n'.join(lines) + '\n'


train = tf.compat.v1.train
STEPS = [0, 1, 250, 999, 1000, 1001, 2500, 123456]
SCHEDULES = {
    'polynomial_decay': ('(eta_0 - eta_T) (1 - t / T) ^ p + eta_T, as tf.train.polynomial_decay', [
        ScheduleCase('a line', 'polynomial_decay { initial_learning_rate: 0.1 decay_steps: 1000 }',
                     lambda t: train.polynomial_decay(0.1, t, 1000), STEPS),
        ScheduleCase('a root, to 0', 'polynomial_decay { initial_learning_rate: 0.1 decay_steps: 1000 '
                     'end_learning_rate: 0 power: 0.5 }',
                     lambda t: train.polynomial_decay(0.1, t, 1000, 0.0, 0.5), STEPS),
        ScheduleCase('cycles', 'polynomial_decay { initial_learning_rate: 0.1 decay_steps: 1000 '
                     'end_learning_rate: 0.01 power: 2 cycle: true }',
                     lambda t: train.polynomial_decay(0.1, t, 1000, 0.01, 2.0, True), STEPS),
        ScheduleCase('upwards', 'polynomial_decay { initial_learning_rate: 0 decay_steps: 1000 '
                     'end_learning_rate: 1 }',
                     lambda t: train.polynomial_decay(0.0, t, 1000, 1.0), STEPS),
    ]),
    'cosine_decay': ('eta_0 ((1 - alpha) (1 + cos(pi t / T)) / 2 + alpha), as tf.train.cosine_decay', [
        ScheduleCase('to 0', 'cosine_decay { initial_learning_rate: 0.1 decay_steps: 1000 }',
                     lambda t: train.cosine_decay(0.1, t, 1000), STEPS),
        ScheduleCase('to a tenth',
                     'cosine_decay { initial_learning_rate: 0.1 decay_steps: 1000 alpha: 0.1 }',
                     lambda t: train.cosine_decay(0.1, t, 1000, 0.1), STEPS),
    ]),
}


class ClippingCase:

    def __init__(self, name, fields, clip, **gradients):
        self.name, self.fields, self.clip, self.gradients = name, fields, clip, gradients

    def text(self):
        clipped = self.clip(list(self.gradients.values()))
        lines = [f'case: {self.name}', 'optimizer: gradient_descent {} learning_rate { constant: 1 } '
                 + self.fields]
        lines += [f'gradient {name}: {tensor(value)}' for name, value in self.gradients.items()]
        lines += [f'expect {name}: {tensor(np.array(value))}'
                  for name, value in zip(self.gradients, clipped)]
        return '\n'.join(lines) + '\n'


def each(clip, most):
    return lambda gradients: [clip(gradient, most) for gradient in gradients]


def together(most):
    return lambda gradients: tf.clip_by_global_norm(gradients, most)[0]


A, B = f32([3, -4], [0.5, 1]), np.array([0.1, -0.2, 0], np.float32)
NOTHING = np.zeros(2, np.float32)
CLIPPING = {
    'clip_by_value': ('max(min(g, c), -c)', [
        ClippingCase('some', 'clip_by_value: 0.75',
                     each(lambda g, c: tf.clip_by_value(g, -c, c), 0.75), a=A, b=B),
    ]),
    'clip_by_norm': ('g c / max(|g|, c)', [
        ClippingCase('one of three', 'clip_by_norm: 2', each(tf.clip_by_norm, 2.0),
                     a=A, b=B, c=NOTHING),
    ]),
    'clip_by_global_norm': ('g c min(1 / n, 1 / c)', [
        ClippingCase('all', 'clip_by_global_norm: 2', together(2.0), a=A, b=B, c=NOTHING),
        ClippingCase('none', 'clip_by_global_norm: 100', together(100.0), a=A, b=B),
        ClippingCase('nothing to scale', 'clip_by_global_norm: 1', together(1.0), c=NOTHING),
        ClippingCase('not finite', 'clip_by_global_norm: 1', together(1.0),
                     a=np.array([np.inf, 1], np.float32), b=B),
        ClippingCase('after the others', 'clip_by_value: 0.75 clip_by_norm: 1 clip_by_global_norm: 0.9',
                     lambda gradients: together(0.9)(each(tf.clip_by_norm, 1.0)(
                         each(lambda g, c: tf.clip_by_value(g, -c, c), 0.75)(gradients))), a=A, b=B),
    ]),
}


def main(folder):
    for kind, files in (('ops', {**OPS, **norm_goldens.OPS}),
                        ('layers', {**LAYERS, **norm_goldens.LAYERS}), ('losses', LOSSES), ('metrics', METRICS),
                        ('schedules', SCHEDULES), ('clipping', CLIPPING)):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        for name, (formula, cases) in files.items():
            with open(os.path.join(folder, kind, name + '.txt'), 'w', encoding='utf-8') as file:
                file.write('\n'.join([HEAD.format(formula=formula)] + [case.text() for case in cases]))


if __name__ == '__main__':
    main(sys.argv[1])
