"""Export, and all verbs one behind the other. What is exported is loaded and run by TensorFlow in
tests/interop/upstream_cases_test.py; here are its files, and which graphs it holds."""
import json
import os
import unittest

from line import LineTest, loops_of, x_of

FILES = ['saved_model.pb', 'variables/variables.data-00000-of-00001', 'variables/variables.index']


class ExportTest(LineTest):

    def export(self, *flags):
        """The tags of each graph of the model that is exported now."""
        [result] = self.run_verb('export', *flags)
        path = result['path']
        files = [os.path.relpath(os.path.join(folder, name), path)
                 for folder, _, names in os.walk(path) for name in names]
        self.assertEqual(sorted(files), FILES)
        shown = self.succeed('inspect', path, '--format=json').out.splitlines()
        return [entry['tags'] for entry in map(json.loads, shown) if entry['kind'] == 'meta_graph']

    def test_148_both_graphs(self):
        self.train('--steps=1')
        self.assertEqual(self.export('--set', 'export.export_to_tpu=true'), [['serve'], ['serve', 'tpu']])

    def test_149_only_the_graph_of_the_tpu(self):
        self.train('--steps=1')
        self.assertEqual(self.export('--set', 'export.export_to_tpu=true', '--set',
                                     'export.export_to_cpu=false'), [['serve', 'tpu']])

    def test_150_only_the_graph_of_the_cpu(self):
        """Our default; TPUEstimator's is both."""
        self.train('--steps=1')
        self.assertEqual(self.export(), [['serve']])

    def test_158_cores_need_not_divide_the_batch_of_prediction(self):
        self.train('--steps=1')
        self.assertEqual(self.export('--predict_batch_size=1'), [['serve']])
        self.assertEqual(self.export('--unset', 'predict_batch_size'), [['serve']])

    def test_175_without_a_checkpoint(self):
        self.refuse_once('could not find a trained model in .*/model: train it first', 'export', code=66)


class EndToEndTest(LineTest):
    """Training on y = 2 x + 1 for 7 steps, as upstream trains an identity."""

    def run_all(self, *flags, predict_batch=8):
        flags = (*flags, '--set', 'model.optimizer.0.learning_rate={ constant: 0.5 }', *loops_of(4),
                 f'--predict_batch_size={predict_batch}')
        self.assertEqual(self.train('--steps=7', *flags)['global_step'], 7)
        evaluated = self.evaluate('--steps=6', *flags)
        self.assertEqual((evaluated['global_step'], evaluated['examples']), (7, 96))
        self.assertLess(evaluated['mean_absolute_error'], 0.1)
        predicted = self.predict('--set', 'predict.input.transform+={ take { count: 16 } }', *flags)
        self.assertEqual(len(predicted), 16)
        weights = self.tensors(7)
        for row, value in enumerate(predicted):
            want = weights['dense/kernel'][0] * x_of(row) + weights['dense/bias'][0]
            self.assertAlmostEqual(value, want, delta=0.01)
        [exported] = self.run_verb('export', *flags)
        self.assertEqual((exported['global_step'], exported['signatures'][0]), (7, 'serving_default'))
        return evaluated

    def test_160_per_core(self):
        self.run_all('--set', 'tpu_config.per_host_input_for_training=PER_SHARD_V1')

    def test_161_per_host(self):
        self.run_all('--set', 'tpu_config.per_host_input_for_training=PER_HOST_V1')

    def test_162_evaluation_on_the_tpu(self):
        self.run_all('--eval_on_tpu=true')

    def test_163_without_a_tpu(self):
        self.run_all('--use_tpu=false', predict_batch=1)


if __name__ == '__main__':
    unittest.main()
