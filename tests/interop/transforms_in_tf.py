"""What golden files of transforms want (tests/data/transform_golden_test.cc), by tf.data. Errors stay
as they are: they are in tpurun's words."""
import codecs
import csv
import os
import re
import tempfile

from google.protobuf import text_format
import numpy as np
import tensorflow as tf

import philox
import textproto
from golden_text import shortest

# Cases in which TensorFlow refuses what tpurun takes: it decodes what it drops, and no plus sign.
REFUSED = {'what drop_remainder drops is not decoded', 'a whole number with a plus sign'}
SECTION = re.compile(r'(?m)^(?:(file|examples|records) (.*):|(config|args|want):) ?')


def filled(path):
    """The text of a file, its rows made anew."""
    with open(path, encoding='utf-8') as file:
        head, *cases = re.split(r'(?m)^(?==== )', file.read())
    return head + ''.join(map(_filled, cases))


def _filled(text):
    before, want = text.split('\nwant:\n')
    if want.startswith('error '):
        return text
    with tempfile.TemporaryDirectory() as directory:
        made = Input(before + '\n', directory)
        if before.splitlines()[0].removeprefix('=== ') not in REFUSED:
            return f'{before}\nwant:\n{made.text()}'
        try:
            made.text()
        except tf.errors.InvalidArgumentError:
            return text
        raise AssertionError(f'TensorFlow takes it too: {before}')


def write_records(path, records):
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def example_of(line):
    return text_format.Parse(line, tf.train.Example()).SerializeToString()


def kind_of(feature):
    """Its name and its one field with what is in it."""
    kind, = set(feature) - {'name'}
    return feature.get('name'), kind, feature.get(kind)


class Input:
    """One case: its files written, its configuration read, its dataset made."""

    def __init__(self, text, directory):
        found = list(SECTION.finditer(text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        self.directory = directory
        for match, end in zip(found, ends):
            value, (kind, name, other) = text[match.end():end].removeprefix('\n'), match.groups()
            if other == 'config':
                self.config = textproto.parse(value)
            elif other == 'args':
                self.read_args(value)
            elif kind == 'file':
                with open(self.path(name), 'w', encoding='utf-8', newline='') as file:
                    file.write(value)
            else:
                record_of = example_of if kind == 'examples' else (
                    lambda line: codecs.escape_decode(line.encode())[0])
                write_records(self.path(name), map(record_of, value.splitlines()))

    def read_args(self, text):
        words, _, features = text.partition('features=')
        args = dict(word.split('=') for word in words.split())
        self.mode, self.batch_size = args.get('mode', 'eval'), int(args.get('batch_size', 4))
        self.seed, self.batches = int(args.get('seed', 1)), int(args.get('batches', 1000))
        names = features.split()[::2]
        self.features = [name.removeprefix('label:') for name in names
                         if self.mode != 'predict' or not name.startswith('label:')]

    def path(self, name):
        return os.path.join(self.directory, name)

    def text(self):
        """A line a row, "--" between batches."""
        batches = []
        for batch in self.dataset().take(self.batches):
            rows = zip(*(batch[name].numpy() for name in self.features))
            batches.append(''.join(' '.join(map(_column, self.features, row)) + '\n' for row in rows))
        return '--\n'.join(batches)

    def dataset(self):
        given = self.config.get('train').get('input')
        self.shuffles, self.batched = 0, False
        dataset = getattr(self, next(iter(given.get('source'))))(*given.get('source').values())
        dataset = self.transformed(dataset, given.all('transform'))
        return dataset if self.batched else dataset.batch(self.batch_size)

    def transformed(self, dataset, transforms):
        for transform in transforms:
            (kind, (args,)), = transform.items()
            dataset = getattr(self, kind)(dataset, args)
        return dataset

    # ---- sources

    def from_tensor_slices(self, sources):
        columns = {}
        for feature in sources[0].all('feature'):
            name, kind, values = kind_of(feature)
            array = values.all('value')
            if kind == 'bytes':
                array = tf.constant(list(map(textproto.as_bytes, array)))
            else:
                array = tf.constant(array, {'int64': tf.int64, 'float': tf.float32}[kind])
            columns[name] = tf.reshape(array, [-1, *values.all('shape')])
        return tf.data.Dataset.from_tensor_slices(columns)

    def text_line(self, sources):
        files = list(map(self.path, sources[0].all('file')))
        with open(files[0], encoding='utf-8') as file:
            self.first_line = next(file)
        self.has_header = sources[0].get('header', False)
        lines = tf.data.TextLineDataset(files).skip(
            sources[0].get('skip_lines', 0) + self.has_header)
        return lines.map(lambda line: {'line': line})

    def tfrecord(self, sources):
        records = tf.data.TFRecordDataset(list(map(self.path, sources[0].all('file'))))
        return records.map(lambda record: {'record': record})

    def fixed_length_record(self, sources):
        records = tf.data.FixedLengthRecordDataset(
            list(map(self.path, sources[0].all('file'))), sources[0].get('record_bytes'),
            sources[0].get('header_bytes', 0), sources[0].get('footer_bytes', 0))
        return records.map(lambda record: {'record': record})

    # ---- transforms

    def apply(self, dataset, args):
        function = next(function for function in self.config.all('transformation_func')
                        if function.get('name') == args.get('transformation_func'))
        return self.transformed(dataset, function.all('transform'))

    def batch(self, dataset, args):
        self.batched = True
        return dataset.batch(self.batch_size, args.get('drop_remainder', False))

    def cache(self, dataset, args):
        return dataset.cache()

    def prefetch(self, dataset, args):
        return dataset.prefetch(args.get('buffer_size', tf.data.AUTOTUNE))

    def repeat(self, dataset, args):
        return dataset.repeat(args.get('count'))

    def skip(self, dataset, args):
        return dataset.skip(args.get('count'))

    def take(self, dataset, args):
        return dataset.take(args.get('count'))

    def shard(self, dataset, args):
        count, indices = args.get('num_shards'), args.all('index') or [0]
        if len(indices) == 1 and count < 2**31:  # it overflows with larger ones
            return dataset.shard(count, indices[0])
        return dataset.enumerate().filter(
            lambda i, _: tf.reduce_any(i % count == tf.constant(indices, tf.int64))).map(
                lambda _, element: element)

    def shuffle(self, dataset, args):
        """tf.data's, but with draws that can be told: those of data/transforms/shuffle.cc."""
        own = args.get('seed', 0)
        seed = self.seed ^ own * 0x9e3779b97f4a7c15 % 2**64
        stream = philox.stream_of(f'shuffle {0 if own else self.shuffles}')
        self.shuffles += 1
        passes = iter(range(2**32))

        def elements():
            epoch = next(passes) if args.get('reshuffle_each_iteration', True) else 0
            draws = iter(philox.lanes(seed, stream, epoch, 0, 4096).tolist())
            source, buffer = dataset.as_numpy_iterator(), []
            for element in source:
                buffer.append(element)
                if len(buffer) == args.get('buffer_size'):
                    break
            while buffer:
                i = (next(draws) << 32 | next(draws)) * len(buffer) >> 64
                yield buffer[i]
                following = next(source, None)
                buffer[i] = buffer[-1] if following is None else following
                if following is None:
                    buffer.pop()
        return tf.data.Dataset.from_generator(elements, output_signature=dataset.element_spec)

    def cast(self, dataset, args):
        def one(x):
            dtype = tf.as_dtype(args.get('dtype', x.dtype.name).lower())
            if 'scale' in args or 'offset' in args:
                x = tf.cast(x, tf.float32) * args.get('scale', 1) + args.get('offset', 0)
            return tf.cast(x, dtype)
        return self.mapped(dataset, args, one)

    def normalize(self, dataset, args):
        mean, stddev = (tf.constant(args.all(field) or [default], tf.float32)
                        for field, default in (('mean', 0), ('stddev', 1)))
        return self.mapped(dataset, args, lambda x: tf.reshape(
            (tf.cast(x, tf.float32) - mean) / stddev, tf.shape(x)))

    def decode_raw(self, dataset, args):
        def one(x):
            is_u32 = args.get('dtype') == 'UINT32'  # which tf.io.decode_raw has not
            if 'offset' in args:
                dtype = tf.as_dtype(args.get('dtype').lower())
                x = tf.strings.substr(
                    x, args.get('offset'), int(np.prod(args.all('shape'), dtype=int)) * dtype.size)
            numbers = tf.io.decode_raw(x, tf.int32 if is_u32 else args.get('dtype').lower())
            return tf.reshape(tf.bitcast(numbers, tf.uint32) if is_u32 else numbers, args.all('shape'))
        return self.mapped(dataset, args, one)

    def lookup(self, dataset, args):
        entries = args.all('vocabulary_list')
        if args.get('vocabulary_file'):
            with open(self.path(args.get('vocabulary_file')), encoding='utf-8') as file:
                entries = file.read().splitlines()

        def table(dtype):
            keys = list(map(int, entries)) if dtype == tf.int64 else entries
            values = tf.lookup.KeyValueTensorInitializer(
                tf.constant(keys, dtype), tf.range(len(keys), dtype=tf.int64))
            if args.get('num_oov_buckets'):
                return tf.lookup.StaticVocabularyTable(values, args.get('num_oov_buckets'), dtype)
            return tf.lookup.StaticHashTable(values, args.get('default_value', -1))
        tables = {dtype: table(dtype) for dtype in {
            dataset.element_spec[name].dtype for name in args.all('feature') if name in dataset.element_spec}}
        return self.mapped(dataset, args, lambda x: tables[x.dtype].lookup(x))

    def mapped(self, dataset, args, function):
        """Of each feature; labels that the rows lack are passed over."""
        names = [name for name in args.all('feature') if name in dataset.element_spec]
        return dataset.map(lambda element: {
            **element, **{args.get('output', name): function(element[name]) for name in names}})

    def decode_csv(self, dataset, args):
        columns = args.all('column')
        first_line = next(csv.reader([self.first_line], delimiter=args.get('field_delim', ','),
                                     skipinitialspace=True))
        header = [name.strip() for name in first_line] if self.has_header else None
        if self.mode == 'predict' and len(first_line) < sum(map(_elements, columns)):
            columns = [column for column in columns if not column.get('label')]
        defaults, titles = [], []
        for column in columns:
            value, dtype = column.get('default_value'), column.get('dtype', 'FLOAT32').lower()
            parse = {'float32': float, 'string': str}.get(dtype, int)
            defaults += [tf.constant([] if value is None else [parse(value)], dtype)] * _elements(column)
            titles += _titles(column)
        # Of each value, where it is in the line.
        places = [header.index(title) for title in titles] if header else range(len(titles))
        order = sorted(range(len(places)), key=places.__getitem__)

        def decoded(element):
            read = tf.io.decode_csv(
                element['line'], [defaults[i] for i in order], args.get('field_delim', ','),
                args.get('use_quote_delim', True), args.get('na_value', ''),
                select_cols=[places[i] for i in order] if header else None)
            values = iter([value for _, value in sorted(zip(order, read), key=lambda pair: pair[0])])
            return {column.get('name'): tf.reshape(
                [next(values) for _ in range(_elements(column))], column.all('shape'))
                    for column in columns}
        return dataset.map(decoded)

    def parse_example(self, dataset, args):
        def fixed(kind, given):
            dtype = {'float': tf.float32, 'int64': tf.int64, 'bytes': tf.string}[kind]
            shape, default = given.all('shape'), given.all('default_value') or None
            if default and len(default) == 1:
                default = np.full(shape, default[0]).tolist()
            return tf.io.FixedLenFeature(shape, dtype, default)
        features = {name: fixed(kind, given)
                    for name, kind, given in map(kind_of, args.all('feature'))}
        return dataset.map(lambda element: tf.io.parse_single_example(element['record'], features))


def _titles(column):
    """In the header, those of a column's elements."""
    title = column.get('title', column.get('name'))
    if not column.all('shape'):
        return [title]
    digits = re.search('[0-9]*$', title).group()
    return [f'{title.removesuffix(digits)}{int(digits or 0) + i:0{len(digits)}}'
            for i in range(_elements(column))]


def _elements(column):
    return int(np.prod(column.all('shape'), dtype=int))


def _column(name, values):
    values = np.asarray(values)
    values = values.astype(np.float32 if values.dtype.name == 'bfloat16' else
                           np.uint8 if values.dtype == bool else values.dtype)
    return f'{name}=' + ','.join(map(shortest, values.reshape(-1)))
