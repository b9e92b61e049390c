"""The means and standard deviations that init finds (tests/cli/init_test.cc), by TensorFlow."""
import os
import re
import tempfile

import numpy as np
import tensorflow as tf

import textproto
import transforms_in_tf
from golden_text import shortest

NORMALIZE = re.compile(r'(normalize {\s*feature: "(.*?)"\s*mean: )([^\n]*?)(\s*stddev: )([^\n]*?)(?=\s*})')
LABEL = re.compile(r'(label: "(.*?)"\s*label_mean: )(\S+)( label_stddev: )(\S+)')
MISSING = -2**62  # in place of the value that stands for what is missing


def filled(path):
    """The text of a file, the numbers of its normalizations made anew: of CSV and tf.Examples, not of
    series and JSON lines."""
    with open(path, encoding='utf-8') as file:
        data, files = file.read().split('---\n', 1)
    if '== run.textproto\n' not in files or data.startswith(('series', 'jsonl')):
        return f'{data}---\n{files}'
    with tempfile.TemporaryDirectory() as directory:
        for part in files.split('== ')[1:]:
            name, content = part.split('\n', 1)
            with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
                file.write(content)
        table = Table(data, files.split('== run.textproto\n')[1], directory)

        def made(match):
            mean, stddev = table.moments(match[2], one=not match[3].startswith('['))
            return f'{match[1]}{mean}{match[4]}{stddev}'
        return f'{data}---\n{LABEL.sub(made, NORMALIZE.sub(made, files))}'


class Table(transforms_in_tf.Input):
    """The examples to train on, as they are before they are normalized."""

    def __init__(self, data, run, directory):
        kind, data = data.split('\n', 1)
        self.directory, self.mode = directory, 'train'
        # Warnings may follow.
        self.config = textproto.parse(run[:run.rindex('\n}\n') + 3])
        if kind.startswith('csv'):
            with open(self.path('data'), 'w', encoding='utf-8', newline='') as file:
                file.write(data)
        else:
            transforms_in_tf.write_records(self.path('data'), [
                transforms_in_tf.example_of(f'features {{ {line} }}') for line in data.splitlines()])
        given = self.config.get('train').get('input')
        (kind, source), = given.get('source').items()
        transforms = self.config.get('transformation_func').all('transform')
        for transform in transforms:
            mark_missing(transform)
        self.rows = self.transformed(getattr(self, kind)(source), [
            *(transform for transform in given.all('transform') if 'shard' in transform),
            *(transform for transform in transforms if 'normalize' not in transform)])

    def moments(self, feature, one):
        """As text; one for all values, else one for each of the last dimension."""
        values = np.stack([row[feature] for row in self.rows.as_numpy_iterator()]).astype(np.float64)
        axes = list(range(values.ndim - (0 if one else 1)))
        mean, variance = tf.nn.weighted_moments(values, axes, (values != MISSING).astype(np.float64))
        texts = [', '.join(map(shortest, np.atleast_1d(array).astype(np.float32)))
                 for array in (mean, tf.sqrt(variance))]
        return texts if one else [f'[{text}]' for text in texts]


def mark_missing(transform):
    for column in transform.get('decode_csv', textproto.Message()).all('column'):
        if 'default_value' in column and column.get('dtype', 'FLOAT32') != 'STRING':
            column['default_value'] = [str(MISSING)]
    for feature in transform.get('parse_example', textproto.Message()).all('feature'):
        _, kind, given = transforms_in_tf.kind_of(feature)
        if 'default_value' in given and kind != 'bytes':
            given['default_value'] = [MISSING]
