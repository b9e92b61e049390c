"""What golden files of ops hold (tests/ops/op_case.h), by TensorFlow's ops. Errors stay as they are:
they are in tpurun's words."""
import math
import re

import numpy as np
import tensorflow as tf

import attention_in_tf
import golden_case
import philox
import recurrence_in_tf
from golden_text import tensor
from layers_in_tf import rounded
from models_in_tf import sparse_cross_entropy

raw = tf.raw_ops
ATTRIBUTE = re.compile(r'(\w+)=(\[[^\]]*\]|"[^"]*"|[^,}]+)')


def number_of(text):
    if text in ('true', 'false'):
        return text == 'true'
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.removesuffix('f'))
    except ValueError:
        return text


def attributes(text):
    return {name: [number_of(item) for item in value[1:-1].split(',') if item]
            if value.startswith('[') else number_of(value.strip('"'))
            for name, value in ATTRIBUTE.findall(text)}


def at_precision(function):
    """Of two operands: 0 rounds both to bfloat16, 3 neither. What is between is XLA's and oneDNN's sums
    of several roundings, which f32 stands in for."""
    def op(x, y, precision, **attrs):
        if precision == 0:
            x, y = rounded(x), rounded(y)
        return function(x, y, **attrs)
    return op


@at_precision
def matmul(x, y, transpose_x=False, transpose_y=False):
    return tf.matmul(x, y, transpose_x, transpose_y)


def cross_replica_matmul(*operands, **attrs):
    """First x of each replica, then y of each."""
    half = len(operands) // 2
    return tf.add_n([matmul(x, y, **attrs) for x, y in zip(operands[:half], operands[half:])])


def padded(x, pads, value):
    """pads: above, below, left, right."""
    return tf.pad(x, [[0, 0], pads[:2], pads[2:], [0, 0]], constant_values=value)


def gradient(function, x_dims, dy):
    """What `function`, which is linear, passes back."""
    with tf.GradientTape() as tape:
        x = tf.zeros(x_dims)
        tape.watch(x)
        y = function(x)
    return tape.gradient(y, x, dy)


def convolved(x, kernel, strides, pads, dilations=(1, 1)):
    return tf.nn.conv2d(padded(x, pads, 0), kernel, strides, 'VALID', dilations=dilations)


def conv2d_input_grad(dy, kernel, x_dims, **attrs):
    return gradient(lambda x: convolved(x, kernel, **attrs), x_dims, dy)


def conv2d_filter_grad(x, dy, kernel_dims, batch_dims=0, **attrs):
    if batch_dims == 1:
        return tf.stack([conv2d_filter_grad(*entry, kernel_dims, **attrs) for entry in zip(x, dy)])
    return gradient(lambda kernel: convolved(x, kernel, **attrs), kernel_dims, dy)


def avg_pool(x, window, strides, pads):
    """Padding does not count."""
    def sums(values):
        return tf.nn.avg_pool2d(padded(values, pads, 0), window, strides, 'VALID')
    return sums(x) / sums(tf.ones_like(x))


def max_pool(x, window, strides, pads):
    """And where in its window each maximum was."""
    wide = padded(x, pads, float(np.finfo(np.float32).min))
    y, at = tf.nn.max_pool_with_argmax(wide, window, strides, 'VALID')
    height, width, channels = wide.shape[1:]
    row, column = at // (width * channels), at // channels % width
    first = [tf.range(y.shape[axis + 1], dtype=tf.int64) * strides[axis] for axis in (0, 1)]
    offset = (row - first[0][:, None, None]) * window[1] + column - first[1][:, None]
    return y, tf.cast(offset, tf.uint8 if math.prod(window) <= 256 else tf.int32)


def max_pool_grad(dy, index, window, strides, pads, x_dims):
    top, _, left, _ = pads
    index = tf.cast(index, tf.int32)
    n, i, j, c = tf.meshgrid(*map(tf.range, dy.shape), indexing='ij')
    rows = i * strides[0] - top + index // window[1]
    columns = j * strides[1] - left + index % window[1]
    return tf.scatter_nd(tf.stack([n, rows, columns, c], -1), dy, x_dims)


def gather(table, ids, batch_dims=0):
    """NaN for an id that is no row, which the kernel for CPUs refuses."""
    is_row = (ids >= 0) & (ids < table.shape[batch_dims])
    rows = tf.gather(table, np.where(is_row, ids, 0), batch_dims=batch_dims)
    return tf.where(is_row.reshape(is_row.shape + (1,) * (rows.ndim - ids.ndim)), rows, np.nan)


def scatter_add(ids, x, rows, batch_dims=0):
    """An id below 0 counts nowhere."""
    if batch_dims > 0:
        return tf.stack([scatter_add(*entry, rows, batch_dims - 1) for entry in zip(ids, x)])
    return tf.math.unsorted_segment_sum(x, np.where(ids < rows, ids, -1), rows)


def first_places(ids):
    first = tf.argmax(ids[:, None] == ids[None], 1, tf.int32)
    return first, tf.where(first == tf.range(len(ids)), ids, -1)


def set_rows(table, ids, rows):
    """An id that is no row counts nowhere."""
    is_row = (ids >= 0) & (ids < len(table))
    return tf.tensor_scatter_nd_update(table, ids[is_row][:, None], rows[is_row])


def broadcast(x, dims, axes):
    return tf.broadcast_to(tf.reshape(x, [dims[axis] if axis in axes else 1
                                          for axis in range(len(dims))]), dims)


def dropout(x, step, replica, rate, seed, stream):
    return x * philox.kept((np.size(x),), step, replica, rate, seed, stream).reshape(x.shape)


def cross_entropy(logits, labels):
    result = raw.SoftmaxCrossEntropyWithLogits(features=logits, labels=labels)
    return result.loss, result.backprop


def sparse_softmax_cross_entropy(logits, labels):
    logits = tf.constant(logits)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses = sparse_cross_entropy(labels, logits)
    return losses, tape.gradient(losses, logits)


def div(x, y):
    """Of whole numbers towards zero; nothing where y is 0, as XLA leaves open."""
    if x.dtype == np.float32:
        return tf.divide(x, y)
    return tf.truncatediv(np.where(y == 0, 0, x), np.where(y == 0, 1, y))


def all_but_last(x):
    return list(range(x.ndim - 1))


def batch_norm_sums(dy, x, mean):
    return (tf.reduce_sum(dy, all_but_last(x)),
            tf.reduce_sum(dy * (x - mean), all_but_last(x)))


def normalize_rows(x, epsilon):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    scale = tf.math.rsqrt(variance + epsilon)
    return (x - mean) * scale, scale[..., 0]


def normalize_rows_grad(dy, y, scale):
    """An x of mean 0 whose rows are y times what they were divided by gives y and its gradient."""
    x = tf.constant(y / scale[..., None])
    with tf.GradientTape() as tape:
        tape.watch(x)
        centered = x - tf.reduce_mean(x, -1, keepdims=True)
        # What scale holds besides the variance is epsilon.
        epsilon = scale[..., None] ** -2 - tf.stop_gradient(tf.reduce_mean(centered**2, -1, keepdims=True))
        made = centered * tf.math.rsqrt(tf.reduce_mean(centered**2, -1, keepdims=True) + epsilon)
        loss = tf.reduce_sum(made * dy)
    return tape.gradient(loss, x)


def dtype_of(name):
    return tf.as_dtype(golden_case.DTYPES[name])


def iota(dims, axis, dtype):
    return tf.cast(tf.stack(tf.meshgrid(*map(tf.range, dims), indexing='ij'))[axis], dtype_of(dtype))


def gelu_grad(approximate):
    def op(dy, x):
        x = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.gelu(x, approximate)
        return tape.gradient(y, x, dy)
    return op


OPS = {
    'add': tf.add, 'sub': tf.subtract, 'mul': tf.multiply, 'div': div, 'pow': tf.pow,
    'maximum': tf.maximum, 'minimum': tf.minimum, 'neg': tf.negative, 'square': tf.square,
    'sqrt': tf.sqrt, 'rsqrt': tf.math.rsqrt, 'exp': tf.exp, 'log': tf.math.log,
    'floor': tf.floor, 'sin': tf.sin, 'cos': tf.cos, 'erf': tf.math.erf, 'tanh': tf.tanh, 'sigmoid': tf.sigmoid,
    'elu': tf.nn.elu, 'softplus': tf.math.softplus, 'relu': tf.nn.relu, 'softmax': tf.nn.softmax,
    'equal': tf.equal, 'greater': tf.greater, 'greater_equal': tf.greater_equal,
    'select': tf.where,
    'softmax_grad': lambda dy, y: y * (dy - tf.reduce_sum(dy * y, -1, keepdims=True)),
    'relu_grad': lambda dy, y: raw.ReluGrad(gradients=dy, features=y),
    'matmul': matmul, 'batch_matmul': matmul,
    'cross_replica_matmul': cross_replica_matmul,
    'conv2d': at_precision(convolved),
    'conv2d_input_grad': at_precision(conv2d_input_grad),
    'conv2d_filter_grad': at_precision(conv2d_filter_grad),
    'avg_pool': avg_pool, 'max_pool': max_pool, 'max_pool_grad': max_pool_grad,
    'avg_pool_grad': lambda dy, x_dims, **attrs: gradient(
        lambda x: avg_pool(x, **attrs), x_dims, dy),
    'constant': lambda dtype, dims, value=(), value_int=(): tf.broadcast_to(
        tf.cast(value or value_int, dtype_of(dtype)), dims),
    'bias_add': tf.nn.bias_add, 'broadcast': broadcast, 'copy': tf.identity,
    'argmax': lambda x, axis, dtype: tf.argmax(x, axis, dtype_of(dtype)),
    'concat': lambda *operands, axis: tf.concat(operands, axis),
    'convert': lambda x, dtype: tf.cast(x, dtype_of(dtype)),
    'gather': gather, 'scatter_add': scatter_add, 'first_places': first_places, 'set_rows': set_rows,
    'one_hot': lambda x, depth: tf.one_hot(x, depth),
    'reduce_sum': lambda x, axes: tf.reduce_sum(x, axes),
    'reduce_max': lambda x, axes: tf.reduce_max(x, axes),
    'reshape': lambda x, dims: tf.reshape(x, dims),
    'reverse': lambda x, axis: tf.reverse(x, [axis]),
    'slice': lambda x, begin, size: tf.slice(x, begin, size),
    'transpose': lambda x, perm: tf.transpose(x, perm),
    'pad': lambda x, before, after, value=0: tf.pad(
        x, list(zip(before, after)), constant_values=tf.cast(value, x.dtype)),
    'dropout': dropout,
    'softmax_cross_entropy': cross_entropy,
    'sparse_softmax_cross_entropy': sparse_softmax_cross_entropy,
    'sum_of_rows': lambda x: tf.reduce_sum(x, all_but_last(x)),
    'sum_of_elements': lambda x: tf.reduce_sum(x),
    'l2_loss_of_rows': lambda x, scale: scale * tf.map_fn(tf.nn.l2_loss, x),
    'normalize_rows': normalize_rows, 'normalize_rows_grad': normalize_rows_grad,
    'moments': lambda x: tf.nn.moments(x, all_but_last(x)),
    'batch_norm': lambda x, mean, variance, gamma, beta, epsilon: tf.nn.batch_normalization(
        x, mean, variance, beta, gamma, epsilon),
    'batch_norm_grad': batch_norm_sums,
    'iota': iota,
    'gelu': tf.nn.gelu, 'gelu_tanh': lambda x: tf.nn.gelu(x, approximate=True),
    'gelu_grad': gelu_grad(False), 'gelu_tanh_grad': gelu_grad(True),
    'attention': attention_in_tf.attention, 'attention_grad': attention_in_tf.attention_grad,
    'lstm': recurrence_in_tf.lstm, 'lstm_grad': recurrence_in_tf.lstm_grad,
    'gru': recurrence_in_tf.gru, 'gru_grad': recurrence_in_tf.gru_grad,
    'simple_rnn': recurrence_in_tf.simple_rnn, 'simple_rnn_grad': recurrence_in_tf.simple_rnn_grad,
}


def filled(path):
    """The text of a file, its results made anew."""
    with open(path, encoding='utf-8') as file:
        head, *cases = re.split(r'(?m)^(?=op )', file.read())
    return head + ''.join(map(_filled, cases))


def _filled(text):
    call, kinds = re.match(r'op (\w+) (.*)\n', text), re.findall(r'(?m)^(\w+)', text)
    if 'error' in kinds or 'result' not in kinds:
        return text
    operands = [golden_case.tensor(re.sub(r'(?<=\]) ', ' = ', line, count=1))
                for line in re.findall(r'(?m)^operand (.*)', text)]
    made = iter(tf.nest.flatten(OPS[call[1]](*operands, **attributes(call[2]))))
    return re.sub(r'(?m)^result .*', lambda _: 'result ' + tensor(
        np.array(next(made))).replace(' = ', ' '), text)
