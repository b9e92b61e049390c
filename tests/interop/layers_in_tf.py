"""Layers of a ModelSpec as TensorFlow 1.x builds them: its ops, in its variable scopes."""
import collections
import contextlib
import math
import re

import numpy as np
import tensorflow as tf
from tensorflow.python.ops.init_ops import _compute_fans

import attention_in_tf
import image_layers_in_tf
import philox
import textproto
from golden_text import shortest
from image_layers_in_tf import named
from recurrence_in_tf import gru_cell, lstm_cell, rounded, simple_cell, unrolled

v1 = tf.compat.v1
ACTIVATIONS = {'LINEAR': tf.identity, 'RELU': tf.nn.relu, 'TANH': tf.math.tanh,
               'SIGMOID': tf.math.sigmoid, 'SOFTMAX': tf.nn.softmax, 'SOFTPLUS': tf.math.softplus,
               'ELU': tf.nn.elu, 'GELU': tf.nn.gelu,
               'GELU_TANH': lambda x: tf.nn.gelu(x, approximate=True), 'RELU6': tf.nn.relu6,
               'LEAKY_RELU': tf.nn.leaky_relu, 'SELU': tf.nn.selu, 'SWISH': tf.nn.swish,
               'MISH': tf.keras.activations.mish, 'SOFTSIGN': tf.nn.softsign}
SEED = 1


@tf.custom_gradient
def stored(y):
    """In bfloat16, as the gradient of it is."""
    return rounded(y), rounded


def initializer_text(initializer, shape):
    """As graphs print it; of the kernel of a layer where none is given."""
    initializer = initializer or textproto.parse('glorot_uniform {}')
    (kind, (args,)), = initializer.items()

    def number(field, default):
        return float(np.float32(args.get(field, default)))

    fan_in, fan_out = _compute_fans(shape) if shape else (1, 1)
    if kind in ('zeros', 'ones'):
        return f'constant({int(kind == "ones")})'
    if kind == 'orthogonal':
        return f'orthogonal({shortest(number("gain", 1))},0)'
    if kind == 'truncated_normal':
        mean, stddev = shortest(number('mean', 0)), shortest(number('stddev', 1))
        return f'truncated_normal({mean},{stddev})'
    mode, scale, what = 'FAN_AVG', 1.0, 'UNIFORM'
    if kind == 'variance_scaling':
        mode, scale = args.get('mode', 'FAN_IN'), number('scale', 1)
        what = args.get('distribution', 'TRUNCATED_NORMAL')
    fan = {'FAN_IN': fan_in, 'FAN_OUT': fan_out, 'FAN_AVG': (fan_in + fan_out) / 2}[mode]
    fan = max(1, fan)
    if what == 'UNIFORM':
        limit = math.sqrt(3 * scale / fan)
        return f'uniform({shortest(-limit)},{shortest(limit)})'
    if what == 'UNTRUNCATED_NORMAL':
        return f'normal(0,{shortest(math.sqrt(scale / fan))})'
    # TensorFlow's constant: the deviation of a normal distribution that is cut off at two of them.
    return f'truncated_normal(0,{shortest(math.sqrt(scale / fan) / .87962566103423978)})'


class Layers:
    """Builds into the current graph. `tensors` has the features, of `rows` examples, and gains every
    layer by name; `values` are those of the variables."""

    def __init__(self, spec, tensors, values, rows, training, on_tpu):
        self.spec, self.values, self.rows = spec, values, rows
        self.training, self.on_tpu = training, on_tpu
        self.tensors = collections.ChainMap(tensors)
        self.rounds = on_tpu and spec.get('matmul_precision') != 'F32'
        self.variables = {}  # {full name: its line in the text of a graph}, in the order made
        self.handles = {}    # {full name: variable}
        self.written = {}    # {name: (layer as written, the scope around it, its name there)}
        self.trainable, self.dtype = True, spec.get('compute_dtype', 'FLOAT32')
        self.stack(spec.all('layer'), tensors.get(spec.get('feature').get('name')))

    def stack(self, layers, x):
        """One layer after the other, names of their own before those around."""
        around, self.tensors = self.tensors, self.tensors.new_child()
        for layer in layers:
            x = self.layer(layer, x)
        self.tensors = around
        return x

    def layer(self, layer, x):
        inputs = [self.tensors[name] for name in layer.all('input')] or [x]
        name, around = layer.get('name'), v1.get_variable_scope()
        reuse = layer.get('reuse')
        if reuse:
            layer, around, written_name = self.written[reuse]
            layer = textproto.Message(layer, name=[written_name])
        kind = next((field for field in layer if field in KINDS), None)
        assert kind, f'layers_in_tf has none of {list(layer)}'
        for defaults in reversed(self.spec.all('layer_defaults')):
            if kind in defaults:
                layer = defaults.merged(layer)
        state = self.trainable, self.dtype
        self.trainable = self.trainable and layer.get('trainable', True)
        self.dtype = layer.get('dtype', self.dtype)
        drops_mask = layer.get('drop_mask', False)
        if drops_mask:
            inputs = [tf.identity(x) for x in inputs]
        # Entering a scope anew would begin its numbering anew.
        with v1.variable_scope(around, reuse=True) if reuse else contextlib.nullcontext():
            y, made = KINDS[kind](self, layer.get(kind), inputs, layer.get('name'))
        if self.on_tpu and self.dtype == 'BFLOAT16' and y.dtype == tf.float32:
            y = stored(y)
        mask = getattr(inputs[0], '_keras_mask', None)
        if mask is not None and kind in ('dense', 'dropout', 'activation'):
            y._keras_mask = mask
        if drops_mask:
            y = tf.identity(y)
        self.trainable, self.dtype = state
        name = name or made
        scope = v1.get_variable_scope().name
        full = f'{scope}/{name}' if scope else name
        further = enumerate(getattr(y, '_further_results', ()), 1)
        for end, result in [('', y), *((f':{number}', result) for number, result in further)]:
            self.tensors[name + end] = result
            self.tensors.maps[-1].setdefault(full + end, result)
        self.written[name] = layer, around, layer.get('name', made)
        return y

    def variable(self, name, shape, initializer, default='', ones=''):
        """`default`: the initializer's text where none is given, of a kernel that of kernels."""
        full = v1.get_variable_scope().name + '/' + name
        if full not in self.handles:
            text = default if default and not initializer else initializer_text(initializer, shape)
            self.declare(full, shape, text + ones)
        self.handles[full] = v1.get_variable(name, shape)
        return self.handles[full]

    def state(self, name, shape):
        """What a layer keeps from step to step; its end of a step is for add_update."""
        full = v1.get_variable_scope().name + '/' + name
        self.variables[full] = f'"{full}" f32[{",".join(map(str, shape))}] constant(0) state per_core'
        self.handles[full] = v1.get_variable(name, shape)
        return self.handles[full]

    def declare(self, full, shape, initializer, trainable=True, dtype='f32'):
        frozen = any(re.search(pattern, full) for pattern in self.spec.all('frozen'))
        end = ' trainable' if trainable and self.trainable and not frozen else ''
        self.variables[full] = f'"{full}" {dtype}[{",".join(map(str, shape))}] {initializer}{end}'

    def operand(self, x):
        return rounded(x) if self.rounds else x

    def finished(self, y, args):
        """With bias and activation."""
        if args.get('use_bias', True):
            zeros = textproto.parse('zeros {}')
            y += self.variable('bias', [y.shape[-1]], args.get('bias_initializer', zeros))
        return ACTIVATIONS[args.get('activation', 'LINEAR')](y)


def dense(self, args, x):
    if args.get('kernel_from'):
        kernel = self.handles[args.get('kernel_from')]
        kernel = tf.transpose(kernel) if args.get('transpose_kernel') else kernel
    else:
        kernel = self.variable('kernel', [x.shape[-1], args.get('units')], args.get('kernel_initializer'))
    return self.finished(tf.tensordot(self.operand(x), self.operand(kernel), 1), args)


def embedding(self, args, x):
    default = 'uniform(-0.05,0.05)'
    table = self.variable('embeddings', [args.get('input_dim'), args.get('output_dim')],
                          args.get('embeddings_initializer'), default)
    y = tf.nn.embedding_lookup(table, x)
    if args.get('mask_zero'):
        y._keras_mask = tf.not_equal(x, 0)  # which Keras' recurrent layers read
    return y


def flatten(self, args, x):
    return v1.layers.flatten(x)


def reshape(self, args, x):
    target, values = args.all('target_shape'), math.prod(map(int, x.shape[1:]))
    known = math.prod(dim for dim in target if dim != -1)
    return tf.reshape(x, [-1, *(values // known if dim == -1 else dim for dim in target)])


def op(self, args, *inputs):
    """What ops_in_tf says of it, on operands of TensorFlow."""
    import ops_in_tf  # which imports this module
    attrs = ops_in_tf.attributes(args.get('attrs', '').replace(' ', ''))
    if args.get('name') == 'batch_matmul':
        attrs.setdefault('precision', 3)
    if args.get('name') in ('constant', 'iota'):  # which read nothing
        attrs['dims'], inputs = [self.rows if dim == -1 else dim for dim in attrs['dims']], ()
    y, *further = tf.nest.flatten(ops_in_tf.OPS[args.get('name')](*inputs, **attrs))
    y._further_results = further
    return y


def permute(self, args, x):
    return tf.keras.layers.Permute(args.all('dims'))(x)


def slice_of(self, args, x):
    return tf.slice(x, [0, *args.all('begin')], [-1, *args.all('size')])


def concat(self, args, *inputs):
    axis = args.get('axis', -1)
    inputs = [x[:, None] if x.shape.rank == 1 else x for x in inputs]
    return tf.concat(inputs, axis + 1 if axis >= 0 else axis)


def dropout(self, args, x):
    rate = float(np.float32(args.get('rate', 0.5)))
    if not self.training or rate == 0:
        return tf.identity(x)
    self.declare('global_step', [], 'constant(0)', False, 's64')
    step, scope = int(self.values['global_step']), v1.get_variable_scope().name
    shape = [self.rows, *(dim if size in (-1, dim) else 1
                          for size, dim in zip(args.all('noise_shape') or x.shape[1:], x.shape[1:]))]
    kept = philox.kept((math.prod(shape),), step, 0, rate, SEED, philox.stream_of(scope))
    return x * kept.reshape(shape)


def batch_normalization(self, args, x):
    scope = v1.get_variable_scope()
    initializers = {'gamma': args.get('gamma_initializer', textproto.parse('ones {}'))}
    layer = v1.layers.BatchNormalization(
        momentum=args.get('momentum', 0.99), epsilon=args.get('epsilon', 1e-3),
        center=args.get('center', True), scale=args.get('scale', True), _scope=scope,
        _reuse=scope.reuse)
    # One update after the other where a layer is used twice.
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        y = layer.apply(x, training=self.training and not args.get('use_moving_statistics', False))
    for variable in layer.variables:
        full = variable.name.split(':')[0]
        if full in self.handles:
            continue
        name = full.rsplit('/')[-1]
        starts = {'beta': 'zeros {}', 'moving_mean': 'zeros {}', 'moving_variance': 'ones {}'}
        initializer = initializers.get(name) or textproto.parse(starts[name])
        self.declare(full, variable.shape, initializer_text(initializer, None),
                     not name.startswith('moving'))
        self.handles[full] = variable
    return y


def normalization(self, layer, args, x):
    layer.build(x.shape)
    for name, start in (('gamma', 'ones {}'), ('beta', 'zeros {}')):
        if getattr(layer, name) is not None:
            setattr(layer, name, self.variable(name, [x.shape[-1]],
                                               args.get(name + '_initializer', textproto.parse(start))))
    return layer.call(x)


def of_normalization(args):
    return {'epsilon': args.get('epsilon', 1e-3), 'center': args.get('center', True),
            'scale': args.get('scale', True)}


def layer_normalization(self, args, x):
    return normalization(self, tf.keras.layers.LayerNormalization(**of_normalization(args)), args, x)


def group_normalization(self, args, x):
    layer = tf.keras.layers.GroupNormalization(args.get('groups', 32), **of_normalization(args))
    return normalization(self, layer, args, x)


def position_embedding(self, args, x):
    start = args.get('embeddings_initializer', textproto.parse('truncated_normal { stddev: 0.02 }'))
    return x + self.variable('embeddings', [args.get('max_length'), x.shape[-1]], start)[:x.shape[1]]


def multi_head_attention(self, args, x, y=None):
    """Keras' own, but for what it cannot do: round to bfloat16, and draw as tpurun does."""
    y, causal = x if y is None else y, args.get('causal', False)
    heads, width = args.get('num_heads'), args.get('key_dim')
    value_width, out = args.get('value_dim', width), args.get('output_dim', int(x.shape[-1]))
    layer = tf.keras.layers.MultiHeadAttention(
        heads, width, value_width, use_bias=args.get('use_bias', True), output_shape=out)
    layer._build_from_signature(x, y)
    zeros = textproto.parse('zeros {}')
    for name, of, shape, bias in (
            ('query', x, [x.shape[-1], heads, width], [heads, width]),
            ('key', y, [y.shape[-1], heads, width], [heads, width]),
            ('value', y, [y.shape[-1], heads, value_width], [heads, value_width]),
            ('attention_output', None, [heads, value_width, out], [out])):
        part = layer._output_dense if of is None else getattr(layer, f'_{name}_dense')
        part.build([None, None, *shape[:2]] if of is None else of.shape)
        part.kernel = self.variable(name + '/kernel', shape, args.get('kernel_initializer'))
        if part.bias is not None:
            part.bias = self.variable(name + '/bias', bias, args.get('bias_initializer', zeros))
    seen = [tf.cast(mask, tf.float32) for mask in (getattr(y, '_keras_mask', None),) if mask is not None]
    if args.get('mask'):
        seen.append(tf.cast(tf.not_equal(self.tensors[args.get('mask')], 0), tf.float32))
    mask = math.prod(seen) if seen else None
    rate = float(np.float32(args.get('dropout', 0))) if self.training else 0
    if not self.rounds and not rate:
        # Keras would hide all keys from a query that is padding.
        x, y = tf.identity(x), tf.identity(y)
        return layer.call(x, y, attention_mask=None if mask is None else mask[:, None, :] > 0,
                          use_causal_mask=causal)
    if rate:
        self.declare('global_step', [], 'constant(0)', False, 's64')
    place = [int(self.values['global_step']), 0] if rate else []
    stream = {'seed': SEED, 'stream': philox.stream_of(v1.get_variable_scope().name)} if rate else {}

    def projected(part, of, equation):
        product = tf.einsum(equation, self.operand(of), self.operand(part.kernel))
        return product if part.bias is None else product + part.bias

    q, k, v = (projected(part, tf.ensure_shape(of, [self.rows, *of.shape[1:]]), 'ntc,chd->nthd')
               for part, of in ((layer._query_dense, x), (layer._key_dense, y), (layer._value_dense, y)))
    attended, _ = attention_in_tf.attention(
        q, k, v, *([] if mask is None else [mask]), *place, precision=0 if self.rounds else 3,
        scale=1 / math.sqrt(width), causal=causal, rate=rate, **stream)
    return projected(layer._output_dense, attended, 'nthd,hdo->nto')


def transformer_block(self, args, inputs, name):
    features = args.get('features', args.get('num_heads') * args.get('key_dim'))
    rate, norm = args.get('dropout', 0), 'layer {{ name: "{}" layer_normalization {{}} }} '
    attention = textproto.Message({field: args[field] for field in args
                                   if field in ('num_heads', 'key_dim', 'dropout', 'causal', 'mask')},
                                  output_dim=[features])
    dropout = textproto.parse(f'layer {{ dropout {{ rate: {rate} }} }}').all('layer') if rate else []
    ffn = (f'layer {{ name: "intermediate" dense {{ units: {args.get("ffn_units")} '
           f'activation: {args.get("activation", "GELU")} }} }} '
           f'layer {{ name: "output" dense {{ units: {features} }} }}')
    pre = args.get('pre_norm', False)
    parts = [('attention', [textproto.Message(name=['self'], multi_head_attention=[attention])],
              'attention_norm'), ('ffn', textproto.parse(ffn).all('layer'), 'output_norm')]

    def block(x, copy):
        for part, layers, behind in parts:
            first = textproto.parse(norm.format('norm')).all('layer') if pre else []
            inner = textproto.Message(layer=[*first, *layers, *dropout])
            x = self.stack([textproto.Message(name=[part], residual=[inner])], x)
            if not pre:
                x = self.stack(textproto.parse(norm.format(behind)).all('layer'), x)
        return x

    return copies(self, args.get('repeat', 1), name or 'transformer_block', block, inputs[0])
def sinusoidal_position_embedding(self, args, x):
    """As keras_nlp.layers.SinePositionEncoding, call: cosines at odd features, by a mask."""
    time, features = x.shape[1:]
    position = tf.range(time, dtype=tf.float64)
    feature = tf.range(features)
    min_frequency = 1 / tf.cast(args.get('max_wavelength', 10000.0), tf.float64)
    timescales = tf.pow(min_frequency, tf.cast(2 * (feature // 2), tf.float64) / features)
    angles = position[:, None] * timescales[None]
    cosines = tf.cast(feature % 2, tf.float64)
    return x + tf.cast(tf.sin(angles) * (1 - cosines) + tf.cos(angles) * cosines, tf.float32)


def recurrent_variables(self, args, x, gates, bias_shape, ones=''):
    """[kernel, recurrent_kernel, bias], the last of them None where there is none."""
    units, orthogonal = args.get('units'), textproto.parse('orthogonal {}')
    made = [self.variable('kernel', [x.shape[-1], gates * units], args.get('kernel_initializer')),
            self.variable('recurrent_kernel', [units, gates * units],
                          args.get('recurrent_initializer', orthogonal)), None]
    if args.get('use_bias', True):
        zeros = textproto.parse('zeros {}')
        made[2] = self.variable('bias', bias_shape, args.get('bias_initializer', zeros), ones=ones)
    return made


def functions(args):
    return {name: args.get(name, default).lower()
            for name, default in (('activation', 'TANH'), ('recurrent_activation', 'SIGMOID'))}


def starts_of_rows(self, args, rows, units, names):
    """The states that a stateful layer has kept, those of rows that start anew 0; and their variables."""
    kept = [self.state(name, [rows, units]) for name in names]
    states = [tf.identity(variable) for variable in kept]
    if args.get('reset_states_at'):
        starts = tf.not_equal(self.tensors[args.get('reset_states_at')], 0)[:, None]
        states = [tf.where(starts, 0.0, state) for state in states]
    return states, kept


def keras_rnn(self, cell, variables, args, names, x, *states):
    """By Keras, whose cell would make variables of its own."""
    cell.kernel, cell.recurrent_kernel, cell.bias = variables
    cell.built = True
    kept = []
    if args.get('stateful', False):
        states, kept = starts_of_rows(self, args, self.rows, args.get('units'), names)
    # Unrolled, Keras 2.15 takes the mask of the order written for states in the order read.
    zeros = args.get('zero_output_for_mask', False)
    rnn = tf.keras.layers.RNN(cell, unroll=not zeros, return_sequences=args.get('return_sequences', False),
                              return_state=True, go_backwards=args.get('go_backwards', False),
                              zero_output_for_mask=zeros)
    y, *last = rnn(x, initial_state=list(states) or None)
    for variable, value in zip(kept, last):
        v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, v1.assign(variable, value))
    if args.get('return_state', False):
        y._further_results = last
    return y


def rounded_rnn(step, variables, args, x, states):
    """With the products of a TPU, which Keras has not."""
    rows, units = tf.shape(x)[0], args.get('units')
    kernel, recurrent_kernels, bias = variables
    x = tf.tensordot(rounded(x), rounded(kernel), 1) + (0.0 if bias is None else bias)
    (h, *_), _ = unrolled(step, x, recurrent_kernels, [tf.zeros([rows, units])] * states,
                          go_backwards=args.get('go_backwards', False))
    return h if args.get('return_sequences', False) else h[:, -1]


def lstm(self, args, x, *states):
    units = args.get('units')
    ones = f' ones={units}+{units}' if args.get('unit_forget_bias', True) else ''
    variables = recurrent_variables(self, args, x, 4, [4 * units], ones)
    if self.rounds:
        kernel, recurrent_kernel, bias = variables
        step = lstm_cell(0, **functions(args))
        return rounded_rnn(step, (kernel, [recurrent_kernel], bias), args, x, 2)
    cell = tf.keras.layers.LSTMCell(units, use_bias=args.get('use_bias', True), **functions(args))
    return keras_rnn(self, cell, variables, args, ['h', 'c'], x, *states)


def gru(self, args, x, *states):
    units, after = args.get('units'), args.get('reset_after', True)
    variables = recurrent_variables(self, args, x, 3, [2, 3 * units] if after else [3 * units])
    if not self.rounds:
        cell = tf.keras.layers.GRUCell(units, use_bias=args.get('use_bias', True), reset_after=after,
                                       **functions(args))
        return keras_rnn(self, cell, variables, args, ['h'], x, *states)
    kernel, recurrent_kernel, bias = variables
    kernels = [recurrent_kernel] if after else tf.split(recurrent_kernel, [2 * units, units], axis=1)
    bias, recurrent_bias = tf.unstack(bias) if after and bias is not None else (bias, None)
    step = gru_cell(0, reset_after=after, bias=recurrent_bias, **functions(args))
    return rounded_rnn(step, (kernel, kernels, bias), args, x, 1)


def simple_rnn(self, args, x, *states):
    units, activation = args.get('units'), args.get('activation', 'TANH').lower()
    variables = recurrent_variables(self, args, x, 1, [units])
    if self.rounds:
        kernel, recurrent_kernel, bias = variables
        return rounded_rnn(simple_cell(0, activation), (kernel, [recurrent_kernel], bias), args, x, 1)
    cell = tf.keras.layers.SimpleRNNCell(units, activation, use_bias=args.get('use_bias', True))
    return keras_rnn(self, cell, variables, args, ['h'], x, *states)


def leaf(build):
    """A layer with a scope of its own: (y, its name)."""
    def in_scope(self, args, inputs, name):
        with v1.variable_scope(name, default_name=build.__name__) as scope:
            return build(self, args, *inputs), scope.name.rsplit('/')[-1]
    return in_scope


def sequence(self, args, inputs, name):
    return copies(self, args.get('repeat', 1), name or 'sequence',
                  lambda x, copy: self.stack(args.all('layer'), x), inputs[0])


def copies(self, count, name, build, x):
    """In a scope NAME, or each in one of its own, NAME_0, NAME_1 ..."""
    for copy in range(count):
        with v1.variable_scope(name if count == 1 else f'{name}_{copy}'):
            x = build(x, copy)
    return x, name


def residual(self, args, inputs, name):
    with v1.variable_scope(name, default_name='residual') as scope:
        y = self.stack(args.all('layer'), inputs[0])
        with v1.variable_scope('shortcut'):
            shortcut = args.get('shortcut', textproto.Message())
            return y + self.stack(shortcut.all('layer'), inputs[0]), scope.name.rsplit('/')[-1]


def bidirectional(self, args, inputs, name):
    layer, = args.all('layer')
    kind, = set(layer) - {'name'}
    written = layer.get(kind)
    with v1.variable_scope(name, default_name='bidirectional') as scope:
        states = []
        for direction, back in (('forward', False), ('backward', True)):
            turned = textproto.Message(written, go_backwards=[written.get('go_backwards', False) != back],
                                       zero_output_for_mask=[written.get('return_sequences', False)])
            one = textproto.Message(layer, name=[f'{direction}_{layer.get("name", kind)}'])
            one[kind] = [turned]
            states.append(self.stack([one], inputs[0]))
        forward, backward = states
        if written.get('return_sequences', False):
            backward = tf.reverse(backward, [1])
        merged = {'CONCAT': lambda: tf.concat([forward, backward], -1), 'SUM': lambda: forward + backward,
                  'MUL': lambda: forward * backward, 'AVE': lambda: (forward + backward) / 2}
        return merged[args.get('merge_mode', 'CONCAT')](), scope.name.rsplit('/')[-1]


def resnet_block(self, args, inputs, name):
    """v1.5 of the official models: the strides are those of the 3x3 convolution."""
    filters, bottleneck = args.get('filters'), args.get('bottleneck', False)
    outputs = 4 * filters if bottleneck else filters

    def conv(size, filters, strides, gamma=''):
        return (f'layer {{ conv2d {{ filters: {filters} kernel_size: {size} strides: {strides} '
                f'padding: SAME use_bias: false }} }} layer {{ batch_normalization {{ {gamma} }} }} ')

    def block(x, copy):
        strides = args.get('strides', 1) if copy == 0 else 1
        gamma = 'gamma_initializer { zeros {} }' if args.get('zero_init_residual', True) else ''
        relu = 'layer { activation { function: RELU } } '
        layers = [conv(3, filters, strides), conv(3, filters, 1, gamma)]
        if bottleneck:
            layers = [conv(1, filters, 1), conv(3, filters, strides), conv(1, outputs, 1, gamma)]
        shortcut = f'shortcut {{ {conv(1, outputs, strides)} }}' if copy == 0 else ''
        return self.stack(textproto.parse(
            f'layer {{ residual {{ {relu.join(layers)} {shortcut} }} }} {relu}').all('layer'), x)

    return copies(self, args.get('repeat', 1), name or 'resnet_block', block, inputs[0])


def activation(self, args, x):
    if 'alpha' in args:
        return tf.nn.leaky_relu(x, args.get('alpha'))
    return ACTIVATIONS[args.get('function')](x)


def merge(layer):
    return lambda self, args, *inputs: layer()(list(inputs))


LEAVES = [*image_layers_in_tf.LEAVES, op, dense, embedding, flatten, reshape, permute, concat, dropout,
          batch_normalization, layer_normalization, group_normalization, position_embedding,
          sinusoidal_position_embedding, multi_head_attention, gru, lstm, simple_rnn,
          named('one_hot', lambda self, args, x: tf.one_hot(x, args.get('depth'))),
          *(named(layer.lower(), merge(getattr(tf.keras.layers, layer)))
            for layer in ('Add', 'Multiply', 'Subtract', 'Average', 'Maximum', 'Minimum')),
          named('slice', slice_of),
          named('gather', lambda self, args, x, ids: tf.gather(x, ids, batch_dims=1)),
          activation]
KINDS = {build.__name__: leaf(build) for build in LEAVES}
KINDS |= {build.__name__: build
          for build in (bidirectional, sequence, residual, resnet_block, transformer_block)}
