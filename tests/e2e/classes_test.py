"""Classes by name: labels that are names, predictions, metrics and exports with names; their weights."""
import json
import os
import unittest

from program import ProgramTest, read, write

NAMES = ['setosa', 'versicolor', 'virginica']
VOCABULARY = ('--set', f'model.head.0.classification.label_vocabulary={json.dumps(NAMES)}')
STRINGS = (*VOCABULARY, '--set', 'model.label.0.dtype=STRING', '--set',
           'transformation_func.0.transform.0.decode_csv.column.Species.dtype=STRING')
MATRIX = ('--set', 'model.eval_metric+={ name: "matrix" confusion_matrix { labels: "Species" '
          'predictions: "logits" } }')


class ClassesTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.ids = {name: read(self.path(f'iris/{name}')).decode().splitlines()
                    for name in ('iris_training.csv', 'iris_test.csv')}

    def write_names(self):
        """Into the files, in the place of ids."""
        for name, (header, *rows) in self.ids.items():
            write(self.path(f'iris/{name}'), '\n'.join(
                [header, *(row[:-1] + NAMES[int(row[-1])] for row in rows)]) + '\n')

    def test_names_train_as_ids_do(self):
        of_ids = self.result(self.succeed(*self.iris('train', 'ids', '--max_steps=50')))
        self.write_names()
        of_names = self.result(self.succeed(*self.iris('train', 'names', '--max_steps=50', *STRINGS)))
        self.assertEqual(of_ids['loss'], of_names['loss'])

    def test_results_have_names(self):
        self.write_names()
        self.succeed(*self.iris('train', 'model', '--max_steps=300', *STRINGS))
        result = self.result(self.succeed(*self.iris('evaluate', 'model', *STRINGS, *MATRIX)))
        self.assertEqual(result['classes'], NAMES)
        self.assertEqual([sum(row) for row in result['matrix']], [10, 10, 10])
        self.assertNotIn('classes', self.result(self.succeed(*self.iris('evaluate', 'model', *STRINGS))))
        # An array of no classes.
        groups = self.result(self.succeed(*self.iris(
            'evaluate', 'model', *STRINGS, '--set', 'model.eval_metric+={ name: "of_groups" by: "Species" '
            'num_groups: 4 accuracy { labels: "Species" predictions: "class_ids" } }')))
        self.assertEqual((len(groups['of_groups']), 'classes' in groups), (4, False))
        test = self.path('iris/iris_test.csv')
        out = self.succeed(*self.iris(
            'predict', 'model', *STRINGS, '--input=' + test, '--keys=classes,class_ids', '--set',
            'predict.input={ source { text_line { file: "iris_test.csv" skip_lines: 1 } } '
            'transform { apply { transformation_func: "parse" } } }', '--set',
            'predict.forward_features="Species"')).out
        rows = [json.loads(line) for line in out.splitlines()]
        names = [line.split(',')[-1] for line in read(test).decode().splitlines()[1:]]
        self.assertEqual([row['Species'] for row in rows], names)
        self.assertEqual([row['classes'] for row in rows],
                         [[NAMES[row['class_ids'][0]]] for row in rows])
        right = sum(row['classes'] == [row['Species']] for row in rows)
        self.assertAlmostEqual(right / len(rows), result['accuracy'], places=6)
        exported = self.result(self.succeed(*self.iris('export', 'model', *STRINGS,
                                                       '--export_format=saved_model,onnx')))
        for path in (exported['path'], exported['onnx_path']):
            self.assertRegex(self.succeed('inspect', path).out, r'output +classes +string +\[(-1|batch),1\]')

    def test_predict_needs_no_label(self):
        """The column may be empty, for names and for ids."""
        rows = ''.join(row[:-1] + '\n' for row in self.ids['iris_test.csv'][1:4])
        write(self.path('rows.csv'), rows)
        parse = ('--set', 'transformation_func.0.transform.0.decode_csv.column.Species.label=true', '--set',
                 'predict.input={ source { text_line { file: "rows.csv" } } '
                 'transform { apply { transformation_func: "parse" } } }')
        self.succeed(*self.iris('train', 'ids', '--max_steps=5', *VOCABULARY))
        self.assertEqual(len(self.succeed(*self.iris('predict', 'ids', *VOCABULARY, *parse,
                                                     '--keys=classes')).out.splitlines()), 3)
        self.write_names()
        self.succeed(*self.iris('train', 'names', '--max_steps=5', *STRINGS))
        self.assertEqual(len(self.succeed(*self.iris('predict', 'names', *STRINGS, *parse,
                                                     '--keys=classes')).out.splitlines()), 3)
        done = self.call(*self.iris('evaluate', 'ids', *VOCABULARY, '--input=rows.csv', '--set',
                                    'evaluate.0.input.source.text_line.skip_lines=0'))
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('the field is empty', done.err)

    def test_a_monitor_of_accuracy_without_a_mode_is_warned_of(self):
        done = self.succeed(*self.iris('train_and_evaluate', 'model', '--max_steps=20', '--steps_per_eval=10', '--set',
                                       'train_and_evaluate.monitor.metric=accuracy'))
        self.assertIn('without a mode the checkpoint with the lowest "accuracy" is the best; want mode: MAX',
                      ' '.join(done.warnings))

    def test_any_number_of_classes(self):
        """multi_label: labels are 0 or 1, and exported models have the names."""
        one = ('--set', 'model.layer.logits.dense.units=1', '--set', 'model.label.0.shape=[1]', '--set',
               'transformation_func.0.transform.0.decode_csv.column.Species.shape=[1]', '--set',
               'model.head=[{ multi_label { logits: "logits" label: "Species" label_vocabulary: ["red"] } }]')
        done = self.call(*self.iris('train', 'model', '--max_steps=5', *one))
        self.assertEqual(done.code, 65, str(done))
        self.assertRegex(done.err, r'iris_training.csv:\d+: label "Species" is 2, want a class in \[0, 2\)')
        header, *rows = self.ids['iris_training.csv']
        write(self.path('iris/iris_training.csv'),
              '\n'.join([header, *(row for row in rows if not row.endswith('2'))]) + '\n')
        self.succeed(*self.iris('train', 'model', '--max_steps=5', *one))
        exported = self.result(self.succeed(*self.iris('export', 'model', *one)))
        self.assertIn(b'red', read(f'{exported["path"]}/saved_model.pb'))

    def test_positions_of_a_sequence(self):
        """A class of each word: labels of names, and names of what is predicted."""
        words, kinds = ('the', 'cat', 'sees', 'a', 'dog'), ('article', 'noun', 'verb', 'article', 'noun')
        rows = [[0, 1, 2], [3, 4, 2], [0, 4, 2], [4, 2, 1], [1, 2, 3], [3, 1, 2], [0, 2, 0], [2, 4, 1]]
        texts = lambda names: ', '.join(f'"{names[i]}"' for row in rows for i in row)
        source = f"""source {{ from_tensor_slices {{
          feature {{ name: "x" bytes {{ shape: 3 value: [{texts(words)}] }} }}
          feature {{ name: "y" bytes {{ shape: 3 value: [{texts(kinds)}] }} }} }} }}
          transform {{ lookup {{ feature: "x" vocabulary_list: {json.dumps(words)} }} }}
          transform {{ cast {{ feature: "x" dtype: INT32 }} }}"""
        write(self.path('run.textproto'), f"""
            model_dir: "tagger" train_batch_size: 8 eval_batch_size: 8 predict_batch_size: 8
            train {{ input {{ {source} }} }} evaluate {{ input {{ {source} }} }} predict {{ input {{ {source} }} }}
            model {{
              feature {{ name: "x" dtype: INT32 shape: 3 }}
              label {{ name: "y" dtype: STRING shape: 3 }}
              layer {{ input: "x" embedding {{ input_dim: 5 output_dim: 4 }} }}
              layer {{ name: "logits" dense {{ units: 3 }} }}
              head {{ sequence {{ logits: "logits" label: "y" label_vocabulary: ["article", "noun", "verb"] }} }}
              optimizer {{ adam {{}} learning_rate {{ constant: 0.1 }} }}
            }}""")
        config = f'--config={self.path("run.textproto")}'
        self.succeed('train', config, '--max_steps=100')
        self.assertEqual(self.result(self.succeed('evaluate', config))['accuracy'], 1)
        predicted = [json.loads(line) for line in self.succeed('predict', config).out.splitlines()]
        self.assertEqual(list(predicted[0]), ['class_ids', 'classes', 'probabilities', 'logits'])
        self.assertEqual([row['classes'] for row in predicted], [[kinds[i] for i in row] for row in rows])
        self.assertEqual(predicted[0]['class_ids'], [0, 1, 2])
        exported = self.result(self.succeed('export', config, '--export_format=saved_model,onnx'))
        for path in (f'{exported["path"]}/saved_model.pb', f'{exported["onnx_path"]}/model.onnx'):
            self.assertIn(b'article', read(path))

    def test_ids_may_have_names(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=20', *VOCABULARY))
        row = json.loads(self.succeed(*self.iris('predict', 'model', *VOCABULARY,
                                                 '--keys=classes')).out.splitlines()[0])
        self.assertEqual(list(row), ['classes'])
        self.assertIn(row['classes'][0], NAMES)

    def test_another_name_is_an_error(self):
        self.write_names()
        header, rows = read(self.path('iris/iris_training.csv')).decode().split('\n', 1)
        write(self.path('iris/iris_training.csv'),
              header + '\n' + rows.replace('versicolor', 'versicolour', 1))
        done = self.call(*self.iris('train', 'model', '--max_steps=5', *STRINGS))
        self.assertEqual(done.code, 65, str(done))
        self.assertRegex(done.err, r'iris_training.csv:\d+: label "Species" is "versicolour", which is not '
                         r'in the label_vocabulary of the head, did you mean "versicolor"')

    def test_a_vocabulary_of_another_size(self):
        done = self.call(*self.iris('train', 'model', '--set',
                                    'model.head.0.classification.label_vocabulary=["a", "a"]'))
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('label_vocabulary: got 2 names, want 3, one for each class of the logits', done.err)
        self.assertIn('the name "a" is there already, for class 0', done.err)

    def test_names_without_a_vocabulary(self):
        done = self.call(*self.iris('train', 'model', '--set', 'model.label.0.dtype=STRING'))
        self.assertEqual(done.code, 3, str(done))
        self.assertIn('give the classification head that reads the label a label_vocabulary', done.err)

    def test_weights_of_classes_act_in_training_alone(self):
        weights = ('--set', 'model.head.0.classification.class_weight=[1, 1, 100]')
        plain = self.result(self.succeed(*self.iris('train', 'plain', '--max_steps=20')))
        weighted = self.result(self.succeed(*self.iris('train', 'weighted', '--max_steps=20', *weights)))
        self.assertNotEqual(plain['loss'], weighted['loss'])
        self.assertEqual(self.result(self.succeed(*self.iris('evaluate', 'weighted', *weights))),
                         self.result(self.succeed(*self.iris('evaluate', 'weighted'))))

    def test_a_label_in_its_own_unit(self):
        head = ('--set', 'model.layer.logits.dense.units=1', '--set', 'model.label.0.dtype=FLOAT32', '--set',
                'transformation_func.0.transform.0.decode_csv.column.Species.dtype=FLOAT32', '--set')
        unit = 'model.head=[{ regression { logits: "logits" label: "Species" MORE } }]'
        scaled = (*head, unit.replace('MORE', 'label_mean: 1 label_stddev: 0.8'))
        self.succeed(*self.iris('train', 'model', '--max_steps=300', *scaled))
        result = self.result(self.succeed(*self.iris('evaluate', 'model', *scaled)))
        self.assertEqual(result['label/mean'], 1)
        self.assertAlmostEqual(result['average_loss'] * 0.64, result['root_mean_squared_error'] ** 2, places=5)
        self.assertAlmostEqual(result['r2_score'], 1 - result['root_mean_squared_error'] ** 2 / (2 / 3), places=5)
        # The other way is warned of.
        normalized = ('--set', 'transformation_func.0.transform+={ normalize { feature: "Species" mean: 1 } }')
        done = self.succeed(*self.iris('train', 'other', '--max_steps=5', *head, unit.replace('MORE', ''),
                                       *normalized))
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertIn('the input normalizes "Species": predictions and metrics are in units of its stddev',
                      done.warnings[0])

    def test_a_missing_label_takes_the_others_with_it(self):
        """Of two labels predict's input has one."""
        two = ('--set', 'model.label+={ name: "Petal" }', '--set',
               'transformation_func.0.transform+={ cast { feature: "PetalLength" output: "Petal" } }', '--set',
               'predict.input.transform+={ cast { feature: "PetalLength" output: "Petal" } }')
        self.succeed(*self.iris('train', 'model', '--max_steps=5', *two))
        self.assertEqual(len(self.succeed(*self.iris('predict', 'model', *two)).out.splitlines()), 3)

    def test_losses_apart(self):
        l2 = ('--set', 'model.regularization.l2.scale=0.01', '--set', 'save_summary_steps=10')
        self.succeed(*self.iris('train', 'model', '--max_steps=20', *l2))
        result = self.result(self.succeed(*self.iris('evaluate', 'model', *l2)))
        self.assertAlmostEqual(result['loss'], result['losses/classification'] +
                               result['losses/regularization'], places=6)
        files = [name for name in os.listdir(self.path('model')) if 'tfevents' in name]
        events = self.succeed('inspect', self.path(f'model/{files[0]}'), '--format=json').out
        for name in ('losses/classification', 'losses/regularization'):
            self.assertIn(name, events)

    def test_an_own_metric_replaces_that_of_the_head(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=20'))
        own = ('--set', 'model.eval_metric+={ name: "accuracy" mean { values: "SepalLength" } }')
        result = self.result(self.succeed(*self.iris('evaluate', 'model', *own)))
        self.assertGreater(result['accuracy'], 5)


if __name__ == '__main__':
    unittest.main()
