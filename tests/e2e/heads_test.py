"""Heads of one kind have names; logits that are probabilities already are warned of."""
import json
import re
import unittest

from program import ProgramTest, read, write

TWO = ('--set', 'model.head.0.name=species', '--set',
       'model.head+={ name: "again" classification { logits: "logits" label: "Species" } }')


class HeadsTest(ProgramTest):

    def test_names_stand_before_predictions_and_metrics(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=20', *TWO))
        result = self.result(self.succeed(*self.iris('evaluate', 'model', *TWO)))
        self.assertIn('species/accuracy', result)
        self.assertEqual(result['species/accuracy'], result['again/accuracy'])
        alone = self.result(self.succeed(*self.iris('evaluate', 'model')))
        self.assertEqual(alone['accuracy'], result['again/accuracy'])
        self.assertAlmostEqual(2 * alone['loss'], result['loss'], places=5)
        rows = self.succeed(*self.iris('predict', 'model', *TWO, '--unset', 'predict.keys')).out
        keys = {'class_ids', 'probabilities', 'logits'}
        self.assertEqual(set(json.loads(rows.splitlines()[0])),
                         {f'{name}/{key}' for name in ('species', 'again') for key in keys})

    def test_metrics_read_what_heads_give_also_by_groups(self):
        of_heads = 'labels: "Species" predictions: "class_ids"'
        metrics = [part for metric in (
            f'name: "matrix" confusion_matrix {{ {of_heads} num_classes: 3 }}',
            f'name: "f1" f1_score {{ {of_heads} num_classes: 3 average: MACRO }}',
            f'name: "of_species" by: "Species" num_groups: 4 accuracy {{ {of_heads} }}',
        ) for part in ('--set', f'model.eval_metric+={{ {metric} }}')]
        self.succeed(*self.iris('train', 'model', '--max_steps=60'))
        results = [self.result(self.succeed(*self.iris('evaluate', 'model', *metrics, *flags)))
                   for flags in ((), ('--eval_batch_size=8',), ('--use_tpu=false', '--eval_batch_size=7'))]
        matrix = results[0]['matrix']
        rows, columns = [sum(row) for row in matrix], [sum(column) for column in zip(*matrix)]
        self.assertEqual(sum(rows), results[0]['examples'])
        self.assertAlmostEqual(results[0]['f1'], sum(
            2 * matrix[i][i] / (rows[i] + columns[i]) for i in range(3)) / 3)
        *of_species, none = results[0]['of_species']
        self.assertEqual(none, 'NaN')
        for i, share in enumerate(of_species):
            self.assertAlmostEqual(share, matrix[i][i] / rows[i])
        self.assertGreater(len(set(of_species)), 1)
        for name in ('matrix', 'f1', 'of_species'):
            self.assertEqual(results[1][name], results[0][name])
        self.assertAlmostEqual(results[2]['accuracy'], sum(
            share * count for share, count in zip(results[2]['of_species'], rows)) / sum(rows))

    def test_each_loss_is_trained(self):
        write(self.path('model.textproto'), """
            feature { name: "PetalLength" }
            feature { name: "PetalWidth" }
            label { name: "Species" dtype: INT32 }
            layer { name: "x" concat {} input: "PetalLength" }
            layer { name: "z" dense { units: 1 } input: "x" }
            layer { name: "s" dense { units: 3 activation: RELU } input: "x" }
            optimizer { gradient_descent {} learning_rate { constant: 0.001 } }
            """)
        numbers = 'labels: "PetalWidth" predictions: "z"'
        for loss in (f'absolute_difference {{ {numbers} }}', f'huber_loss {{ {numbers} }}',
                     f'log_cosh {{ {numbers} }}', f'mean_squared_error {{ {numbers} }}',
                     f'pinball_loss {{ {numbers} tau: 0.9 }}', 'hinge_loss { labels: "PetalWidth" logits: "z" }',
                     'sigmoid_cross_entropy { labels: "PetalWidth" logits: "z" }',
                     'sparse_softmax_cross_entropy { labels: "Species" logits: "s" }'):
            for reduction in 'SUM_BY_NONZERO_WEIGHTS', 'SUM':
                kind = loss.split()[0]
                with self.subTest(loss=kind, reduction=reduction):
                    flags = ('--set', 'model_file=' + self.path('model.textproto'), '--set',
                             f'model.loss+={{ name: "l" reduction: {reduction} {loss} }}')
                    model_dir = f'{kind}_{reduction}'
                    first, last = [json.loads(self.succeed(*self.iris('train', model_dir, f'--max_steps={steps}',
                                                                      *flags)).out)['loss'] for steps in (1, 200)]
                    self.assertNotEqual(last, first)

    def test_values_that_a_metric_is_not_of_are_refused(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=20'))
        probabilities = r'want predictions in \[0, 1\], such as the "logistic" or "probabilities" of a head'
        ids = 'labels: "Species" predictions: "class_ids"'
        for metric, wanted in (
                ('sparse_categorical_crossentropy { labels: "Species" predictions: "logits" }', probabilities),
                ('recall { labels: "Species" predictions: "logits" class_id: 2 thresholds: 0.5 }', probabilities),
                ('auc { labels: "Species" predictions: "logits" class_id: 2 }', probabilities),
                ('f1_score { labels: "Species" predictions: "PetalWidth" }',
                 'want predictions 0 and 1, or thresholds for probabilities, such as 0.5'),
                ('binary_crossentropy { labels: "PetalLength" predictions: "PetalLength" }',
                 r'want labels in \[0, 1\], and predictions such as the "logistic" or "probabilities" of a head'),
                (f'mean_iou {{ {ids} num_classes: 2 }}', r'want labels and predictions in \[0, 2\)'),
                (f'matthews_correlation {{ {ids} num_classes: 1 }}',
                 r'want labels and predictions in \[0, 1\)')):
            done = self.call(*self.iris('evaluate', 'model', '--set',
                                        f'model.eval_metric+={{ name: "q" {metric} }}'))
            self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
            self.assertRegex(done.messages[0],
                             f'metric "q": [0-9]+ of the evaluated values have no place in it, {wanted}$')
        # The same of probabilities is a number.
        one = self.result(self.succeed(*self.iris(
            'evaluate', 'model', '--set', 'model.eval_metric+={ name: "q" auc { labels: "Species" '
            'predictions: "probabilities" class_id: 2 } }')))
        self.assertGreater(one['q'], 0.9)

    def test_a_metric_of_nan_is_nan(self):
        """Not a number in which NaN counts as a small one."""
        self.succeed(*self.iris('train', 'model', '--max_steps=20'))
        nan = ('--set', 'model.layer+={ name: "nan" op { name: "sqrt" } input: "minus" }', '--set',
               'model.layer+={ name: "minus" op { name: "neg" } input: "PetalWidth" }')
        metrics = [flag for name, metric in (
            ('auc', 'auc { labels: "one" predictions: "nan" }'),
            ('recall', 'recall { labels: "one" predictions: "nan" thresholds: [0.2, 0.5] }')) for flag in (
                '--set', f'model.eval_metric+={{ name: "{name}" {metric} }}')]
        ones = ('--set', 'model.layer+={ name: "one" op { name: "equal" } input: "PetalWidth" input: "PetalWidth" }')
        result = self.result(self.succeed(*self.iris('evaluate', 'model', nan[2], nan[3], *nan[:2], *ones, *metrics)))
        self.assertEqual((result['auc'], result['recall']), ('NaN', ['NaN'] * 2))
        self.assertGreater(result['accuracy'], 0.5)

    def test_a_head_over_a_softmax_warns(self):
        done = self.succeed(*self.iris('train', 'model', '--max_steps=5', '--set',
                                       'model.layer.logits.dense.activation=SOFTMAX'))
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertRegex(done.warnings[0], r'^iris/model.textproto:\d+:\d+: head 0: "logits" is the '
                         'result of a softmax, and the head takes one itself; want the values before '
                         'it, activation: LINEAR$')

    def test_one_logit_is_binary_with_every_verb(self):
        lines = read(self.path('iris/iris_training.csv')).decode().splitlines()[1:]
        labels = [int(line[-1]) for line in lines if not line.endswith(',2')]  # setosa, versicolor
        write(self.path('iris/two.csv'), '\n'.join(
            ['header', *(line for line in lines if not line.endswith(',2'))]) + '\n')
        source = f'{{ text_line {{ file: "{self.path("iris/two.csv")}" skip_lines: 1 }} }}'
        parse = 'transform { apply { transformation_func: "parse" } }'
        two = ('--set', 'model.layer.logits.dense.units=1', '--set', f'train.input.source={source}',
               '--set', f'evaluate.0.input.source={source}', '--set',
               f'predict.input={{ source {source} {parse} }}')
        for device in ('--use_tpu=true', '--use_tpu=false'):
            on = (self.path(f'model{device}'), device, *two)
            done = self.succeed(*self.iris(
                'train_and_evaluate', *on, '--max_steps=200', '--steps_per_eval=100', '--set',
                'train_and_evaluate.monitor={ metric: "auc" mode: MAX }'))
            self.assertEqual(json.loads(done.out.splitlines()[0])['global_step'], 100)
            result = self.result(self.succeed(*self.iris('evaluate', *on)))
            self.assertEqual(list(result)[5:], ['accuracy', 'accuracy_baseline', 'average_loss', 'label/mean',
                                                'prediction/mean', 'auc', 'auc_precision_recall',
                                                'precision', 'recall'])
            self.assertEqual((result['accuracy'], result['examples']), (1, len(labels)))
            share = sum(labels) / len(labels)
            self.assertAlmostEqual(result['label/mean'], share)
            self.assertAlmostEqual(result['accuracy_baseline'], max(share, 1 - share))
            out = self.succeed(*self.iris('predict', *on, '--unset', 'predict.keys')).out
            predicted = [json.loads(line) for line in out.splitlines()]
            self.assertEqual(list(predicted[0]), ['class_ids', 'probabilities', 'logits', 'logistic'])
            self.assertEqual([row['class_ids'][0] for row in predicted], labels)
            for row in predicted:
                self.assertAlmostEqual(row['probabilities'][1], row['logistic'][0], places=6)
            exported = self.result(self.succeed(*self.iris(
                'export', *on, '--export_format=saved_model,onnx')))
            self.assertEqual(exported['formats'], ['saved_model', 'onnx'])

    def test_one_logit_of_three_classes(self):
        done = self.call(*self.iris('train', 'model', '--max_steps=5', '--set',
                                      'model.layer.logits.dense.units=1'))
        self.assertEqual(done.code, 65, str(done))
        self.assertRegex(done.err, 'label "Species" is 2, want a class in \\[0, 2\\)')

    def test_weights_that_are_none(self):
        weights = ('--set', 'model.head.0.classification.weights=PetalWidth')
        path = self.path('iris/iris_training.csv')
        lines = read(path).decode().splitlines()
        fields = lines[40].split(',')
        self.succeed(*self.iris('train', 'model', '--max_steps=5', *weights))
        for value, shown in (('-0.5', '-0.5'), ('-3', '-3')):
            lines[40] = ','.join([*fields[:3], value, fields[4]])
            write(path, '\n'.join(lines) + '\n')
            done = self.call(*self.iris('train', 'other', '--max_steps=5', *weights))
            self.assertEqual((done.code, done.out, len(done.messages)), (65, '', 1), str(done))
            self.assertRegex(done.messages[0], f'iris_training.csv:41: feature "PetalWidth" is {re.escape(shown)},'
                                               ' want a weight that is finite and >= 0$')
        done = self.call(*self.iris('evaluate', 'model', *weights, f'--input={path}'))
        self.assertEqual((done.code, done.out), (65, ''), str(done))
        # What predicts has no loss.
        self.succeed(*self.iris('predict', 'model', *weights))
        self.succeed(*self.iris('train', 'unweighted', '--max_steps=5'))

    def test_a_binary_head_over_a_sigmoid_warns(self):
        done = self.succeed(*self.iris('summary', 'model', '--set', 'model.layer.logits.dense.units=1',
                                       '--set', 'model.layer.logits.dense.activation=SIGMOID'))
        self.assertIn('"logits" is the result of a sigmoid, and the head takes one itself',
                      done.out)

    def test_an_optimizer_of_one_loss_minimizes_the_regularization_too(self):
        """Of a weight 1 whose loss has no gradient a step takes 0.5 * 0.25."""
        write(self.path('model.textproto'), """
            feature { name: "x" }
            label { name: "y" }
            layer { name: "row" concat {} input: "x" }
            layer { name: "a" dense { units: 1 use_bias: false kernel_initializer { ones {} } } }
            layer { name: "b" input: "row" dense { units: 1 use_bias: false
                                                   kernel_initializer { ones {} } } }
            loss { name: "of_a" mean_squared_error { labels: "y" predictions: "a" } }
            loss { name: "of_b" mean_squared_error { labels: "y" predictions: "b" } }
            prediction { name: "a" tensor: "a" }
            prediction { name: "b" tensor: "b" }
            regularization { l2 { scale: 0.25 exclude: "^b/" } }
            optimizer { name: "one" gradient_descent {} learning_rate { constant: 0.5 } loss: "of_a" var_list: "^a/" }
            optimizer { name: "two" gradient_descent {} learning_rate { constant: 0.5 } loss: "of_b" var_list: "^b/" }
        """)
        row = '{ source { from_tensor_slices { feature { name: "x" float { value: %s } } %s } } %s }'
        zeros = row % (0, 'feature { name: "y" float { value: 0 } }', 'transform { repeat {} }')
        write(self.path('run.textproto'), f"""
            model_dir: "model" model_file: "model.textproto" train_batch_size: 16 predict_batch_size: 8
            train {{ input {zeros} }} predict {{ input {row % (1, '', '')} }}""")
        self.succeed('train', '--config=run.textproto', '--max_steps=1')
        done = self.succeed('predict', '--config=run.textproto')
        self.assertEqual(json.loads(done.out), {'a': [0.875], 'b': [1]})

    def test_a_transform_is_taken_out_by_its_kind(self):
        done = self.succeed(*self.iris('config', 'model', '--unset', 'train.input.transform.shuffle'))
        self.assertNotIn('shuffle', done.out)
        self.succeed(*self.iris('train', 'model', '--max_steps=5', '--unset',
                                'train.input.transform.shuffle'))


if __name__ == '__main__':
    unittest.main()
