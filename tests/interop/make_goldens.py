"""Golden files with the numbers of the real TensorFlow.

  python make_goldens.py FOLDER    writes FOLDER/{ops,layers,losses,metrics,schedules,
                                   clipping}/*.txt

goldens_test compares them with testdata.
"""
import os
import sys

import numpy as np
import tensorflow as tf

losses = tf.compat.v1.losses
NAMES = {'float32': ('f32', 'FLOAT32'), 'int32': ('s32', 'INT32'), 'int64': ('s64', 'INT64')}
HEAD = (f'# {{formula}}\n# Expected numbers: TensorFlow {tf.__version__}, by tests/interop/make_goldens.py.\n')


def f32(*rows):
    return np.array(rows, np.float32)


def number(value):
    return repr(float(np.float32(value)))


def tensor(array):
    name, _ = NAMES[str(array.dtype)]
    dims = ','.join(map(str, array.shape))
    return f'{name}[{dims}] = ' + ' '.join(f'{value:.9g}' for value in array.reshape(-1).tolist())


def declared(kind, name, array):
    """The line that declares a feature or label of the batch."""
    shape = array.shape[1:]
    dims = str(shape[0]) if len(shape) == 1 else str(list(shape))
    return (f'  {kind} {{ name: "{name}" dtype: {NAMES[str(array.dtype)][1]}'
            + (f' shape: {dims}' if shape else '') + ' }')


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


class OpCase:

    def __init__(self, op, function, *operands, attrs='', no_gradient=''):
        self.op, self.function, self.operands = op, function, operands
        self.attrs = attrs
        self.no_gradient = no_gradient  # why

    def text(self):
        results = tf.nest.flatten(self.function(*self.operands))
        lines = [f'op {self.op} {{{self.attrs}}}']
        lines += [f'{kind} {tensor(np.array(array)).replace(" = ", " ")}'
                  for kind, arrays in (('operand', self.operands), ('result', results))
                  for array in arrays]
        lines.append('tolerance 1e-6')
        if self.no_gradient:
            lines.append(f'no_gradient {self.no_gradient}')
        return '\n'.join(lines) + '\n'


class OpError:
    """What is refused, in our words."""

    def __init__(self, op, message, *operands, attrs=''):
        self.op, self.message, self.operands, self.attrs = op, message, operands, attrs

    def text(self):
        lines = [f'op {self.op} {{{self.attrs}}}']
        lines += [f'operand {tensor(array).replace(" = ", " ")}' for array in self.operands]
        return '\n'.join(lines + [f'error {self.message}']) + '\n'


def cross_entropy(logits, labels):
    result = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
    return [result.loss, result.backprop]


def columns(x):
    """The axes but for the last."""
    return list(range(x.ndim - 1))


def batch_norm_sums(dy, x, mean):
    return [tf.reduce_sum(dy, columns(x)), tf.reduce_sum(dy * (x - mean), columns(x))]


def drawn(*dims, seed=0):
    """Quarters, which every format writes exactly."""
    return (np.random.default_rng(seed).integers(-8, 9, dims) / 4).astype(np.float32)


IMAGES = drawn(2, 3, 2, 3)
ROW = np.array([0.5, -1, 2], np.float32)
SPREAD = np.array([1, 0.25, 4], np.float32)

OPS = {
    'sum_of_rows': ('sum over all axes but the last', [
        OpCase('sum_of_rows', lambda x: tf.reduce_sum(x, columns(x)), IMAGES),
        OpCase('sum_of_rows', lambda x: tf.reduce_sum(x, columns(x)), drawn(130, 2, seed=1)),
        OpError('sum_of_rows', 'sum_of_rows: want f32[...,C], got f32[3]', ROW),
    ]),
    'moments': ('tf.nn.moments over all axes but the last', [
        OpCase('moments', lambda x: tf.nn.moments(x, columns(x)), IMAGES),
        OpCase('moments', lambda x: tf.nn.moments(x, columns(x)), drawn(3, 34, seed=2)),
        OpError('moments', 'moments: want f32[N,...,C] and f32[C], got f32[3]', ROW),
    ]),
    'batch_norm': ('tf.nn.batch_normalization', [
        OpCase('batch_norm', lambda x, mean, variance, gamma, beta: tf.nn.batch_normalization(
            x, mean, variance, beta, gamma, 0.25), IMAGES, ROW, SPREAD, -ROW, ROW,
               attrs='epsilon=0.25f'),
        OpError('batch_norm', 'batch_norm: want f32[N,...,C] and f32[C], got f32[4,2] and f32[3] '
                'and f32[3] and f32[3] and f32[3]', X, ROW, SPREAD, ROW, ROW,
                attrs='epsilon=0.25f'),
    ]),
    'batch_norm_grad': ('sums of dy and of dy (x - mean) over all axes but the last', [
        OpCase('batch_norm_grad', batch_norm_sums, drawn(2, 3, 2, 3, seed=3), IMAGES, ROW,
               no_gradient='second derivatives of batch_norm are not there'),
        OpError('batch_norm_grad', 'batch_norm_grad: want f32[N,...,C] and f32[C], got f32[4,2] '
                'and f32[4,2] and f32[3]', X, X, ROW),
    ]),
    'sin': ('sin(x)', [
        OpCase('sin', tf.math.sin, np.array([-100, -0.5, 0, 1, 3.1415927, 10], np.float32)),
        OpError('sin', 'sin: want f32, got s32[1]', np.array([1], np.int32)),
    ]),
    'cos': ('cos(x)', [
        OpCase('cos', tf.math.cos, np.array([-100, -0.5, 0, 1, 3.1415927, 10], np.float32)),
        OpError('cos', 'cos: want f32, got s32[1]', np.array([1], np.int32)),
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
    """One training step's forward and backward pass of layers of x, and of the model in use."""

    def __init__(self, name, layers, function, x, variables, updates=None, evaluated=None):
        self.name, self.layers, self.function, self.x = name, layers, function, x
        self.variables = variables  # {name: array} that are trained
        # {name: (value before, what gives the value after from it and the batch's outcome)}; None
        # gives any.
        self.updates = updates or {}
        self.evaluated = evaluated  # a function as `function`; None: it is the same

    def text(self):
        trained = {name: tf.Variable(value) for name, value in self.variables.items()}
        before = {name: value for name, (value, _) in self.updates.items()}
        with tf.GradientTape() as tape:
            y, outcome = self.function(self.x, {**trained, **before})
            labels = drawn(*y.shape, seed=7)
            loss = tf.reduce_mean(tf.square(y - labels))
        gradients = tape.gradient(loss, list(trained.values()))
        model = ['model:', declared('feature', 'x', self.x), declared('label', 'y', labels),
                 *(f'  {layer}' for layer in self.layers)]
        variables = [f'variable {name}: {tensor(value)}'
                     for name, value in {**self.variables, **before}.items()]
        lines = [f'case: {self.name}, trained', *model,
                 '  loss { name: "l" mean_squared_error { labels: "y" predictions: "z" } }',
                 '  optimizer { gradient_descent {} learning_rate { constant: 1 } }',
                 'mode: TRAIN', f'feed x: {tensor(self.x)}', f'feed y: {tensor(labels)}',
                 *variables, 'tolerance: 1e-5', f'expect loss: {number(loss)}']
        lines += [f'expect gradient {name}: {tensor(gradient.numpy())}'
                  for name, gradient in zip(trained, gradients)]
        lines += [f'expect update {name}: {tensor(np.array(after(value, outcome)))}'
                  for name, (value, after) in self.updates.items() if after]
        y, _ = (self.evaluated or self.function)(self.x, {**self.variables, **before})
        lines += ['', f'case: {self.name}, in use', *model,
                  '  prediction { name: "p" tensor: "z" }', 'mode: PREDICT',
                  f'feed x: {tensor(self.x)}', *variables, 'tolerance: 1e-5',
                  f'expect prediction p: {tensor(np.array(y))}']
        return '\n'.join(lines) + '\n'


def conv(x, kernel, strides=1):
    return tf.nn.conv2d(x, kernel, strides, 'SAME')


def fused_norm(x, gamma, beta, epsilon):
    """TensorFlow's op for images: y, the batch's mean and its variance without bias."""
    y, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
        x=x, scale=gamma, offset=beta, mean=np.zeros(0, np.float32),
        variance=np.zeros(0, np.float32), epsilon=epsilon, is_training=True)
    return y, mean, variance


def plain_norm(x, gamma, beta, epsilon):
    mean, variance = tf.nn.moments(x, list(range(len(x.shape) - 1)))
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon), mean, variance


def moving(momentum, index):
    return lambda before, outcome: before * momentum + outcome[index] * (1 - momentum)


def norm_case(name, layers, before, norm, x, variables, momentum=0.99, epsilon=1e-3):
    """`layers` ends with a batch_normalization "z" of what `before` makes of x."""
    def trained(x, v):
        h = before(x, v)
        c = h.shape[-1]
        y, mean, variance = norm(h, v.get('z/gamma', tf.ones(c)), v.get('z/beta', tf.zeros(c)),
                                 epsilon)
        return y, (mean, variance)

    def in_use(x, v):
        h = before(x, v)
        return tf.nn.batch_normalization(h, v['z/moving_mean'], v['z/moving_variance'],
                                         v.get('z/beta'), v.get('z/gamma'), epsilon), None

    return LayerCase(name, layers, trained, x, variables,
                     {'z/moving_mean': (ROW, moving(momentum, 0)),
                      'z/moving_variance': (SPREAD, moving(momentum, 1))}, in_use)


def resnet_block(bottleneck, strides):
    """The official ResNet v1.5's, two blocks, of the variables below z_0 and z_1."""
    def norm(x, v, name):
        return plain_norm(x, v[name + '/gamma'], v[name + '/beta'], 1e-3)[0]

    def block(x, v, scope, strides, project):
        h, sizes = x, ([1, 3, 1] if bottleneck else [3, 3])
        for i in range(len(sizes)):
            number = f'_{i}' if i else ''
            h = conv(h, v[f'{scope}/residual/conv2d{number}/kernel'],
                     strides if i == (1 if bottleneck else 0) else 1)
            h = norm(h, v, f'{scope}/residual/batch_normalization{number}')
            if i + 1 < len(sizes):
                h = tf.nn.relu(h)
        if project:
            x = conv(x, v[f'{scope}/residual/shortcut/conv2d/kernel'], strides)
            x = norm(x, v, f'{scope}/residual/shortcut/batch_normalization')
        return tf.nn.relu(h + x)

    def function(x, v):
        return block(block(x, v, 'z_0', strides, True), v, 'z_1', 1, False), None
    return function


def resnet_variables(bottleneck, inputs, filters):
    variables = {}

    def add(scope, number, size, inputs, outputs):
        seed = len(variables)
        variables[f'{scope}/conv2d{number}/kernel'] = drawn(size, size, inputs, outputs, seed=seed)
        variables[f'{scope}/batch_normalization{number}/gamma'] = drawn(outputs, seed=seed + 1)
        variables[f'{scope}/batch_normalization{number}/beta'] = drawn(outputs, seed=seed + 2)

    outputs = 4 * filters if bottleneck else filters
    for copy, read in enumerate([inputs, outputs]):
        scope = f'z_{copy}/residual'
        if bottleneck:
            add(scope, '', 1, read, filters)
            add(scope, '_1', 3, filters, filters)
            add(scope, '_2', 1, filters, outputs)
        else:
            add(scope, '', 3, read, filters)
            add(scope, '_1', 3, filters, filters)
        if copy == 0:
            add(scope + '/shortcut', '', 1, inputs, outputs)
    return variables


class ResnetCase(LayerCase):
    """In use it normalizes with the moving statistics, which are those of an untrained block."""

    def __init__(self, name, fields, bottleneck, strides, x, filters):
        variables = resnet_variables(bottleneck, x.shape[-1], filters)
        super().__init__(name, [f'layer {{ name: "z" resnet_block {{ {fields} }} input: "x" }}'],
                         resnet_block(bottleneck, strides), x, variables,
                         {name[:-4] + statistic: (np.full(beta.shape, value, np.float32), None)
                          for name, beta in variables.items() if name.endswith('/beta')
                          for statistic, value in (('moving_mean', 0), ('moving_variance', 1))})

    def text(self):
        return super().text().split('\ncase: ')[0] + '\n'


DENSE = 'layer { name: "h" dense { units: 3 use_bias: false } input: "x" }'
CONV = ('layer { name: "h" conv2d { filters: 3 kernel_size: 2 use_bias: false padding: SAME } '
        'input: "x" }')
MATRIX, FILTER = drawn(2, 3, seed=4), drawn(2, 2, 3, 3, seed=5)
GAMMA = {'z/gamma': np.array([1, -2, 0.5], np.float32)}
BETA = {'z/beta': ROW}

LAYERS = {
    'batch_normalization': (
        'y = (x - mean) gamma / sqrt(variance + epsilon) + beta; moving = moving m + batch (1 - m)', [
            norm_case('of rows', [DENSE, 'layer { name: "z" batch_normalization {} }'],
                      lambda x, v: tf.matmul(x, v['h/kernel']), plain_norm, drawn(5, 2, seed=6),
                      {'h/kernel': MATRIX, **GAMMA, **BETA}),
            norm_case('of images', [CONV, 'layer { name: "z" batch_normalization { momentum: 0.75 '
                                    'epsilon: 0.125 } }'],
                      lambda x, v: conv(x, v['h/kernel']),
                      fused_norm, drawn(2, 3, 4, 3, seed=8),
                      {'h/kernel': FILTER, **GAMMA, **BETA}, 0.75, 0.125),
            norm_case('of positions, without center', [
                DENSE, 'layer { name: "z" batch_normalization { center: false } }'],
                      lambda x, v: tf.einsum('ntk,kc->ntc', x, v['h/kernel']), plain_norm,
                      drawn(2, 4, 2, seed=9), {'h/kernel': MATRIX, **GAMMA}),
            norm_case('without scale', [
                DENSE, 'layer { name: "z" batch_normalization { scale: false } }'],
                      lambda x, v: tf.matmul(x, v['h/kernel']), plain_norm, drawn(5, 2, seed=6),
                      {'h/kernel': MATRIX, **BETA}),
        ]),
    'resnet_block': ('y = relu(f(x) + shortcut(x)), f of conv2d, batch_normalization and relu', [
        ResnetCase('two blocks', 'filters: 2 strides: 2 repeat: 2', False, 2,
                   drawn(2, 5, 4, 3, seed=10), 2),
        ResnetCase('bottlenecks', 'filters: 1 bottleneck: true repeat: 2', True, 1,
                   drawn(2, 3, 3, 2, seed=11), 1),
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
    for kind, files in (('ops', OPS), ('layers', LAYERS), ('losses', LOSSES), ('metrics', METRICS),
                        ('schedules', SCHEDULES), ('clipping', CLIPPING)):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        for name, (formula, cases) in files.items():
            with open(os.path.join(folder, kind, name + '.txt'), 'w', encoding='utf-8') as file:
                file.write('\n'.join([HEAD.format(formula=formula)] + [case.text() for case in cases]))


if __name__ == '__main__':
    main(sys.argv[1])
