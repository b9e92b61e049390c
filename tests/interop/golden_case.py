"""The golden files of layers and heads (tests/models/golden_case.h says their form)."""
import numpy as np

DTYPES = {'f32': np.float32, 's32': np.int32, 's64': np.int64, 'u8': np.uint8, 'u32': np.uint32,
          'pred': np.bool_}


class Case:

    def __init__(self, name):
        self.name = name
        self.entries = []

    def get(self, key, default=''):
        return next((value for at, value in self.entries if at == key), default)

    def tensors(self, kind):
        """{name: array} of the entries `KIND NAME: TENSOR`."""
        return {key[len(kind) + 1:]: tensor(value) for key, value in self.entries
                if key.startswith(kind + ' ')}


def read(path):
    """The cases of a file."""
    cases = []
    with open(path, encoding='utf-8') as file:
        for line in file:
            line = line.rstrip('\n')
            if line.startswith('#') or not line:
                continue
            if line.startswith(' '):
                key, value = cases[-1].entries[-1]
                cases[-1].entries[-1] = (key, value + line + '\n')
                continue
            key, _, value = line.partition(':')
            if key == 'case':
                cases.append(Case(value.strip()))
            else:
                cases[-1].entries.append((key, value.strip()))
    return cases


def tensor(text):
    """"f32[2,3] = 1 2 3 4 5 6"; one number fills it."""
    shape, _, values = text.partition('=')
    dtype, _, dims = shape.strip().rstrip(']').partition('[')
    dims = [int(dim) for dim in dims.split(',') if dim]
    values = np.array([float(value) for value in values.split()]).astype(DTYPES[dtype])
    return np.broadcast_to(values, dims) if values.size == 1 else values.reshape(dims)
