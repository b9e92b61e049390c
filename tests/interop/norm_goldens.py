"""Golden cases of what normalizes."""
import numpy as np
import tensorflow as tf

from golden_text import OpCase, OpError, declared, number, tensor


def columns(x):
    """The axes but for the last."""
    return list(range(x.ndim - 1))


def l2_loss_of_rows(scale):
    return lambda x: scale * tf.map_fn(tf.nn.l2_loss, x)


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
    'l2_loss_of_rows': ('scale times tf.nn.l2_loss of each row', [
        OpCase('l2_loss_of_rows', l2_loss_of_rows(0.5), IMAGES, scale=0.5),
        OpCase('l2_loss_of_rows', l2_loss_of_rows(3.0), drawn(3, 70, seed=7), scale=3.0),
        OpCase('l2_loss_of_rows', l2_loss_of_rows(2.0), ROW, scale=2.0),
        OpError('l2_loss_of_rows', 'l2_loss_of_rows: want f32[N,...], got f32[]',
                np.float32(1), scale=1.0),
    ]),
    'moments': ('tf.nn.moments over all axes but the last', [
        OpCase('moments', lambda x: tf.nn.moments(x, columns(x)), IMAGES),
        OpCase('moments', lambda x: tf.nn.moments(x, columns(x)), drawn(3, 34, seed=2)),
        OpError('moments', 'moments: want f32[N,...,C] and f32[C], got f32[3]', ROW),
    ]),
    'batch_norm': ('tf.nn.batch_normalization', [
        OpCase('batch_norm', lambda x, mean, variance, gamma, beta: tf.nn.batch_normalization(
            x, mean, variance, beta, gamma, 0.25), IMAGES, ROW, SPREAD, -ROW, ROW,
               epsilon=0.25),
        OpError('batch_norm', 'batch_norm: want f32[N,...,C] and f32[C], got f32[2,2] and f32[3] '
                'and f32[3] and f32[3] and f32[3]', IMAGES[0, 0, :, :2], ROW, SPREAD, ROW, ROW,
                epsilon=0.25),
    ]),
    'batch_norm_grad': ('sums of dy and of dy (x - mean) over all axes but the last', [
        OpCase('batch_norm_grad', batch_norm_sums, drawn(2, 3, 2, 3, seed=3), IMAGES, ROW,
               no_gradient='second derivatives of batch_norm are not there'),
        OpError('batch_norm_grad', 'batch_norm_grad: want f32[N,...,C] and f32[C], got f32[2,2] '
                'and f32[2,2] and f32[3]', IMAGES[0, 0, :, :2], IMAGES[0, 0, :, :2], ROW),
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
        trained = super().text().split('\ncase: ')[0]
        return trained + '\nno_differences: relus have none within a step; TensorFlow has the gradients\n'


@tf.custom_gradient
def stored(y):
    """In bfloat16, as the gradient of it is."""
    def rounded(value):
        return tf.cast(tf.cast(value, tf.bfloat16), tf.float32)
    return rounded(y), rounded


class StoredCase(LayerCase):
    """What compute_dtype says is of the TPU."""

    def text(self):
        return super().text().replace('\nmode:', '\nuse_tpu: true\nmode:')


def stored_net(store, stored_sum):
    """A convolution, its normalized values through a relu, the sum of both and a dense layer."""
    def net(x, v, norm):
        h = store(conv(x, v['h/kernel']))
        y, *statistics = norm(h)
        n = store(y)
        s = stored_sum(store(tf.nn.relu(n)) + h)
        flat = tf.reshape(s, [x.shape[0], -1])
        return store(tf.matmul(flat, v['z/kernel']) + v['z/bias']), statistics

    def trained(x, v):
        return net(x, v, lambda h: fused_norm(h, v['n/gamma'], v['n/beta'], 1e-3))

    def in_use(x, v):
        return net(x, v, lambda h: [tf.nn.batch_normalization(
            h, v['n/moving_mean'], v['n/moving_variance'], v['n/beta'], v['n/gamma'], 1e-3)])

    return trained, in_use


def stored_case(name, model, store, stored_sum, dtype='', sum_dtype=''):
    trained, in_use = stored_net(store, stored_sum)
    layers = ['matmul_precision: F32', *model,
              f'layer {{ name: "h" {dtype}conv2d {{ filters: 3 kernel_size: 2 use_bias: false '
              'padding: SAME } input: "x" }',
              f'layer {{ name: "n" {dtype}batch_normalization {{}} }}',
              f'layer {{ name: "r" {dtype}activation {{ function: RELU }} }}',
              f'layer {{ name: "s" {sum_dtype}add {{}} input: "r" input: "h" }}',
              f'layer {{ name: "f" {sum_dtype}flatten {{}} }}',
              f'layer {{ name: "z" {dtype}dense {{ units: 3 }} }}']
    return StoredCase(name, layers, trained, drawn(4, 2, 2, 3, seed=12),
                      {'h/kernel': FILTER, 'n/gamma': GAMMA['z/gamma'], 'n/beta': ROW,
                       'z/kernel': drawn(12, 3, seed=13), 'z/bias': ROW},
                      {'n/moving_mean': (ROW, moving(0.99, 0)),
                       'n/moving_variance': (SPREAD, moving(0.99, 1))}, in_use)


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
    'compute_dtype': (
        'results of layers, and the gradients of them, rounded once where they are stored', [
            stored_case('of the model', ['compute_dtype: BFLOAT16'], stored, stored),
            stored_case('of layers', [], stored, tf.identity, 'dtype: BFLOAT16 '),
            stored_case('but for layers', ['compute_dtype: BFLOAT16'], stored, tf.identity,
                        sum_dtype='dtype: FLOAT32 '),
        ]),
    'resnet_block': ('y = relu(f(x) + shortcut(x)), f of conv2d, batch_normalization and relu', [
        ResnetCase('two blocks', 'filters: 2 strides: 2 repeat: 2', False, 2,
                   drawn(2, 5, 4, 3, seed=10), 2),
        ResnetCase('bottlenecks', 'filters: 1 bottleneck: true repeat: 2', True, 1,
                   drawn(2, 3, 3, 2, seed=11), 1),
    ]),
}
