"""What golden files of transforms want (tests/data/transform_golden_test.cc), by tf.data. Errors stay
as they are: they are in tpurun's words."""
import codecs
import collections
import csv
import datetime
import io
import itertools
import json
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
# Hidden keys of elements.
INDEX, EPOCH, LAMBDA = ' index', ' epoch', ' lambda'
# Of Keras' TextVectorization (DEFAULT_STRIP_REGEX).
PUNCTUATION = r'[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']'
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
    kind, = set(feature) - {'name', 'label'}
    return feature.get('name'), kind, feature.get(kind)


# Fields of a CSV column that say how its numbers are written, or that it has an indicator.
OWN_FORMAT = {'thousands', 'decimal', 'strip', 'missing_indicator'}


def is_missing(text):
    return text.strip().lower() in ('', 'nan', '-nan')


def _number_of(text, column):
    """The number of a field of a CSV column with OWN_FORMAT."""
    text = column.get('default_value') if is_missing(text) else text
    for around in [*column.all('strip'), column.get('thousands', ' '), ' ']:
        text = text.replace(around, '')
    number = float(text.replace(column.get('decimal', '.'), '.'))
    return number if column.get('dtype', 'FLOAT32') == 'FLOAT32' else int(number)


def _parsed_time(text, formats):
    """The time of a text, in UTC and without a zone."""
    for form in formats:
        for seconds in ('%S', '%S.%f'):
            try:
                time = datetime.datetime.strptime(
                    text, form.replace('%Ez', '%z').replace('%E*S', seconds))
            except ValueError:
                continue
            return time if time.tzinfo is None else time.astimezone(
                datetime.timezone.utc).replace(tzinfo=None)
    raise ValueError(text)


def _part_of(time, part, epoch):
    day = datetime.timedelta(days=1)
    since_1970 = time - datetime.datetime(1970, 1, 1)
    return {'DAYS': (time - epoch) / day, 'UNIX_SECONDS': since_1970 // datetime.timedelta(seconds=1),
            'YEAR': time.year, 'MONTH': time.month, 'DAY': time.day, 'HOUR': time.hour,
            'MINUTE': time.minute, 'SECOND': time.second, 'DAY_OF_WEEK': time.weekday(),
            'DAY_OF_YEAR': time.timetuple().tm_yday}[part]


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
        self.batched = False
        dataset = self.opened(self.config.get('train').get('input'))
        return dataset if self.batched else self.batch(dataset, {})

    def opened(self, given):
        """The elements of an input."""
        self.shuffles = 0
        self.ordinals = collections.Counter()  # of the random transforms
        dataset = getattr(self, next(iter(given.get('source'))))(*given.get('source').values())
        return self.transformed(dataset, given.all('transform'))

    def parts(self, given):
        """The elements of the inputs that a source is made of, and the seed of each."""
        own_seed, datasets = self.seed, []
        for part, one in enumerate(given.all('input')):
            low, high = (int(lane) for lane in philox.lanes(
                own_seed, philox.stream_of('input'), 0, 0, 2, part))
            self.seed = high << 32 | low
            datasets.append(_without_places(self.opened(one)))
        self.seed, self.shuffles, self.ordinals = own_seed, 0, collections.Counter()
        return datasets

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
        return self.numbered(tf.data.Dataset.from_tensor_slices(columns))

    def text_line(self, sources):
        files = list(map(self.path, sources[0].all('file')))
        with open(files[0], encoding='utf-8') as file:
            self.has_header = sources[0].get('header', False)
            ahead = sources[0].get('skip_lines', 0) if self.has_header else 0
            self.first_line = next(line for line in itertools.islice(file, ahead, None) if line.strip(' \n'))
        skip_blank = sources[0].get('skip_blank_lines', 'decode_' in str(self.config))

        def lines_of(file):
            lines = tf.data.TextLineDataset(file).skip(sources[0].get('skip_lines', 0))
            if skip_blank:
                lines = lines.filter(lambda line: tf.not_equal(tf.strings.strip(line), ''))
            return lines.skip(int(self.has_header))
        lines = self.of_files(sources[0], lines_of)
        return lines.map(lambda line: {'line': line})

    def tfrecord(self, sources):
        records = self.of_files(sources[0], tf.data.TFRecordDataset)
        return self.numbered(records.map(lambda record: {'record': record}))

    def fixed_length_record(self, sources):
        given = sources[0]
        records = self.of_files(given, lambda file: tf.data.FixedLengthRecordDataset(
            file, given.get('record_bytes'), given.get('header_bytes', 0), given.get('footer_bytes', 0)))
        return records.map(lambda record: {'record': record})

    def image_file(self, sources):
        def record_of(path):
            with open(path, 'rb') as file:
                feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[file.read()]))
            name = sources[0].get('feature', 'image/encoded')
            return tf.train.Example(features=tf.train.Features(feature={name: feature})).SerializeToString()
        records = [record_of(self.path(name)) for name in sources[0].all('file')]
        return self.numbered(tf.data.Dataset.from_tensor_slices({'record': records}))

    def of_files(self, given, open_file):
        order = given.get('interleave', {})
        return tf.data.Dataset.from_tensor_slices(list(map(self.path, given.all('file')))).interleave(
            open_file, order.get('cycle_length', 1), order.get('block_length', 1))

    def zip(self, sources):
        return self.numbered(tf.data.Dataset.zip(tuple(self.parts(sources[0]))).map(
            lambda *elements: {name: value for element in elements for name, value in element.items()}))

    def sample_from_datasets(self, sources):
        """TensorFlow's, but with draws that can be told: those of data/sampled_records.cc."""
        datasets = self.parts(sources[0])
        weights = sources[0].all('weight') or [1] * len(datasets)
        stops, stream = sources[0].get('stop_on_empty_dataset', False), philox.stream_of('sample_from_datasets')

        def elements():
            left = {i: dataset.as_numpy_iterator() for i, dataset in enumerate(datasets)}
            for index in itertools.count():
                high, low = (int(lane) for lane in philox.lanes(self.seed, stream, 0, 0, 2, index))
                while left:
                    share = (high << 32 | low) / 2**64 * sum(weights[i] for i in left)
                    for chosen in left:
                        if share < weights[chosen]:
                            break
                        share -= weights[chosen]
                    element = next(left[chosen], None)
                    if element is not None:
                        yield element
                        break
                    if stops:
                        return
                    del left[chosen]
                if not left:
                    return
        return self.numbered(tf.data.Dataset.from_generator(
            elements, output_signature=datasets[0].element_spec))

    @staticmethod
    def numbered(dataset):
        """Elements with their place and the pass over the source, for random transforms."""
        return dataset.enumerate().map(lambda index, element: {
            **element, INDEX: index, EPOCH: tf.constant(0, tf.int64)})

    # ---- transforms

    def apply(self, dataset, args):
        function = next(function for function in self.config.all('transformation_func')
                        if function.get('name') == args.get('transformation_func'))
        return self.transformed(dataset, function.all('transform'))

    def batch(self, dataset, args):
        self.batched = True
        # Lists of any length, which are not fed, have no batch.
        lists = {name for name, spec in dataset.element_spec.items()
                 if name not in self.features and not spec.shape.is_fully_defined()}
        dataset = dataset.map(lambda element: {
            name: value for name, value in element.items() if name not in lists})
        mixup = args.get('mixup')
        if mixup:
            dataset = self.with_lambdas(dataset, mixup.get('alpha', 0.2))
        buckets = args.get('bucket_by_sequence_length')
        if buckets and self.mode == 'train':
            boundaries = buckets.all('bucket_boundaries')
            dataset = dataset.bucket_by_sequence_length(
                lambda element: tf.cast(element[buckets.get('element_length')], tf.int32), boundaries,
                [self.batch_size] * (len(boundaries) + 1), drop_remainder=True)
        else:
            dataset = dataset.batch(self.batch_size, args.get('drop_remainder', False))
        return dataset.map(lambda batch: self.mixed(batch, mixup)) if mixup else dataset

    def with_lambdas(self, dataset, alpha):
        """Elements with what each is multiplied by."""
        def elements():
            for element in dataset:
                draws = Draws(self.seed, int(element[EPOCH]), int(element[INDEX]))
                yield {**element, LAMBDA: np.float32(draws.mixup_lambda(np.float32(alpha)))}
        return tf.data.Dataset.from_generator(elements, output_signature={
            **dataset.element_spec, LAMBDA: tf.TensorSpec([], tf.float32)})

    @staticmethod
    def mixed(batch, mixup):
        def one(rows):
            share = tf.reshape(batch[LAMBDA], [-1] + [1] * (len(rows.shape) - 1))
            # The middle one stays, to the last bit.
            return tf.where(rows == tf.reverse(rows, [0]), rows,
                            share * rows + (1 - share) * tf.reverse(rows, [0]))
        return {**batch, **{name: one(batch[name]) for name in mixup.all('feature')}}

    def window(self, dataset, args):
        size = args.get('size')
        windows = _without_places(dataset).window(
            size, args.get('shift', size), args.get('stride', 1), drop_remainder=True)
        return self.numbered(windows.flat_map(lambda window: tf.data.Dataset.zip(
            {name: values.batch(size, drop_remainder=True) for name, values in window.items()})))

    def to_tensor(self, dataset, args):
        name, length = args.get('feature'), args.get('length')

        def one(element):
            row = element[name]
            padding = '' if row.dtype == tf.string else tf.cast(args.get('default_value', 0), row.dtype)
            made = {args.get('output', name): tf.RaggedTensor.from_tensor(row[tf.newaxis]).to_tensor(
                padding, shape=[1, length])[0]}
            if 'row_lengths' in args:
                made[args.get('row_lengths')] = tf.minimum(tf.shape(row)[0], length)
            return {**element, **made}
        return dataset.map(one)

    def cache(self, dataset, args):
        return dataset.cache()

    def prefetch(self, dataset, args):
        return dataset.prefetch(args.get('buffer_size', tf.data.AUTOTUNE))

    def repeat(self, dataset, args):
        if EPOCH not in dataset.element_spec or args.get('count') is None:
            return dataset.repeat(args.get('count'))
        count = args.get('count')
        return tf.data.Dataset.range(count).flat_map(lambda epoch: dataset.map(
            lambda element: {**element, EPOCH: element[EPOCH] * count + epoch}))

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
            numbers = tf.io.decode_raw(x, tf.int32 if is_u32 else args.get('dtype').lower(),
                                       args.get('little_endian', True))
            return tf.reshape(tf.bitcast(numbers, tf.uint32) if is_u32 else numbers, args.all('shape'))
        return self.mapped(dataset, args, one)

    def slice(self, dataset, args):
        def one(x):
            rank = len(x.shape)
            begin, size = ((args.all(field) + [default] * rank)[:rank]
                           for field, default in (('begin', 0), ('size', -1)))
            return tf.slice(x, begin, size)
        return self.mapped(dataset, args, one)

    def parse_time(self, dataset, args):
        """By Python's datetime."""
        epoch = datetime.datetime.strptime(args.get('epoch', '1970-01-01'), '%Y-%m-%d')
        times = {}

        def time_of(text):
            if text not in times:
                times[text] = _parsed_time(text.decode().strip(), args.all('format'))
            return times[text]

        def one(element):
            texts = element[args.get('feature')]
            made = {}
            for output in args.all('output'):
                dtype = np.float32 if output.get('part') == 'DAYS' else np.int64
                value = tf.numpy_function(
                    lambda x, part=output.get('part'), dtype=dtype: np.vectorize(
                        lambda text: _part_of(time_of(text), part, epoch), otypes=[dtype])(x),
                    [texts], dtype)
                made[output.get('name')] = tf.ensure_shape(value, texts.shape)
            return {**element, **made}
        return dataset.map(one)

    def decode_json(self, dataset, args):
        """By Python's json."""
        def values_of(line, feature):
            value = json.loads(line)
            key = feature.get('key', feature.get('name'))
            keys = ([part.replace('~1', '/').replace('~0', '~') for part in key[1:].split('/')]
                    if key.startswith('/') else [key])
            for part in keys:
                if isinstance(value, list):
                    value = value[int(part)] if int(part) < len(value) else None
                else:
                    value = (value or {}).get(part)
            flat = np.full(feature.all('shape'), None, object) if value is None else (
                np.array(value, object).reshape(feature.all('shape')))
            return flat.reshape(-1)

        def made(line, feature, is_missing):
            kind = feature.get('dtype', 'FLOAT32')
            parse = {'FLOAT32': np.float32, 'INT64': np.int64, 'INT32': np.int32}.get(kind, str.encode)
            values = values_of(line, feature)
            if is_missing:
                return np.array([value is None for value in values], np.float32)
            default = feature.get('default_value', '' if kind == 'STRING' else '0')
            return np.array([parse(default if value is None else value) for value in values],
                            object if kind == 'STRING' else parse)

        def one(element):
            line, elements = element['line'], {}
            for feature in args.all('feature'):
                kind = getattr(tf, feature.get('dtype', 'FLOAT32').lower())
                for name, dtype, is_missing in ((feature.get('name'), kind, False),
                                                (feature.get('missing_indicator'), tf.float32, True)):
                    if name is None:
                        continue
                    value = tf.numpy_function(
                        lambda text, feature=feature, is_missing=is_missing: made(
                            text, feature, is_missing), [line], dtype)
                    elements[name] = tf.reshape(value, feature.all('shape'))
            return elements
        return dataset.map(one)

    def lookup(self, dataset, args):
        entries = args.all('vocabulary_list')
        if args.get('vocabulary_file'):
            with open(self.path(args.get('vocabulary_file')), encoding='utf-8') as file:
                entries = file.read().splitlines()

        def table(dtype):
            keys = list(map(int if dtype == tf.int64 else textproto.as_bytes, entries))
            values = tf.lookup.KeyValueTensorInitializer(
                tf.constant(keys, dtype), tf.range(len(keys), dtype=tf.int64))
            if args.get('num_oov_buckets'):
                return tf.lookup.StaticVocabularyTable(values, args.get('num_oov_buckets'), dtype)
            return tf.lookup.StaticHashTable(values, args.get('default_value', -1))
        tables = {dtype: table(dtype) for dtype in {
            dataset.element_spec[name].dtype for name in args.all('feature') if name in dataset.element_spec}}
        return self.mapped(dataset, args, lambda x: tables[x.dtype].lookup(x))

    def filter(self, dataset, args):
        return dataset.filter(lambda element: tf.not_equal(
            tf.cast(element[args.get('feature')], tf.float64), 0))

    def string_to_hash_bucket_fast(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.strings.to_hash_bucket_fast(
            x if x.dtype == tf.string else tf.strings.as_string(x), args.get('num_buckets')))

    def cross(self, dataset, args):
        names = args.all('feature')
        return dataset.map(lambda element: {
            **element, args.get('output', '_X_'.join(names)): tf.sparse.cross_hashed(
                [tf.reshape(element[name], [1, 1]) for name in names],
                args.get('num_buckets')).values[0]})

    def bucketize(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.cast(
            tf.raw_ops.Bucketize(input=x, boundaries=args.all('boundaries')), tf.int64))

    def one_hot(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.one_hot(
            x, args.get('depth'), args.get('on_value', 1.0), args.get('off_value', 0.0)))

    # ---- texts

    def split(self, dataset, args):
        standardize, by = args.get('standardize', 'NONE'), args.get('by', 'WHITESPACE')

        def one(text):
            if 'LOWER' in standardize:
                text = tf.strings.lower(text, encoding='utf-8')
            if 'STRIP' in standardize:
                text = tf.strings.regex_replace(text, PUNCTUATION, '')
            if by == 'WHITESPACE_AND_PUNCTUATION':
                text = tf.strings.regex_replace(text, PUNCTUATION, ' ')
            return {'CHARACTERS': lambda text: tf.strings.unicode_split(text, 'UTF-8'),
                    'BYTES': tf.strings.bytes_split}.get(by, tf.strings.split)(text)
        return self.of_one(dataset, args, one)

    def ngrams(self, dataset, args):
        return self.of_one(dataset, args, lambda words: tf.strings.ngrams(
            words, args.all('width'), args.get('separator', ' ')))

    @staticmethod
    def of_one(dataset, args, function):
        """Of a single feature."""
        name = args.get('feature')
        return dataset.map(lambda element: {
            **element, args.get('output', name): function(element[name])})

    def category_encoding(self, dataset, args):
        """Keras' refuses ids outside, which are left out."""
        size = args.get('num_tokens')
        layer = tf.keras.layers.CategoryEncoding(size, args.get('output_mode', 'MULTI_HOT').lower())

        def one(ids):
            ids = tf.reshape(ids, [-1])
            ids = tf.boolean_mask(ids, (tf.cast(ids, tf.int64) >= 0) & (tf.cast(ids, tf.int64) < size))
            return tf.cond(tf.size(ids) > 0, lambda: tf.reshape(layer(ids[tf.newaxis]), [size]),
                           lambda: tf.zeros([size]))
        return self.mapped(dataset, args, one)

    def rejection_resample(self, dataset, args):
        """TensorFlow's, but with draws that can be told, which proto/input.proto describes, and each
        element at most once."""
        stream = philox.stream_of(f'rejection_resample {self.ordinals["rejection_resample"]}')
        self.ordinals['rejection_resample'] += 1
        ratios = [float(np.float32(target)) / float(np.float32(initial)) for target, initial in
                  zip(args.all('target_dist'), args.all('initial_dist'))]

        def elements():
            for element in dataset:
                lane, = philox.lanes(self.seed, stream, int(element[EPOCH]), 0, 1, int(element[INDEX]))
                if int(lane) / 2**32 < ratios[int(element[args.get('feature')])] / max(ratios):
                    yield element
        return tf.data.Dataset.from_generator(elements, output_signature=dataset.element_spec)

    # ---- images

    def decode_image(self, dataset, args):
        def one(x):
            channels, ratio = args.get('channels', 0), args.get('ratio', 1)
            if ratio > 1 or 'dct_method' in args:
                return tf.io.decode_jpeg(x, channels, ratio, dct_method=args.get('dct_method', ''))
            return tf.io.decode_image(x, channels, expand_animations=False)
        return self.mapped(dataset, args, one)

    def resize(self, dataset, args):
        height, width = _height_and_width(args)
        method = args.get('method', 'BILINEAR').lower()
        half = args.get('half_pixel_centers', True)
        v1 = {'bilinear': tf.compat.v1.image.ResizeMethod.BILINEAR,
              'bicubic': tf.compat.v1.image.ResizeMethod.BICUBIC,
              'area': tf.compat.v1.image.ResizeMethod.AREA,
              'nearest_neighbor': tf.compat.v1.image.ResizeMethod.NEAREST_NEIGHBOR}

        def one(x):
            if half:
                return tf.image.resize(x, [height, width], 'nearest' if 'nearest' in method else method)
            return tf.compat.v1.image.resize(x, [height, width], v1[method])
        return self.mapped(dataset, args, one)

    def central_crop(self, dataset, args):
        """As the official ResNet decodes for evaluation."""
        height, width = _height_and_width(args)
        padding = args.get('padding', 0)

        def one(x):
            shorter = tf.cast(tf.minimum(tf.shape(x)[0], tf.shape(x)[1]), tf.float32)
            sides = [tf.cast(side / (side + padding) * shorter, tf.int32) for side in (height, width)]
            offsets = [(tf.shape(x)[i] - sides[i] + 1) // 2 for i in (0, 1)]
            return tf.image.crop_to_bounding_box(x, *offsets, *sides)
        return self.mapped(dataset, args, one)

    def random_crop(self, dataset, args):
        height, width = _height_and_width(args)
        padding = args.get('padding', 0)

        def one(x, lanes):
            padded = tf.pad(x, [[padding] * 2, [padding] * 2, [0, 0]])
            places = [lane * (int(side) - wanted + 1) >> 32 for lane, side, wanted in
                      zip(lanes, padded.shape, (height, width))]
            return tf.image.crop_to_bounding_box(padded, *places, height, width)
        return self.drawn(dataset, args, 'random_crop', one)

    def random_flip_left_right(self, dataset, args):
        return self.drawn(dataset, args, 'random_flip_left_right', lambda x, lanes:
                          tf.image.flip_left_right(x) if _uniform(lanes[0]) < 0.5 else x)

    def random_flip_up_down(self, dataset, args):
        return self.drawn(dataset, args, 'random_flip_up_down', lambda x, lanes:
                          tf.image.flip_up_down(x) if _uniform(lanes[0]) < 0.5 else x)

    def sample_distorted_bounding_box(self, dataset, args):
        ratios = args.all('aspect_ratio_range') or [0.75, 1.33]
        areas = args.all('area_range') or [0.05, 1]

        def one(x, attempts, element):
            boxes = [element[name].numpy() for name in args.all('bounding_boxes')]
            boxes = list(zip(*boxes)) or [(0, 0, 1, 1)]
            window = distorted_window(x.shape, ratios, areas, args.get('min_object_covered', 0.1), boxes,
                                      itertools.islice(attempts, args.get('max_attempts', 100)))
            return tf.image.crop_to_bounding_box(x, *window)
        dataset = self.drawn(dataset, args, 'sample_distorted_bounding_box', one, attempts=True)
        return self.resize(dataset, args) if args.all('size') else dataset

    def resize_with_crop_or_pad(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.image.resize_with_crop_or_pad(
            x, *_height_and_width(args)))

    def adjust_brightness(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.image.adjust_brightness(x, args.get('delta', 0.0)))

    def adjust_contrast(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.image.adjust_contrast(
            x, args.get('contrast_factor', 1.0)))

    def adjust_saturation(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.image.adjust_saturation(
            x, args.get('saturation_factor', 1.0)))

    def adjust_hue(self, dataset, args):
        return self.mapped(dataset, args, lambda x: tf.image.adjust_hue(x, args.get('delta', 0.0)))

    def random_brightness(self, dataset, args):
        return self.by_delta(dataset, args, 'random_brightness', tf.image.adjust_brightness)

    def random_hue(self, dataset, args):
        return self.by_delta(dataset, args, 'random_hue', tf.image.adjust_hue)

    def random_contrast(self, dataset, args):
        return self.by_factor(dataset, args, 'random_contrast', tf.image.adjust_contrast)

    def random_saturation(self, dataset, args):
        return self.by_factor(dataset, args, 'random_saturation', tf.image.adjust_saturation)

    def by_delta(self, dataset, args, kind, adjust):
        most = np.float32(args.get('max_delta'))
        return self.drawn(dataset, args, kind, lambda x, lanes: adjust(
            x, _uniform(lanes[0]) * (most + most) - most))

    def by_factor(self, dataset, args, kind, adjust):
        lower, upper = np.float32(args.get('lower')), np.float32(args.get('upper'))
        return self.drawn(dataset, args, kind, lambda x, lanes: adjust(
            x, _uniform(lanes[0]) * (upper - lower) + lower))

    def per_image_standardization(self, dataset, args):
        return self.mapped(dataset, args, tf.image.per_image_standardization)

    def drawn(self, dataset, args, kind, function, attempts=False):
        """Each feature by function(its value, the lanes of its element or of each attempt): the draws
        that proto/input.proto describes."""
        ordinal = self.ordinals[kind]
        self.ordinals[kind] += 1
        stream = philox.stream_of(f'{kind} {ordinal}')

        def elements():
            for element in dataset:
                def lanes_of(attempt, element=element):
                    return [int(lane) for lane in philox.lanes(
                        self.seed, stream, int(element[EPOCH]), attempt, 4, int(element[INDEX]))]
                # The boxes of the element, too, for the one that tries several times.
                drawn = (map(lanes_of, itertools.count()), element) if attempts else (lanes_of(0),)
                yield {**element, **{name: function(element[name], *drawn) for name in args.all('feature')}}
        spec = {name: tf.TensorSpec([None] * len(value.shape) if name in args.all('feature') else
                                    value.shape, value.dtype)
                for name, value in dataset.element_spec.items()}
        return tf.data.Dataset.from_generator(elements, output_signature=spec)

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
        # Columns in a format of their own are read as texts.
        own = [column for column in columns if set(column) & OWN_FORMAT]
        defaults, titles = [], []
        for column in columns:
            value, dtype = column.get('default_value'), column.get('dtype', 'FLOAT32').lower()
            if column in own:
                value, dtype = '', 'string'
            parse = {'float32': float, 'string': str}.get(dtype, int)
            defaults += [tf.constant([] if value is None else [parse(value)], dtype)] * _elements(column)
            titles += _titles(column)
        # Of each value, where it is in the line.
        places = [header.index(title) for title in titles] if header else range(len(titles))
        order = sorted(range(len(places)), key=places.__getitem__)

        na_values = [*args.all('na_value'), '']

        def with_one_na_value(line):
            fields = next(csv.reader([line.decode()], delimiter=args.get('field_delim', ',')))
            text = io.StringIO()
            csv.writer(text, delimiter=args.get('field_delim', ','), lineterminator='').writerow(
                na_values[0] if field in na_values else field for field in fields)
            return text.getvalue().encode()

        def decoded(element):
            line = element['line']
            if len(na_values) > 2:  # of which tf.io.decode_csv takes one
                line = tf.ensure_shape(tf.numpy_function(with_one_na_value, [line], tf.string), [])
            read = tf.io.decode_csv(
                line, [defaults[i] for i in order], args.get('field_delim', ','),
                args.get('use_quote_delim', True), na_values[0],
                select_cols=[places[i] for i in order] if header else None)
            values = iter([value for _, value in sorted(zip(order, read), key=lambda pair: pair[0])])
            made = {column.get('name'): tf.reshape(
                [next(values) for _ in range(_elements(column))], column.all('shape'))
                    for column in columns}
            for column in own:
                texts = made[column.get('name')]
                dtype = column.get('dtype', 'FLOAT32').lower()
                value = tf.numpy_function(
                    lambda x, column=column, dtype=dtype: np.vectorize(
                        lambda text: _number_of(text.decode(), column), otypes=[dtype])(x),
                    [texts], dtype)
                made[column.get('name')] = tf.ensure_shape(value, texts.shape)
                if 'missing_indicator' in column:
                    made[column.get('missing_indicator')] = tf.ensure_shape(tf.numpy_function(
                        lambda x: np.vectorize(lambda text: is_missing(text.decode()), otypes=['float32'])(x),
                        [texts], tf.float32), texts.shape)
            return made
        return dataset.map(decoded)

    def parse_example(self, dataset, args):
        def fixed(kind, given):
            dtype = {'float': tf.float32, 'int64': tf.int64, 'bytes': tf.string}[kind]
            shape, default = given.all('shape'), given.all('default_value') or None
            if shape == [-1]:
                return tf.io.FixedLenSequenceFeature([], dtype, allow_missing=True)
            if default and len(default) == 1:
                default = np.full(shape, default[0]).tolist()
            return tf.io.FixedLenFeature(shape, dtype, default)
        wanted = [feature for feature in args.all('feature')
                  if self.mode != 'predict' or not feature.get('label')]
        features = {name: fixed(kind, given)
                    for name, kind, given in map(kind_of, wanted)}
        return dataset.map(lambda element: {
            **tf.io.parse_single_example(element.pop('record'), features), **element})


def distorted_window(shape, ratios, areas, least_covered, boxes, attempts):
    """(y, x, height, width) as TensorFlow's GenerateRandomCrop makes it of random numbers."""
    f32, (height, width) = np.float32, map(int, shape[:2])
    for lanes in attempts:
        ratio = _uniform(lanes[0]) * (f32(ratios[1]) - f32(ratios[0])) + f32(ratios[0])

        def width_of(h):
            return int(np.rint(f32(h) * ratio))
        least, most = (f32(area) * f32(width) * f32(height) for area in areas)
        low, high = (int(np.rint(np.sqrt(area / ratio))) for area in (least, most))
        if width_of(high) > width:
            high = int((width + 0.5 - 1e-7) / float(ratio))
            high -= width_of(high) > width
        high = min(high, height)
        low = min(low, high)
        chosen = low + (lanes[1] * (high - low + 1) >> 32 if low < high else 0)
        chosen += f32(chosen * width_of(chosen)) < least
        chosen -= f32(chosen * width_of(chosen)) > most
        chosen_width = width_of(chosen)
        if not (least <= f32(chosen * chosen_width) <= most and 0 < chosen_width <= width and 0 < chosen <= height):
            continue
        y = lanes[2] * (height - chosen) >> 32
        x = lanes[3] * (width - chosen_width) >> 32
        for box in boxes:
            top, left, bottom, right = (int(f32(share) * f32(side)) for share, side in
                                        zip(box, (height, width) * 2))
            area = max(bottom - top, 0) * max(right - left, 0)
            both = (max(min(y + chosen, bottom) - max(y, top), 0) *
                    max(min(x + chosen_width, right) - max(x, left), 0))
            if area >= 1 and f32(both) / f32(area) >= f32(least_covered):
                return y, x, chosen, chosen_width
    return 0, 0, height, width


class Draws:
    """The draws of a mixup for one element, by Marsaglia and Tsang's method for gamma variables."""

    def __init__(self, seed, epoch, index):
        self.seed, self.epoch, self.index, self.drawn = seed, epoch, index, 0

    def uniform(self):
        block = (self.index << 32 | self.drawn) % 2**64
        self.drawn += 1
        high, low = (int(lane) for lane in philox.lanes(
            self.seed, philox.stream_of('mixup'), self.epoch, self.index >> 32, 2, block))
        return ((high << 32 | low) // 2**11 + 0.5) / 2**53

    def normal(self):
        radius = np.sqrt(-2 * np.log(self.uniform()))
        return radius * np.cos(2 * np.pi * self.uniform())

    def log_gamma(self, alpha):
        log_power = np.log(self.uniform()) / alpha
        d = alpha + 1 - 1 / 3
        while True:
            x = self.normal()
            v = (1 + x / np.sqrt(9 * d))**3
            if v > 0 and np.log(self.uniform()) < x * x / 2 + d - d * v + d * np.log(v):
                return np.log(d * v) + log_power

    def mixup_lambda(self, alpha):
        first, second = self.log_gamma(float(alpha)), self.log_gamma(float(alpha))
        share = 1 / (1 + np.exp(second - first))
        return max(share, 1 - share)


def _without_places(dataset):
    """Elements without their place and pass, which they get anew as elements of another input."""
    return dataset.map(lambda element: {
        name: value for name, value in element.items() if name not in (INDEX, EPOCH)})


def _uniform(lane):
    return np.float32((lane >> 8) * 2.0**-24)


def _height_and_width(args):
    size = args.all('size')
    return size[0], size[-1]


def _titles(column):
    """In the header, those of a column's elements."""
    title = column.get('title', column.get('name'))
    if _elements(column) == 1:
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
