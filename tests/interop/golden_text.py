"""Golden files as text: tensors, features, cases of ops."""
import os

# Of TensorFlow's kernels for CPUs only these have the gradients of dilated and grouped convolutions.
os.environ['TF_ENABLE_ONEDNN_OPTS'] = '1'

import numpy as np
import tensorflow as tf

NAMES = {'float32': ('f32', 'FLOAT32'), 'int32': ('s32', 'INT32'), 'int64': ('s64', 'INT64')}
HEAD = (f'# {{formula}}\n# Expected numbers: TensorFlow {tf.__version__}, by tests/interop/make_goldens.py.\n')


def f32(*rows):
    return np.array(rows, np.float32)


def number(value):
    return repr(float(np.float32(value)))


def shortest(value):
    """In as few digits as say it."""
    return str(value).removesuffix('.0')


def tensor(array):
    name, _ = NAMES[str(array.dtype)]
    dims = ','.join(map(str, array.shape))
    return f'{name}[{dims}] = ' + ' '.join(map(shortest, array.reshape(-1)))


def declared(kind, name, array):
    """The line that declares a feature or label of the batch."""
    shape = array.shape[1:]
    dims = str(shape[0]) if len(shape) == 1 else str(list(shape))
    return (f'  {kind} {{ name: "{name}" dtype: {NAMES[str(array.dtype)][1]}'
            + (f' shape: {dims}' if shape else '') + ' }')


def attributes(values):
    """As graphs print them."""
    def shown(value):
        if isinstance(value, float):
            return f'{value:g}f'
        return value if isinstance(value, int) else f'[{",".join(map(str, value))}]'
    return '{' + ', '.join(f'{name}={shown(value)}' for name, value in sorted(values.items())) + '}'


class OpCase:

    def __init__(self, op, function, *operands, no_gradient='', **attrs):
        self.op, self.function, self.operands, self.attrs = op, function, operands, attrs
        self.no_gradient = no_gradient  # why

    def text(self):
        results = tf.nest.flatten(self.function(*self.operands))
        lines = [f'op {self.op} {attributes(self.attrs)}']
        lines += [f'{kind} {tensor(np.array(array)).replace(" = ", " ")}'
                  for kind, arrays in (('operand', self.operands), ('result', results))
                  for array in arrays]
        lines.append('tolerance 1e-6')
        if self.no_gradient:
            lines.append(f'no_gradient {self.no_gradient}')
        return '\n'.join(lines) + '\n'


class OpError:
    """What is refused, in our words."""

    def __init__(self, op, message, *operands, **attrs):
        self.op, self.message, self.operands, self.attrs = op, message, operands, attrs

    def text(self):
        lines = [f'op {self.op} {attributes(self.attrs)}']
        lines += [f'operand {tensor(array).replace(" = ", " ")}' for array in self.operands]
        return '\n'.join(lines + [f'error {self.message}']) + '\n'
