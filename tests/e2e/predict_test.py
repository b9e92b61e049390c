"""What predict prints besides predictions: features of its input, as the input has them. Rows without labels."""
import json
import unittest

import records
from program import ProgramTest, read, write

ROWS = [('a-1', 'Bergen, "No"', 5.1, 3.5, 1.4, 0.2, 0), ('b-2', 'Æ', 6.3, 2.5, 5.0, 1.9, 2),
        ('c-3', '', 5.7, 2.8, 4.1, 1.3, 1)]
COLUMNS = ('id', 'town', 'SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth', 'Species')


def field(value):
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


class ForwardFeaturesTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.succeed(*self.iris('train', 'model', '--max_steps=20'))
        self.file = self.path('rows.csv')
        write(self.file, ''.join(','.join(map(field, row)) + '\n' for row in ROWS))

    def predict(self, features, *flags, between='', call=None):
        columns = ' '.join(
            f'column {{ name: "{name}" dtype: {dtype} default_value: "" }}' if dtype == 'STRING' else
            f'column {{ name: "{name}" dtype: {dtype} }}'
            for name, dtype in zip(COLUMNS, ['STRING'] * 2 + ['FLOAT32'] * 4 + ['INT32']))
        names = ', '.join(f'"{name}"' for name in features)
        return (call or self.succeed)(*self.iris(
            'predict', 'model', *flags, '--set', f"""predict={{
              keys: "class_ids"
              input {{
                source {{ text_line {{ file: "{self.file}" }} }}
                transform {{ decode_csv {{ {columns} }} }} {between}
              }}
              forward_features: [{names}]
            }}"""))

    def rows(self, *arguments, **options):
        return [json.loads(line) for line in self.predict(*arguments, **options).out.splitlines()]

    def test_features_and_labels_that_the_model_does_and_does_not_declare(self):
        classes = [row['class_ids'] for row in self.rows(())]
        want = [{'id': row[0], 'town': row[1], 'PetalWidth': row[5], 'Species': row[6],
                 'class_ids': ids} for row, ids in zip(ROWS, classes)]
        names = ('id', 'town', 'PetalWidth', 'Species')
        self.assertEqual(self.rows(names), want)
        self.assertEqual(self.rows(names, between='transform { cache {} }'), want)
        self.assertEqual(self.rows(names, '--predict_batch_size=8', '--worker_threads=2'), want)
        self.assertEqual([list(row) for row in self.rows(names)], [[*names, 'class_ids']] * 3)

    def test_they_are_what_the_input_made_of_them(self):
        half = 'transform { cast { feature: "PetalWidth" output: "half" scale: 0.5 } }'
        self.assertEqual([row['half'] for row in self.rows(['half'], between=half)],
                         [0.1, 0.95, 0.65])

    def test_more_rows_than_one_batch_stay_in_order(self):
        write(self.file, ''.join(f'{i},town,5,3,{i % 7},0.2,0\n' for i in range(1000)))
        for between in ('', 'transform { cache {} }'):
            self.assertEqual([row['id'] for row in self.rows(['id'], between=between)],
                             [str(i) for i in range(1000)])

    def test_files_have_them_too(self):
        self.predict(['id', 'PetalWidth'], '--output=rows.tfrecord')
        shown = self.succeed('inspect', 'rows.tfrecord').out
        for name in ('id', 'PetalWidth', 'class_ids'):
            self.assertIn(name, shown)
        self.predict(['id'], '--output=rows.jsonl')
        with open(self.path('rows.jsonl')) as file:
            self.assertEqual([json.loads(line)['id'] for line in file], [row[0] for row in ROWS])

    def test_of_a_record(self):
        write(self.path('data.tfrecord'), b''.join(
            records.frame(records.example(x=[i], note=b'n%d' % i)) for i in range(5)))
        write(self.path('run.textproto'), """
            model_dir: "m" predict_batch_size: 8 train_batch_size: 8
            predict { forward_features: "note" input {
              source { tfrecord { file: "data.tfrecord" } }
              transform { parse_example { feature { name: "x" int64 {} }
                                          feature { name: "note" bytes {} } } }
              transform { cast { feature: "x" dtype: FLOAT32 } } } }
            model { name: "m" feature { name: "x" }
              layer { name: "y" activation { function: RELU } }
              prediction { name: "y" } }""")
        done = self.succeed('predict', '--config=run.textproto', '--allow_untrained')
        self.assertEqual([json.loads(line) for line in done.out.splitlines()],
                         [{'note': f'n{i}', 'y': i} for i in range(5)])

    def test_mistakes(self):
        for features, message in ((['idd'], 'the input has no feature "idd", did you mean "id"?'),
                                  (['id', 'id'], '"id" is there twice')):
            done = self.predict(features, call=self.call)
            self.assertEqual((done.code, done.out), (2, ''), str(done))
            self.assertIn(message, done.messages[0])
        rename = 'transform { cast { feature: "PetalWidth" output: "class_ids" } }'
        done = self.predict(['class_ids'], between=rename, call=self.call)
        self.assertIn('is a prediction too', done.messages[0])


class RowsWithoutLabelsTest(ProgramTest):

    def write_records(self, name, **labels):
        write(self.path(name), b''.join(records.frame(records.example(
            x=[i % 10], z=[i * 7 % 11], **{key: [of(i)] for key, of in labels.items()})) for i in range(60)))
        return self.path(name)

    def test_records(self):
        labelled = self.write_records('labelled.tfrecord', label=lambda i: i % 10 > 4)
        self.succeed('init', 'tfrecord', labelled, f'--output={self.path("out")}')
        config = f'--config={self.path("out/run.textproto")}'
        self.succeed('train', config, '--max_steps=20')
        want = self.succeed('predict', config, f'--input={labelled}').out
        self.assertEqual(len(want.splitlines()), 60)
        bare = self.write_records('bare.tfrecord')
        self.assertEqual(self.succeed('predict', config, f'--input={bare}').out, want)
        with open(bare, 'rb') as file:
            self.assertEqual(self.succeed('predict', config, '--input=-', stdin=file).out, want)
        done = self.call('evaluate', config, f'--input={bare}')
        self.assertEqual((done.code, done.out), (65, ''), str(done))
        self.assertRegex(done.messages[0], r'record \d+ of .*bare\.tfrecord .*: feature "label" is missing and has no '
                                           'default_value$')
        # A configuration that does not say so.
        text = read(self.path('out/run.textproto')).decode()
        self.assertEqual(text.count(' label: true'), 1)
        write(self.path('out/run.textproto'), text.replace(' label: true', ''))
        done = self.call('predict', config, f'--input={bare}')
        self.assertEqual((done.code, done.out), (65, ''), str(done))
        self.assertRegex(done.messages[0], 'feature "label" is missing and has no default_value; if it is a label, '
                                           'label: true lets records for predict lack it$')

    def test_numbers_that_are_not_finite(self):
        write(self.path('train.csv'), 'x,z,y\n' + ''.join(f'{i / 8},{i * 7 % 11},{i * i}\n' for i in range(60)))
        self.succeed('init', 'csv', self.path('train.csv'), f'--output={self.path("out")}')
        config = f'--config={self.path("out/run.textproto")}'
        self.succeed('train', config, '--max_steps=20')
        for value, message in (
                ('nan', 'the field is "nan", which counts as missing, and has no default_value: '
                        'leave the row out, or add one, such as the mean in training'),
                ('-inf', 'want FLOAT32 of magnitude 3.4028235e\\+38 or less, got "-inf"')):
            write(self.path('rows.csv'), f'x,z\n5.1,3.5\n{value},0.2\n')
            done = self.call('predict', config, f'--input={self.path("rows.csv")}')
            self.assertEqual((done.code, done.out), (65, ''), str(done))
            self.assertRegex(done.messages[0], f'rows.csv:3: column 1 "x": {message}$')


if __name__ == '__main__':
    unittest.main()
