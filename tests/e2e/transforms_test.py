"""Iris as its author wrote it down: four measures and a word a row; folds, rows without labels."""
import json
import math

import program

SPECIES = ('setosa', 'versicolor', 'virginica')
# Of the 120 rows, as numpy has them.
MEAN = (5.8658, 3.055, 3.77, 1.205)
STDDEV = (0.8484, 0.4378, 1.7796, 0.7555)
RUN = """
model_file: "model.textproto"
use_tpu: true
train_batch_size: 32
eval_batch_size: 8
predict_batch_size: 8
transformation_func {{
  name: "parse"
  transform {{ decode_csv {{
    column {{ name: "measures" shape: 4 }}
    column {{ name: "species" dtype: {dtype} label: true }}
  }} }}
  transform {{ normalize {{ feature: "measures" mean: {mean} stddev: {stddev} }} }}
  {label}
}}
train {{
  max_steps: 200
  input {{
    source {{ text_line {{ file: "{rows}" }} }}
    transform {{ shard {{ num_shards: 5 index: [1, 2, 3, 4] }} }}
    transform {{ apply {{ transformation_func: "parse" }} }}
    transform {{ shuffle {{ buffer_size: 120 }} }}
    transform {{ repeat {{}} }}
  }}
}}
evaluate {{ input {{
  source {{ text_line {{ file: "{rows}" }} }}
  transform {{ shard {{ num_shards: 5 }} }}
  transform {{ apply {{ transformation_func: "parse" }} }}
}} }}
predict {{ input {{
  source {{ text_line {{ file: "{rows}" }} }}
  transform {{ apply {{ transformation_func: "parse" }} }}
}} }}
"""
MODEL = """
feature { name: "measures" dtype: FLOAT32 shape: 4 }
label { name: "species" dtype: INT64 }
layer { name: "hidden" dense { units: 10 activation: RELU } }
layer { name: "logits" dense { units: 3 } }
head { classification { logits: "logits" label: "species" } }
optimizer { adagrad { initial_accumulator_value: 0.1 } learning_rate { constant: 0.1 } }
"""
LOOKUP = 'transform { lookup { feature: "species" vocabulary_file: "species.txt" } }'


class TransformsTest(program.ProgramTest):

    def setUp(self):
        super().setUp()
        rows = [row.rsplit(',', 1) for row in
                program.read(self.path('iris', 'iris_training.csv')).decode().splitlines()[1:]]
        self.measures = [[float(field) for field in measures.split(',')] for measures, _ in rows]
        self.labels = [int(label) for _, label in rows]
        program.write(self.path('numbers.csv'), ''.join(f'{a},{b}\n' for a, b in rows))
        program.write(self.path('words.csv'), ''.join(f'{a},{SPECIES[int(b)]}\n' for a, b in rows))
        program.write(self.path('new.csv'), ''.join(f'{a}\n' for a, _ in rows))
        program.write(self.path('species.txt'), '\n'.join(SPECIES))
        program.write(self.path('model.textproto'), MODEL)
        for name, dtype, label in (('words', 'STRING', LOOKUP), ('numbers', 'INT64', '')):
            program.write(self.path(f'{name}.textproto'), RUN.format(
                dtype=dtype, label=label, rows=f'{name}.csv', mean=list(MEAN), stddev=list(STDDEV)))

    def run_verb(self, verb, config, *flags):
        return self.succeed(verb, f'--config={config}.textproto', f'--model_dir={config}', *flags)

    def predictions(self, *flags):
        done = self.run_verb('predict', 'words', *flags)
        return [json.loads(line) for line in done.out.splitlines()]

    def test_words_train_as_numbers_do(self):
        words, numbers = (self.result(self.run_verb('train', config)) for config in ('words', 'numbers'))
        self.assertEqual(words['loss'], numbers['loss'])
        evaluated = self.result(self.run_verb('evaluate', 'words'))
        self.assertEqual(evaluated['examples'], 24)  # the fold that training leaves out
        self.assertGreaterEqual(evaluated['accuracy'], 0.9)

    def test_rows_without_labels_are_predicted_as_with_them(self):
        self.run_verb('train', 'words')
        labelled = self.predictions()
        self.assertEqual(len(labelled), 120)
        new = self.predictions('--set', 'predict.input.source.text_line.file=new.csv')
        self.assertEqual(new, labelled)
        right = sum(row['class_ids'] == [label] for row, label in zip(labelled, self.labels))
        self.assertGreaterEqual(right, 110)

    def test_measures_are_normalized_in_f32(self):
        """The features as a model that changes nothing gives them back."""
        program.write(self.path('model.textproto'), """
            feature { name: "measures" dtype: FLOAT32 shape: 4 }
            prediction { name: "measures" }""")
        rows = self.predictions('--allow_untrained', '--set',
                                'predict.input.source.text_line.file=new.csv')
        for got, measures in zip(rows, self.measures):
            for value, x, mean, stddev in zip(got['measures'], measures, MEAN, STDDEV):
                self.assertTrue(math.isclose(value, (x - mean) / stddev, rel_tol=1e-5, abs_tol=1e-6))

    def test_a_transform_that_changes_nothing_keeps_the_order(self):
        losses = []
        for model_dir, transforms in (('plain', ''), ('cast', 'transform { cast { feature: "measures" } }')):
            losses.append(self.result(self.succeed(
                'train', '--config=words.textproto', f'--model_dir={model_dir}', '--set',
                f"""train.input={{ source {{ text_line {{ file: "words.csv" }} }}
                  transform {{ apply {{ transformation_func: "parse" }} }} {transforms}
                  transform {{ shuffle {{ buffer_size: 120 }} }} transform {{ repeat {{}} }} }}"""))['loss'])
        self.assertEqual(losses[0], losses[1])

    def test_batches_prepared_ahead_change_no_result(self):
        self.run_verb('train', 'words')
        plain = self.run_verb('evaluate', 'words').out

        def ahead(batches):
            return ('evaluate', '--config=words.textproto', '--model_dir=words', '--set',
                    'evaluate.0.input.transform+={ batch {} }', '--set',
                    f'evaluate.0.input.transform+={{ prefetch {{ buffer_size: {batches} }} }}')
        self.assertEqual(self.succeed(*ahead(1000)).out, plain)
        refused = self.call(*ahead(10**15))
        self.assertEqual(refused.code, 4, str(refused))
        self.assertRegex(refused.messages[0], r'for 1000000000000256 batches prepared ahead, there is '
                                              r'.*; lower the buffer_size of prefetch$')

    def test_columns_of_several_ranges_are_converted_and_shown(self):
        self.succeed('convert', 'csv', 'words.csv', '--features=lengths:float:0+2,widths:float:1+3',
                     '--output=rows')
        done = self.succeed('inspect', 'rows', '--limit=2', '--format=json')
        rows = [json.loads(line)['values'] for line in done.out.splitlines()]
        self.assertEqual(rows, [{'lengths': [a, c], 'widths': [b, d]}
                                for a, b, c, d in self.measures[:2]])
        text = self.succeed('inspect', 'rows', '--limit=1').out.splitlines()
        self.assertEqual(text[3:], ['            lengths: {:g} {:g}'.format(*self.measures[0][::2]),
                                    '            widths: {:g} {:g}'.format(*self.measures[0][1::2])])
