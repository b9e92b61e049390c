"""The golden files of models and optimizers (tests/models/golden_case.h says their form)."""
import re

import numpy as np

DTYPES = {'f32': np.float32, 's32': np.int32, 's64': np.int64, 'u8': np.uint8, 'u32': np.uint32,
          'pred': np.bool_, 'bf16': np.float32}  # which holds its values
ENTRY = re.compile(r'[^ #\n][^\n]*\n(?: [^\n]*\n)*|(?:#[^\n]*)?\n')


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
    with open(path, encoding='utf-8') as file:
        return [case for case, _ in _blocks(file.read())[1]]


def filled(path, told_of):
    """The text of a file with the numbers of TensorFlow. What `told_of(case)` gives is asked, in the
    order of the file, by told(key, value): for `expect KEY` entries for the value's text, of others
    nothing; then by more() for {key: value} of all that could be expected."""
    with open(path, encoding='utf-8') as file:
        head, blocks = _blocks(file.read())
    texts = []
    for case, items in blocks:
        teller, lines = told_of(case), []
        for key, value, text in items:
            told = teller.told(key, value) if key else None
            if key.startswith('expect'):
                assert told is not None, f'{path}: {case.name}: nothing tells {key}'
                text = _entry(key, told)
            lines.append(text)
        end = len(lines) - next(i for i, line in enumerate(reversed(lines)) if line != '\n')
        lines[end:end] = [_entry(key, value) for key, value in teller.more().items()
                          if key not in dict(case.entries)]
        texts.append(''.join(lines))
    return head + ''.join(texts)


def _entry(key, value):
    return f'{key}:{value if value.startswith(chr(10)) else " " + value}'.rstrip(' ') + '\n'


def _blocks(text):
    """What stands before the cases, and of each case itself and its [(key, value, text)]; no key: a
    comment or an empty line."""
    head, *blocks = re.split('^(?=case:)', text, flags=re.M)
    result = []
    for block in blocks:
        items = []
        for text in ENTRY.findall(block):
            key, _, value = text.partition(':') if text[0] not in '#\n' else ('', '', '')
            items.append((key, value.strip(' ') if value.startswith('\n') else value.strip(), text))
        case = Case(items[0][1])
        case.entries = [(key, value) for key, value, _ in items[1:] if key]
        result.append((case, items))
    return head, result


def tensor(text):
    """"f32[2,3] = 1 2 3 4 5 6"; one number fills it."""
    shape, _, values = text.partition('=')
    dtype, _, dims = shape.strip().rstrip(']').partition('[')
    dims = [int(dim) for dim in dims.split(',') if dim]
    values = np.array([float(value) for value in values.split()]).astype(DTYPES[dtype])
    return np.full(dims, values[0]) if values.size == 1 else values.reshape(dims)
