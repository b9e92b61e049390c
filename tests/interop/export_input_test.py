"""An exported model takes what predict's input reads: raw rows through TensorFlow and onnxruntime give
what `predict` gives, in its columns' names and types, missing ones as missing."""
import csv
import functools
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import tensorflow as tf

import exported
import examples

TOLERANCE = 1e-6
BATCHES = (1, 7, 64)
JOBS = ('Private', 'State-gov', 'Self-emp, not inc', 'Federal "civil"', 'Größe')
feature_of = tf.train.Feature


def census(rows):
    """A table of numbers and words in which some are missing; the last column follows from others."""
    draw = random.Random(5)
    table = [['name', 'age', 'work class', 'town', 'p1', 'p2', 'p3', 'income']]
    for number in range(rows):
        age, job, town = draw.randint(17, 90), draw.choice(JOBS), f'town {draw.randrange(60)}'
        pixels = [draw.randint(0, 16) for _ in range(3)]
        rich = (age > 40) + (pixels[1] > 8) + (job in JOBS[2:4]) >= 2
        fields = [f'person {number}', str(age), job, town, *map(str, pixels),
                  '>50K' if rich else '<=50K']
        for column in (1, 2, 3):
            if draw.random() < 0.05:
                fields[column] = draw.choice(('?', ''))
        table.append(fields)
    text = io.StringIO()
    csv.writer(text, lineterminator='\n').writerows(table)
    return text.getvalue()


def number(text):
    """What stands for a missing number is NaN."""
    return np.nan if text in ('', '?') else float(text)


def write(path, content):
    with open(path, 'wb') as file:
        file.write(content.encode() if isinstance(content, str) else content)


class ExportInputTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = functools.partial(os.path.join, directory.name)

    def make(self, kind, files, *flags, steps=200):
        """A model that init makes of the files, trained for a while; the arguments of verbs."""
        output = self.path('made')
        examples.run('init', kind, *files, f'--output={output}')
        config = f'--config={output}/run.textproto'
        examples.run('train', config, f'--max_steps={steps}', *flags)
        return (config, *flags)

    def predictions(self, arguments, *flags):
        rows = examples.run('predict', *arguments, '--use_tpu=false', '--unset', 'predict.keys', *flags)
        types = {'class_ids': np.int64, 'classes': object}
        return {name: np.array([row[name] for row in rows], types.get(name, np.float32))
                for name in rows[0]}

    def export(self, *arguments):
        """The result and the warnings of both formats."""
        done = examples.call('export', *arguments, '--export_format=saved_model,onnx')
        self.assertEqual(done.code, 0, str(done))
        return json.loads(done.out), done.warnings

    def compare(self, model, features, want, signature=None):
        for batch in BATCHES:
            feed = {name: values[:batch] for name, values in features.items()}
            got = model(feed) if signature is None else model(feed, signature)
            for name, values in want.items():
                if name == 'classes':
                    texts = [[getattr(text, 'decode', lambda text=text: text)() for text in row]
                             for row in np.asarray(got[name]).tolist()]
                    self.assertEqual(texts, values[:batch].tolist())
                    continue
                error = exported.largest_error(got[name], values[:batch])
                self.assertLessEqual(error, TOLERANCE, f'{type(model)} {signature} {batch} {name}')

    def compare_all(self, result, features, want, onnx_features=None):
        models = exported.models_of(result)
        self.compare(models['ONNX'], onnx_features or features, want)
        for kind in 'SavedModel', 'session':
            for signature in 'serving_default', 'predict':
                self.compare(models[kind], features, want, signature)
        return models

    def test_a_table_of_words_numbers_and_missing_values(self):
        text = census(1500)
        write(self.path('census.csv'), text)
        arguments = self.make('csv', [self.path('census.csv')])
        want = self.predictions(arguments, f'--input={self.path("census.csv")}')
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(want['probabilities']), len(rows))
        features = {
            'age': np.array([number(row['age']) for row in rows], np.float32),
            'work_class': np.array([row['work class'] for row in rows], object),
            'town': np.array([row['town'] for row in rows], object),
            'p': np.array([[row[f'p{i}'] for i in (1, 2, 3)] for row in rows], np.float32)}
        self.assertGreater(np.isnan(features['age']).sum(), 20)
        result, warnings = self.export(*arguments, '--strict')
        self.assertEqual(warnings, [])
        self.assertEqual(result['signatures'], ['serving_default', 'predict', 'processed'])
        models = self.compare_all(result, features, want)
        # The classes have the names that the file has for them.
        metadata = {entry.key: entry.value for entry in models['ONNX'].proto.metadata_props}
        self.assertEqual(json.loads(metadata['classes']), ['<=50K', '>50K'])
        notes = {value.name: value.doc_string for value in models['ONNX'].proto.graph.input}
        self.assertRegex(notes['age'], '^NaN is missing: [0-9.]+$')
        self.assertEqual(notes['work_class'], 'column "work class"; "" or "?" is missing: ""')
        self.assertEqual(notes['p'], 'column "p1" and those after it')
        # Behind the transforms stand the features as they were.
        jobs = sorted(JOBS)
        mean, stddev = features['age'][~np.isnan(features['age'])].mean(), 20
        processed = {'age': ((np.where(np.isnan(features['age']), mean, features['age']) - mean) /
                             stddev).astype(np.float32),
                     'work_class': np.array([jobs.index(job) if job in jobs else -1
                                             for job in features['work_class']]),
                     'town': np.zeros(len(rows), np.int64),
                     'p': np.zeros((len(rows), 3), np.float32)}
        of_onnx, _ = self.export(*arguments, '--set', 'export.onnx_processed_inputs=true')
        onnx_processed = exported.OnnxModel(of_onnx['onnx_path'])
        self.compare(models['SavedModel'], processed,
                     {'probabilities': onnx_processed(processed)['probabilities']}, 'processed')
        self.run_by_the_command_line(result['path'], features, want)
        self.inspect(result['path'])

    def test_indicators_of_missing_values(self):
        """They follow from NaN, as what is missing is fed."""
        draw = random.Random(6)
        rows = []
        for _ in range(300):
            size, price = draw.gauss(5, 2), draw.gauss(9, 3)
            label = 'large' if size > 5 else 'small'
            rows.append({'size': None if draw.random() < 0.2 else size,
                         'price': None if draw.random() < 0.2 else price, 'label': label})
        table = [','.join(rows[0])] + [','.join('' if value is None else str(value)
                                                for value in row.values()) for row in rows]
        objects = [json.dumps({name: value for name, value in row.items() if value is not None})
                   for row in rows]
        features = {name: np.array([np.nan if row[name] is None else row[name] for row in rows],
                                   np.float32) for name in ('size', 'price')}
        for kind, lines in ('csv', table), ('jsonl', objects):
            with self.subTest(kind):
                file, output = self.path(f'rows.{kind}'), self.path(f'of_{kind}')
                write(file, '\n'.join(lines) + '\n')
                examples.run('init', kind, file, '--label=label', '--missing_indicator',
                             f'--output={output}')
                arguments = (f'--config={output}/run.textproto',)
                examples.run('train', *arguments, '--max_steps=50')
                want = self.predictions(arguments, f'--input={file}')
                result, warnings = self.export(*arguments, '--strict')
                self.assertEqual(warnings, [])
                models = self.compare_all(result, features, want)
                fed = {value.name: value.doc_string for value in models['ONNX'].proto.graph.input}
                self.assertEqual(set(fed), {'size', 'price'})
                self.assertRegex(fed['size'], '^NaN is missing: [0-9.]+$')

    def run_by_the_command_line(self, path, features, want):
        """saved_model_cli run with the columns of a CSV file."""
        rows = np.flatnonzero(~np.isnan(features['age']))[:3]
        expressions = ';'.join(f'{name}={values[rows].tolist()}' for name, values in features.items())
        done = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), 'saved_model_cli'), 'run', '--dir', path,
             '--tag_set', 'serve', '--signature_def', 'serving_default', '--input_exprs', expressions,
             '--outdir', self.path('ran')], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = np.load(self.path('ran', 'probabilities.npy'))
        self.assertLessEqual(exported.largest_error(got, want['probabilities'][rows]), TOLERANCE)

    def inspect(self, path):
        lines = examples.run('inspect', path, '--format=json')
        takes = {line['signature']: line['takes'] for line in lines if line['kind'] == 'signature'}
        self.assertEqual(takes, {
            'serving_default': 'what the input of predict reads, before its transforms',
            'predict': 'what the input of predict reads, before its transforms',
            'processed': 'the features, behind the transforms of the input of predict'})
        notes = {line['name']: line['note'] for line in lines
                 if line.get('signature') == 'serving_default' and 'note' in line}
        self.assertEqual(notes['p'], 'column "p1" and those after it')

    def test_texts(self):
        """A SavedModel takes the text itself; ONNX has no ops for words and says so."""
        draw = random.Random(8)
        good, bad = ('superb', 'lovely', 'Größe'), ('awful', 'dull', 'slow')
        rows = []
        for number in range(400):
            sign = draw.random() < 0.5
            text = f'The {draw.choice(("screen", "case"))} is {draw.choice(good if sign else bad)}, '
            text += draw.choice(('', 'bought in May! ' * draw.randrange(3), f'number {number}'))
            rows.append([text, draw.randint(1, 5), 'positive' if sign else 'negative'])
        with open(self.path('a.csv'), 'w', encoding='utf-8', newline='') as file:
            csv.writer(file, lineterminator='\n').writerows([['text', 'stars', 'y'], *rows])
        arguments = self.make('csv', [self.path('a.csv')], steps=800)
        want = self.predictions(arguments, f'--input={self.path("a.csv")}')
        self.assertGreater((want['classes'][:, 0] == [row[2] for row in rows]).mean(), 0.9)
        features = {'text': np.array([row[0] for row in rows], object),
                    'stars': np.array([row[1] for row in rows], np.float32)}
        result, warnings = self.export(*arguments)
        self.assertTrue(any('onnx' in warning and 'text' in warning for warning in warnings), warnings)
        models = exported.models_of(result)
        for kind in 'SavedModel', 'session':
            for signature in 'serving_default', 'predict':
                self.compare(models[kind], features, want, signature)
        # Texts that no row has: none of their words is known, none at all, and bytes that are not UTF-8.
        got = models['SavedModel']({'text': np.array([b'zebra', b'', b'\xff superb'], object),
                                    'stars': np.array([1, 2, 3], np.float32)}, 'serving_default')
        self.assertTrue(np.isfinite(got['probabilities']).all())

    def test_images(self):
        draw = np.random.default_rng(3)
        labels = draw.integers(3, size=200).astype(np.uint8)
        images = draw.integers(60, size=(200, 8, 8), dtype=np.uint8)
        images[np.arange(200), labels] += 120
        write(self.path('images'), struct.pack('>4BIII', 0, 0, 8, 3, 200, 8, 8) + images.tobytes())
        write(self.path('labels'), struct.pack('>4BI', 0, 0, 8, 1, 200) + labels.tobytes())
        arguments = self.make('idx', [self.path('images'), self.path('labels')])
        want = self.predictions(arguments, f'--input={self.path("made/examples.tfrecord")}')
        # ONNX has no op for bytes in strings: there the bytes are fed as numbers.
        raw = {'image_raw': np.array([image.tobytes() for image in images], object)}
        result, warnings = self.export(*arguments, '--strict')
        self.assertEqual(warnings, [])
        models = self.compare_all(result, raw, want, {'image_raw': images.reshape(200, 8, 8, 1)})
        self.assertEqual(result['signatures'], ['serving_default', 'predict', 'processed',
                                                'examples:predict', 'classification'])
        records = np.array(list(tf.data.TFRecordDataset(
            self.path('made/examples.tfrecord')).as_numpy_iterator()), object)
        for kind in 'SavedModel', 'session':
            self.compare(models[kind], {'examples': records}, want, 'examples:predict')

    def test_examples_of_words_numbers_and_what_may_be_missing(self):
        draw = random.Random(9)
        features = {'word': [], 'size': [], 'codes': []}
        records = []
        for row in range(300):
            word, size = draw.choice(('ant', 'bee', 'cow')), draw.randint(0, 9)
            codes = [draw.gauss(0, 3), draw.gauss(5, 2)]
            label = ('few', 'many')[size + 3 * (word == 'bee') > 6]
            values = {'word': feature_of(bytes_list=tf.train.BytesList(value=[word.encode()])),
                      'codes': feature_of(float_list=tf.train.FloatList(value=codes)),
                      'label': feature_of(bytes_list=tf.train.BytesList(value=[label.encode()]))}
            if row % 9:
                values['size'] = feature_of(int64_list=tf.train.Int64List(value=[size]))
            for name, value in (('word', word), ('size', size if row % 9 else None), ('codes', codes)):
                features[name].append(value)
            records.append(tf.train.Example(
                features=tf.train.Features(feature=values)).SerializeToString())
        with tf.io.TFRecordWriter(self.path('rows')) as writer:
            for record in records:
                writer.write(record)
        arguments = self.make('tfrecord', [self.path('rows')])
        want = self.predictions(arguments, f'--input={self.path("rows")}')
        result, warnings = self.export(*arguments)
        # A tf.Example lacks a number where the inputs of ONNX have one.
        self.assertEqual(warnings, [
            'onnx: "size": a tf.Example may lack it: feed its default_value then.'])
        models = exported.models_of(result)
        for kind in 'SavedModel', 'session':
            self.compare(models[kind], {'examples': np.array(records, object)}, want,
                         'examples:predict')
            classified = models[kind]({'inputs': np.array(records[:2], object)}, 'classification')
            self.assertEqual(classified['classes'].tolist(), [[b'few', b'many']] * 2)
        whole = [row for row, size in enumerate(features['size']) if size is not None]
        fed = {'word': np.array(features['word'], object)[whole],
               'size': np.array([features['size'][row] for row in whole], np.int64),
               'codes': np.array(features['codes'], np.float32)[whole]}
        self.compare_all(result, fed, {name: values[whole] for name, values in want.items()})
        metadata = {entry.key: entry.value for entry in models['ONNX'].proto.metadata_props}
        self.assertEqual(json.loads(metadata['classes']), ['few', 'many'])

    MODEL = """
        predict_batch_size: 8
        use_tpu: false
        model {
          feature { name: "word" dtype: INT64 }
          feature { name: "code" dtype: INT64 }
          feature { name: "count" dtype: INT32 }
          feature { name: "even" dtype: FLOAT32 }
          layer { name: "words" one_hot { depth: 9 } input: "word" }
          layer { name: "codes" one_hot { depth: 4 } input: "code" }
          layer { name: "counts" op { name: "convert" attrs: "dtype=f32" } input: "count" }
          layer { name: "evens" reshape { target_shape: [1] } input: "even" }
          prediction { name: "words" } prediction { name: "codes" } prediction { name: "counts" }
          prediction { name: "evens" }
        }"""

    def untrained(self, config, model=MODEL):
        """The arguments of verbs for a model without variables."""
        write(self.path('run.textproto'), model + config)
        prefix = self.path('model.ckpt-3')
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=['global_step'], shape_and_slices=[''],
                          tensors=[np.int64(3)])
        return (f'--config={self.path("run.textproto")}', f'--model_dir={self.path("model")}',
                f'--checkpoint={prefix}')

    def test_what_a_format_cannot_say_is_warned_of_and_fed(self):
        """Hashes in ONNX, a missing integer in both."""
        words = ['ant', 'Bee', 'cow', 'dog', 'ant', 'eel', 'fox', 'gnu', '', 'cow']
        write(self.path('a.csv'), ''.join(
            f'{word},{10 * (i % 5 - 2)},{i if i % 3 else ""},{i % 4}\n' for i, word in enumerate(words)))
        arguments = self.untrained("""
            predict { input {
              source { text_line { file: "a.csv" } }
              transform { decode_csv {
                column { name: "word" dtype: STRING default_value: "bee" }
                column { name: "code" dtype: INT64 }
                column { name: "count" dtype: INT32 default_value: "7" }
                column { name: "quarter" } } }
              transform { lookup { feature: "word" vocabulary_list: ["cow", "ant"]
                                   num_oov_buckets: 6 } }
              transform { lookup { feature: "code" vocabulary_list: ["20", "-10", "0"]
                                   default_value: 3 } }
              transform { cast { feature: "quarter" output: "even" scale: -0.5 offset: 3 } }
            } }""")
        rows = examples.run('predict', *arguments)
        want = {name: np.array([row[name] for row in rows], np.float32)
                for name in ('words', 'codes', 'counts', 'evens')}
        result, warnings = self.export(*arguments)
        self.assertEqual(len(warnings), 3, warnings)
        self.assertEqual(sorted(warnings), [
            'onnx: "count": it may be missing in a row: feed its default_value, 7, then.',
            f'onnx: it has no op for the transform lookup ({self.path("run.textproto")}:23:27) as it '
            'is: feed word behind it.',
            'saved_model: "count": it may be missing in a row: feed its default_value, 7, then.'])
        features = {'word': np.array(words, object),
                    'code': np.array([10 * (i % 5 - 2) for i in range(10)], np.int64),
                    'count': np.array([i if i % 3 else 7 for i in range(10)], np.int32),
                    'quarter': np.array([i % 4 for i in range(10)], np.float32)}
        ids = want['words'].argmax(1)
        self.compare_all(result, features, want, {**features, 'word': ids})

    def test_a_slice_and_a_time(self):
        """Neither format has an op for parse_time; both slice."""
        values = np.arange(60, dtype=np.float32).reshape(10, 3, 2)
        write(self.path('a.csv'), ''.join(
            ','.join(map(str, value.reshape(-1))) + f',{2 * i:02}:30\n' for i, value in enumerate(values)))
        arguments = self.untrained("""
            predict { input {
              source { text_line { file: "a.csv" } }
              transform { decode_csv { column { name: "x" shape: [3, 2] }
                                       column { name: "when" dtype: STRING } } }
              transform { slice { feature: "x" begin: [1, 1] size: [-1, 1] } }
              transform { parse_time { feature: "when" format: "%H:%M"
                                       output { name: "hour" part: HOUR } } }
            } }""", """
            predict_batch_size: 8
            use_tpu: false
            model {
              feature { name: "x" shape: [2, 1] }
              feature { name: "hour" dtype: INT64 }
              layer { name: "out" flatten {} input: "x" }
              layer { name: "hours" one_hot { depth: 24 } input: "hour" }
              prediction { name: "out" } prediction { name: "hours" }
            }""")
        rows = examples.run('predict', *arguments)
        want = {name: np.array([row[name] for row in rows], np.float32) for name in ('out', 'hours')}
        np.testing.assert_array_equal(want['out'], values[:, 1:, 1])
        np.testing.assert_array_equal(want['hours'].argmax(1), np.arange(0, 20, 2))
        result, warnings = self.export(*arguments)
        self.assertEqual(sorted(warnings), [
            f'{kind}: it has no op for the transform parse_time ({self.path("run.textproto")}:'
            '16:27) as it is: feed hour behind it.' for kind in ('onnx', 'saved_model')])
        self.compare_all(result, {'x': values, 'hour': np.arange(0, 20, 2)}, want)

    def test_other_sources(self):
        """Records of a fixed length, and values in the configuration."""
        draw = np.random.default_rng(4)
        parts = [draw.integers(0, 9, 12), draw.integers(0, 4, 12), draw.integers(-9, 9, 12).astype(np.int32),
                 draw.normal(size=12).astype(np.float32)]
        records = [b''.join(part[i].tobytes() for part in parts) for i in range(12)]
        write(self.path('rows.bin'), b'head' + b''.join(records))
        arguments = self.untrained("""
            predict { input {
              source { fixed_length_record { file: "rows.bin" record_bytes: 24 header_bytes: 4 } }
              transform { decode_raw { feature: "record" output: "word" dtype: INT64 offset: 0 } }
              transform { decode_raw { feature: "record" output: "code" dtype: INT64 offset: 8 } }
              transform { decode_raw { feature: "record" output: "count" dtype: INT32 offset: 16 } }
              transform { decode_raw { feature: "record" output: "even" dtype: FLOAT32 offset: 20 } }
            } }""")
        rows = examples.run('predict', *arguments)
        want = {name: np.array([row[name] for row in rows], np.float32)
                for name in ('words', 'codes', 'counts', 'evens')}
        result, warnings = self.export(*arguments)
        self.assertEqual(warnings, [])
        self.compare_all(result, {'record': np.array(records, object)}, want,
                         dict(zip(('word', 'code', 'count', 'even'), parts)))
        values = ' '.join(
            f'feature {{ name: "{name}" {kind} {{ value: {part.tolist()} }} }}' for name, kind, part in
            zip(('word', 'code', 'count', 'even'), ('int64', 'int64', 'int64', 'float'), parts))
        write(self.path('run.textproto'), self.MODEL + f"""predict {{ input {{
              source {{ from_tensor_slices {{ {values} }} }}
              transform {{ cast {{ feature: "count" dtype: INT32 }} }} }} }}""")
        result, warnings = self.export(*arguments)
        self.assertEqual(warnings, [])
        features = dict(zip(('word', 'code', 'count', 'even'), parts))
        self.compare_all(result, {**features, 'count': parts[2].astype(np.int64)}, want)

    def test_an_input_that_does_not_fit_is_warned_of(self):
        write(self.path('a.csv'), '1,2,3\n')
        arguments = self.untrained("""predict { input {
              source { text_line { file: "a.csv" } }
              transform { decode_csv { column { name: "word" dtype: INT64 }
                                       column { name: "code" dtype: INT64 }
                                       column { name: "count" dtype: INT32 } } } } }""")
        result, warnings = self.export(*arguments)
        message = 'the input does not make the feature "even"; the exported model is fed with its features.'
        self.assertEqual(sorted(warnings), [f'onnx: {message}', f'saved_model: {message}'])
        self.assertEqual(result['signatures'], ['serving_default', 'predict'])
        self.assertEqual(len(onnx.load(os.path.join(result['onnx_path'], 'model.onnx')).graph.input), 4)


if __name__ == '__main__':
    unittest.main()
