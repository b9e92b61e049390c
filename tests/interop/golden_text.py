"""Numbers and tensors as golden files have them."""
import numpy as np

NAMES = {'float32': 'f32', 'int32': 's32', 'int64': 's64', 'uint8': 'u8', 'bool': 'pred'}


def shortest(value):
    """In as few digits as say it."""
    return str(int(value) if isinstance(value, np.bool_) else value).removesuffix('.0')


def number(value):
    return shortest(np.float32(value))


def tensor(array):
    dims = ','.join(map(str, array.shape))
    return f'{NAMES[str(array.dtype)]}[{dims}] = ' + ' '.join(map(shortest, array.reshape(-1)))
