"""Texts: for 2,000 random strings each choice of split, ngrams, lookup, to_tensor and category_encoding
gives what tf.strings and Keras give, and so does the exported SavedModel, which takes the strings."""
import functools
import json
import os
import random
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import exported
import examples

ROWS = 2000
LENGTH = 12  # of the padded words
BUCKETS = 1000003  # ids that f32 holds
STANDARDIZE = 'NONE', 'LOWER', 'STRIP_PUNCTUATION', 'LOWER_AND_STRIP_PUNCTUATION'
BY = 'WHITESPACE', 'WHITESPACE_AND_PUNCTUATION', 'CHARACTERS', 'BYTES'
OPTIONS = [(standardize, by) for standardize in STANDARDIZE for by in BY
           if by != 'WHITESPACE_AND_PUNCTUATION' or 'STRIP' not in standardize]
# Keras' DEFAULT_STRIP_REGEX.
PUNCTUATION = r'[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_`{|}~\']'
VOCABULARY = ['', '[UNK]', 'a', 'der', 'ß', 'x', 'straße', "don't", 'σας', 'e']


def random_texts(seed):
    """Texts of words, of all of Unicode that TensorFlow's ICU knows, and of bytes that are no UTF-8."""
    draw = random.Random(seed)
    words = ['a', 'Der', 'STRASSE', 'Straße', "don't", 'x', 'ΟΔΟΣ', 'ΣΑΣ', 'σας', 'İstanbul', 'I', '!', '...',
             'e\u0301', '\u0130', 'DŽ', 'ẞ', '\u00a0', '\u2003', '中文', '🙂', 'well-known', '"quoted"', '[UNK]']
    assigned = [c for c in map(chr, range(0x80, 0x30000)) if known(c)]

    def piece():
        kind = draw.randrange(6)
        if kind == 0:
            return draw.choice(assigned).encode()
        if kind == 1:
            return bytes(draw.randrange(1, 256) for _ in range(draw.randrange(4)))
        if kind == 2:
            return chr(draw.randrange(1, 128)).encode()
        return draw.choice(words).encode()
    texts = [b'', b' ', b'...', b'\t\n\v\f\r', b'!?', b'\xff', b'a' * (1 << 20), b'Long ' * 20000,
             'Ä'.encode() * 50000]
    while len(texts) < ROWS:
        glue = draw.choice((b' ', b' ', b'', b', ', b'\n', b'\t '))
        texts.append(glue.join(piece() for _ in range(draw.randrange(20))))
    return texts


def known(character):
    """True of what Unicode 13, that of TensorFlow 2.15's ICU, assigns; not of surrogates."""
    if 0xd800 <= ord(character) < 0xe000:
        return False
    import unicodedata  # Python's is of another version: what changed with it is left out
    return unicodedata.category(character) != 'Cn' and ord(character) not in NEWER


# Of Unicode 14 and 15: the blocks with letters that have two cases, and single letters.
NEWER = {*range(0x10570, 0x105c0), 0x2c2f, 0x2c5f, 0xa7c0, 0xa7c1, *range(0xa7d0, 0xa7da), 0xa7f2, 0xa7f3, 0xa7f4}


def standardized(texts, standardize):
    if 'LOWER' in standardize:
        texts = tf.strings.lower(texts, encoding='utf-8')
    if 'STRIP' in standardize:
        texts = tf.strings.regex_replace(texts, PUNCTUATION, '')
    return texts


def split(texts, standardize, by):
    """The ragged parts, in TensorFlow."""
    texts = standardized(tf.constant(texts), standardize)
    if by == 'CHARACTERS':
        return tf.strings.unicode_split(texts, 'UTF-8')
    if by == 'BYTES':
        return tf.strings.bytes_split(texts)
    if by == 'WHITESPACE_AND_PUNCTUATION':
        texts = tf.strings.regex_replace(texts, PUNCTUATION, ' ')
    return tf.strings.split(texts)


def padded_hashes(parts):
    return tf.strings.to_hash_bucket_fast(parts, BUCKETS).to_tensor(0, shape=[None, LENGTH]).numpy()


def write(path, content):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(content)


class TextTransformsTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = functools.partial(os.path.join, directory.name)

    def write_texts(self, texts):
        self.records = []
        with tf.io.TFRecordWriter(self.path('texts')) as writer:
            for text in texts:
                feature = {'text': tf.train.Feature(bytes_list=tf.train.BytesList(value=[text]))}
                self.records.append(tf.train.Example(
                    features=tf.train.Features(feature=feature)).SerializeToString())
                writer.write(self.records[-1])

    def untrained(self, features, transforms):
        """The arguments of verbs for a model that predicts its features, [(name, type, shape)]."""
        model = ''.join(
            f'feature {{ name: "{name}" dtype: {dtype} shape: {shape} }}\n'
            f'layer {{ name: "p_{name}" op {{ name: "convert" attrs: "dtype=f32" }} input: "{name}" }}\n'
            f'prediction {{ name: "p_{name}" }}\n' for name, dtype, shape in features)
        write(self.path('run.textproto'), f"""
            predict_batch_size: 64 use_tpu: false
            model {{ {model} }}
            predict {{ input {{
              source {{ tfrecord {{ file: "texts" }} }}
              transform {{ parse_example {{ feature {{ name: "text" bytes {{}} }} }} }}
              {transforms} }} }}""")
        prefix = self.path('model.ckpt-3')
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=['global_step'], shape_and_slices=[''],
                          tensors=[np.int64(3)])
        return (f'--config={self.path("run.textproto")}', f'--model_dir={self.path("model")}',
                f'--checkpoint={prefix}')

    def check(self, texts, features, transforms, want):
        """What predict gives and what the SavedModel gives are `want`, by name; for some batches."""
        self.write_texts(texts)
        arguments = self.untrained(features, transforms)
        rows = examples.run('predict', *arguments)
        for name, values in want.items():
            got = np.array([row[f'p_{name}'] for row in rows], np.float32)
            self.assert_equal(texts, got, values, f'predict: {name}')
        done = examples.call('export', *arguments, '--export_format=saved_model')
        self.assertEqual(done.code, 0, str(done))
        result = json.loads(done.out)
        models = {'SavedModel': exported.SavedModel(result['path']),
                  'session': exported.SessionModel(result['path'])}
        fed = {'serving_default': ('text', texts), 'predict': ('text', texts),
               'examples:predict': ('examples', self.records)}
        for kind, model in models.items():
            for signature, (key, values) in fed.items():
                values = np.array(values, object)
                for begin, end in ((0, 1), (0, 4), (5, 9), (0, len(texts))):
                    got = model({key: values[begin:end]}, signature)
                    for name, wanted in want.items():
                        self.assert_equal(texts[begin:], got[f'p_{name}'], wanted[begin:end],
                                          f'{kind} {signature} {begin}: {name}')

    def assert_equal(self, texts, got, want, what):
        want = np.asarray(want, np.float32)
        self.assertEqual(got.shape, want.shape, what)
        for row in np.flatnonzero((got != want).reshape(len(got), -1).any(1)):
            self.fail(f'{what}: row {row}, {texts[row][:300]!r}: got {got[row]}, want {want[row]}')

    def test_every_way_to_split(self):
        texts = random_texts(1)
        features, transforms, want = [], '', {}
        for standardize, by in OPTIONS:
            name = f'{standardize}_{by}'.lower()
            features += [(name, 'INT64', [LENGTH]), (f'{name}_n', 'INT32', [])]
            transforms += f"""
                transform {{ split {{ feature: "text" output: "{name}" standardize: {standardize} by: {by} }} }}
                transform {{ string_to_hash_bucket_fast {{ feature: "{name}" num_buckets: {BUCKETS} }} }}
                transform {{ to_tensor {{ feature: "{name}" length: {LENGTH} row_lengths: "{name}_n" }} }}"""
            parts = split(texts, standardize, by)
            want[name] = padded_hashes(parts)
            want[f'{name}_n'] = tf.minimum(parts.row_lengths(), LENGTH).numpy()
        self.assertEqual(len({want[name].tobytes() for name, *_ in features[::2]}), len(OPTIONS))
        self.check(texts, features, transforms, want)

    def test_ngrams(self):
        texts = random_texts(2)
        features, transforms, want = [], '', {}
        for name, widths, separator in (('pairs', [1, 2], ' '), ('mixed', [3, 1], ''), ('long', [5], '\u2192')):
            features.append((name, 'INT64', [40]))
            transforms += f"""
                transform {{ split {{ feature: "text" output: "{name}" }} }}
                transform {{ ngrams {{ feature: "{name}" width: {widths} separator: "{separator}" }} }}
                transform {{ string_to_hash_bucket_fast {{ feature: "{name}" num_buckets: {BUCKETS} }} }}
                transform {{ to_tensor {{ feature: "{name}" length: 40 default_value: -1 }} }}"""
            runs = tf.strings.ngrams(split(texts, 'NONE', 'WHITESPACE'), widths, separator)
            want[name] = tf.strings.to_hash_bucket_fast(runs, BUCKETS).to_tensor(-1, shape=[None, 40])
        # Of a fixed number of words.
        features.append(('fixed', 'INT64', [9]))
        transforms += f"""
            transform {{ split {{ feature: "text" output: "fixed" by: CHARACTERS }} }}
            transform {{ to_tensor {{ feature: "fixed" length: 4 }} }}
            transform {{ ngrams {{ feature: "fixed" width: [2, 1, 3] }} }}
            transform {{ string_to_hash_bucket_fast {{ feature: "fixed" num_buckets: {BUCKETS} }} }}
            transform {{ to_tensor {{ feature: "fixed" length: 9 }} }}"""
        four = split(texts, 'NONE', 'CHARACTERS').to_tensor('', shape=[None, 4])
        want['fixed'] = tf.strings.to_hash_bucket_fast(tf.strings.ngrams(four, [2, 1, 3]), BUCKETS)
        self.check(texts, features, transforms, want)

    def test_ids_and_bags_of_words(self):
        texts = random_texts(3)
        words = split(texts, 'LOWER', 'WHITESPACE')
        keys = tf.constant(VOCABULARY)
        entries = tf.lookup.KeyValueTensorInitializer(keys, tf.range(len(VOCABULARY), dtype=tf.int64))
        table = tf.lookup.StaticHashTable(entries, 1)
        buckets = tf.lookup.StaticVocabularyTable(entries, 5)
        write(self.path('words.txt'), '\n'.join(VOCABULARY) + '\n')
        features = [('ids', 'INT64', [LENGTH]), ('many', 'FLOAT32', [15]), ('hot', 'FLOAT32', [7]),
                    ('padded', 'FLOAT32', [10]), ('one', 'FLOAT32', [10])]
        transforms = f"""
            transform {{ split {{ feature: "text" output: "words" standardize: LOWER }} }}
            transform {{ lookup {{ feature: "words" output: "ids" vocabulary_file: "words.txt" default_value: 1 }} }}
            transform {{ category_encoding {{ feature: "ids" output: "hot" num_tokens: 7 }} }}
            transform {{ to_tensor {{ feature: "ids" length: {LENGTH} }} }}
            transform {{ category_encoding {{ feature: "ids" output: "padded" num_tokens: 10 output_mode: COUNT }} }}
            transform {{ lookup {{ feature: "words" output: "many" vocabulary_file: "words.txt"
                                  num_oov_buckets: 5 }} }}
            transform {{ cast {{ feature: "many" dtype: INT32 }} }}
            transform {{ category_encoding {{ feature: "many" num_tokens: 15 output_mode: COUNT }} }}
            transform {{ lookup {{ feature: "text" output: "one" vocabulary_file: "words.txt" }} }}
            transform {{ category_encoding {{ feature: "one" num_tokens: 10 }} }}"""
        ids = tf.ragged.map_flat_values(table.lookup, words)
        padded = ids.to_tensor(0, shape=[None, LENGTH])

        def encoded(rows, size, mode):
            """Keras' CategoryEncoding, which refuses what is outside; of no ids it makes zeros."""
            layer = tf.keras.layers.CategoryEncoding(size, mode)
            kept = [[i for i in row if 0 <= i < size] for row in rows]
            return np.stack([layer(tf.constant([row], tf.int64)).numpy()[0] if row else np.zeros(size)
                             for row in kept])
        want = {'ids': padded, 'hot': encoded(ids.to_list(), 7, 'multi_hot'),
                'padded': encoded(padded.numpy().tolist(), 10, 'count'),
                'many': encoded(tf.ragged.map_flat_values(buckets.lookup, words).to_list(), 15, 'count'),
                'one': encoded([[i] for i in tf.lookup.StaticHashTable(entries, -1).lookup(
                    tf.constant(texts)).numpy()], 10, 'multi_hot')}
        self.assertGreater(want['one'].sum(), 0)
        # Keras' TextVectorization gives such words the same ids; it lowers ASCII alone.
        ascii_texts = [text for text in texts if text.isascii() and b'\0' not in text]
        vectorize = tf.keras.layers.TextVectorization(
            standardize='lower', output_sequence_length=LENGTH, vocabulary=VOCABULARY[2:])
        rows = [row for row, text in enumerate(texts) if text in set(ascii_texts)]
        np.testing.assert_array_equal(vectorize(tf.constant([texts[row] for row in rows])),
                                      np.asarray(padded)[rows])
        self.check(texts, features, transforms, want)

    def test_a_classifier_of_texts(self):
        """The example in testdata, trained: raw texts through predict, and through what it exports."""
        reviews = examples.Example('testdata/reviews')
        model_dir = self.path('model')
        reviews.train(model_dir, '--max_steps=150')
        self.assertGreater(reviews.evaluate(model_dir)['accuracy'], 0.8)
        # What a line of a CSV file can hold.
        texts = [text for text in random_texts(4) if text == b'' or text.decode('utf-8', 'replace').encode() == text]
        texts = [text for text in texts if not set(text) & set(b'\r\n\0')][:300]
        texts += [b'The screen is not dull, I must say.', 'Das Café-Menü ist GROSSARTIG!'.encode(), b'great ' * 5000]
        self.assertIn(b'', texts)
        with open(self.path('texts.csv'), 'wb') as file:
            file.write(b'text\n' + b''.join(b'"%s"\n' % text.replace(b'"', b'""') for text in texts))
        rows = reviews.run('predict', model_dir, f'--input={self.path("texts.csv")}', '--use_tpu=false',
                           '--unset', 'predict.forward_features')
        want = np.array([row['probabilities'] for row in rows], np.float32)
        self.assertEqual(len(want), len(texts))
        self.assertGreater(want.std(0).min(), 0.01)
        done = examples.call('export', f'--config={reviews.config}', f'--model_dir={model_dir}',
                             '--export_format=saved_model,onnx')
        self.assertEqual(done.code, 0, str(done))
        result = json.loads(done.out)
        models = exported.models_of(result)
        for kind in 'SavedModel', 'session':
            for batch in 1, 7, len(texts):
                got = models[kind]({'text': np.array(texts[-batch:], object)})
                self.assertLessEqual(exported.largest_error(got['probabilities'], want[-batch:]), 1e-6, kind)
        # ONNX has no ops of words: it takes their ids.
        self.assertEqual([warning for warning in done.warnings if 'onnx' not in warning], [])
        self.assertRegex(' '.join(done.warnings),
                         'onnx: it has no op for the transform to_tensor .* feed words behind it')
        with open('testdata/reviews/vocabulary.txt', encoding='utf-8') as file:
            vocabulary = file.read().split('\n')[:-1]
        ids = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(
            tf.constant(vocabulary), tf.range(len(vocabulary), dtype=tf.int64)), 1)
        words = tf.ragged.map_flat_values(ids.lookup, split(texts, 'LOWER_AND_STRIP_PUNCTUATION', 'WHITESPACE'))
        got = models['ONNX']({'words': words.to_tensor(0, shape=[None, 40]).numpy()})
        self.assertLessEqual(exported.largest_error(got['probabilities'], want), 1e-6)


if __name__ == '__main__':
    unittest.main()
