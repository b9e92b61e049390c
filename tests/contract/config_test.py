"""RunConfig and TPUConfig: what is taken, what is refused before anything is read or written."""
import os
import re
import unittest

from line import LineTest, loops_of
from program import read, write


class RunConfigTest(LineTest):

    def test_001_no_session_option_is_invented_and_one_given_is_kept(self):
        options = {'allow_soft_placement': ('true', 'false'), 'log_device_placement': ('false', 'true')}
        values = self.effective()
        for name, (default, _) in options.items():
            self.assertEqual(values[name], (default, 'default'))
        self.train('--steps=1', *(f'--{name}={other}' for name, (_, other) in options.items()))
        kept = read(self.path('model', 'run_config.pbtxt')).decode()
        for name, (_, other) in options.items():
            self.assertIn(f'{name}: {other}', kept)

    def test_007_masters_are_empty(self):
        values = self.effective()
        for name in ('master', 'evaluation_master'):
            self.assertEqual(values[name], ('""', 'default'))

    def test_008_both_masters_are_kept(self):
        values = self.effective('--master=local', '--evaluation_master=local')
        for name in ('master', 'evaluation_master'):
            self.assertEqual(values[name][0], '"local"')
            self.assertIn('command line', values[name][1])

    def test_009_the_master_evaluates(self):
        """There is no other: an address that is not the emulated TPU's is refused, whoever uses it."""
        self.train('--master=local', '--steps=1')
        self.assertEqual(self.evaluate('--master=local')['global_step'], 1)
        for flag in ('--master=grpc://10.0.0.1:8470', '--evaluation_master=grpc://10.0.0.1:8470'):
            done = self.call(*self.arguments('evaluate', flag))
            self.assertEqual(done.code, 2, str(done))
            self.assertIn('grpc://10.0.0.1:8470', done.messages[0])

    def test_171_model_dir_of_the_environment_is_another(self):
        done = self.call(*self.arguments('train', '--steps=1', '--model_dir=model'),
                         env={**os.environ, 'TF_CONFIG': '{"model_dir": "/elsewhere/model"}'})
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        for text in ('TF_CONFIG', 'model_dir', '"/elsewhere/model"', '"model"'):
            self.assertIn(text, done.messages[0])
        self.assertFalse(os.path.exists(self.path('model')))

    def test_172_both_periods_of_checkpoints(self):
        write(self.path('run.textproto'), read(self.path('run.textproto')) + b'save_checkpoints_secs: 5\n')
        self.refuse_once('save_checkpoints_secs.*save_checkpoints_steps|'
                         'save_checkpoints_steps.*save_checkpoints_secs', 'train', '--steps=1')


class TPUConfigTest(LineTest):

    def refuse_field(self, field, value, pattern):
        self.refuse_once(re.escape(f'tpu_config.{field}') + '.*' + pattern, 'train', '--steps=1', '--set',
                         f'tpu_config.{field}={value}')

    def test_003_num_shards_is_positive(self):
        self.refuse_field('num_shards', 0, 'must be > 0, got 0')

    def test_004_iterations_per_loop_is_positive(self):
        for value in ('0', '-1', '-1h', '-1m', '-1s'):
            self.refuse_field('iterations_per_loop', value, f'got "{value}", want')

    def test_005_num_cores_per_replica(self):
        self.refuse_field('num_cores_per_replica', 7, 'got 7, want one of 1, 2, 4, 8, 16, 32, 64, 128')

    def test_045_more_cores_a_replica_than_there_are(self):
        self.refuse_field('num_cores_per_replica', 16, 'got 16, but the device has 8 cores')

    def loops(self, value):
        """Trains with them; the text stays as it was."""
        model_dir = f'model_{value}'
        result = self.train(f'--model_dir={model_dir}', '--steps=3', *loops_of(value))
        self.assertEqual(result['global_step'], 3)
        self.assertIn(f'iterations_per_loop: "{value}"\n',
                      read(self.path(model_dir, 'run_config.pbtxt')).decode())
        return self.saved(model_dir)

    def test_006_loops_are_counts_or_times(self):
        self.assertEqual(self.loops('1'), [0, 1, 2, 3])
        self.assertEqual(self.loops('100'), [0, 3])
        # The first loop is of one step; the others are as long as training, which ends before.
        for value in ('300s', '1m', '1h'):
            self.assertEqual(self.loops(value), [0, 1, 3])

    def test_017_loops_that_are_taken(self):
        counts = ('1', '2', '10', '123')
        for value in (*counts, '1h', '1m', '1s', '10h', '10m', '10s', '100h', '1000m', '10800s'):
            self.assertEqual(self.loops(value)[-1], 3)
        for value in ('1', '123'):
            self.train(f'--model_dir=unquoted_{value}', '--steps=1', '--set',
                       f'tpu_config.iterations_per_loop={value}')

    def test_018_loops_that_are_not(self):
        for value in ('0', '-0', '-10', '012', '001', '01', '-1', '-0h', '0h', '0s', '0m', '-1h', '-1s',
                      '-1m'):
            self.refuse_field('iterations_per_loop', f'"{value}"', f'got "{value}", want')

    def test_039_num_shards_of_another_device(self):
        self.refuse_field('num_shards', 12,
                          'got 12, want one of 8, 16, 32, 64, 128, 256, 512')


class BatchSizeTest(LineTest):

    def test_029_batch_size_is_not_a_name_of_the_users(self):
        write(self.path('run.textproto'), read(self.path('run.textproto')) + b'batch_size: 128\n')
        self.refuse_once(r'run\.textproto:\d+:\d+: .*"batch_size".*train_batch_size', 'train',
                         '--steps=1')

    def test_030_train_batch_size_is_missing(self):
        self.refuse_once('train_batch_size is missing', 'train', '--steps=1', '--unset',
                         'train_batch_size')
        # Unlike TPUEstimator's, the other verbs do not need it.
        self.train('--steps=1')
        self.assertEqual(self.evaluate('--unset', 'train_batch_size')['global_step'], 1)

    def test_031_train_batch_size_is_an_integer(self):
        self.refuse_once('--train_batch_size: got "1.0", want an integer', 'train', '--steps=1',
                         '--train_batch_size=1.0')

    def test_034_cores_divide_the_batch_of_training(self):
        self.refuse_once('train_batch_size: got 127, which 8 cores do not divide, .* 120 or 128', 'train',
                         '--steps=1', '--train_batch_size=127')

    def test_036_cores_divide_the_batch_of_evaluation(self):
        self.refuse_once('eval_batch_size: got 127, which 8 cores do not divide, .* 120 or 128',
                         'evaluate', '--eval_batch_size=127')

    def test_038_cores_divide_the_batch_of_prediction(self):
        self.refuse_once('predict_batch_size: got 127, which 8 cores do not divide, .* 120 or 128',
                         'predict', '--predict_batch_size=127')

    def test_040_eval_batch_size_is_missing(self):
        self.refuse_once('eval_batch_size is missing', 'evaluate', '--unset', 'eval_batch_size')

    def test_041_predict_batch_size_is_missing(self):
        self.refuse_once('predict_batch_size is missing', 'predict', '--unset', 'predict_batch_size')

    def test_044_one_replica_takes_every_form_of_input(self):
        self.train('--steps=1', '--use_tpu=false')
        for form in ('PER_HOST_V1', 'PER_HOST_V2', 'BROADCAST'):
            flags = ('--use_tpu=false', '--set', f'tpu_config.per_host_input_for_training={form}')
            self.assertEqual(self.evaluate(*flags)['examples'], 96)
            self.assertEqual(len(self.predict(*flags)), 96)


class PartitionTest(LineTest):
    """input_partition_dims is refused whatever it says: there is no model parallelism. What else is wrong
    with it is told at once. Of `line`, feature and label are [N,1]."""

    def refuse_dims(self, pattern, *dims, form='PER_HOST_V2', cores=2, flags=()):
        fields = {'per_host_input_for_training': form, 'num_cores_per_replica': cores,
                  'input_partition_dims': '[' + ', '.join(
                      '{ ' + ' '.join(f'dim: {part}' for part in parts) + ' }' for parts in dims) + ']'}
        messages = self.refuse('train', '--steps=1', *flags, *(
            part for name, value in fields.items() if value is not None
            for part in ('--set', f'tpu_config.{name}={value}')))
        told = [text for text in messages if 'tpu_config.input_partition_dims' in text]
        self.assertTrue([text for text in told if 'model parallelism' in text], messages)
        self.assertTrue([text for text in told if re.search(pattern, text)], messages)

    def test_098_without_per_host_v2(self):
        self.refuse_dims('PER_HOST_V2.*got PER_HOST_V1', (2, 1), form='PER_HOST_V1')

    def test_099_without_num_cores_per_replica(self):
        self.refuse_dims('needs num_cores_per_replica', (2, 1), cores=None)

    def test_100_of_three_elements(self):
        self.refuse_dims('got 3 elements', (2, 1), (2, 1), (2, 1))

    def test_101_into_no_part(self):
        self.refuse_dims('got 0, want a number >= 1', (0, 1))

    def test_102_into_other_parts_than_there_are_cores(self):
        self.refuse_dims(r'4 x 1 = 4, want num_cores_per_replica, 2', (4, 1))

    def test_103_of_another_rank(self):
        self.refuse_dims('got 4 dimensions, but feature "x" has 2', (2, 1, 1, 1))

    def test_104_of_another_structure_than_the_features(self):
        """Ours is of one tensor each: there are no keys."""
        self.refuse_dims('of one feature, but the model has 2', (2, 1), flags=(
            '--set', 'model.feature+={ name: "z" shape: 1 }', '--set', 'model.layer.dense.input=["x"]'))

    def test_105_of_another_structure_than_the_labels(self):
        self.refuse_dims('of one label, but the model has 2', (2, 1), (2, 1), flags=(
            '--set', 'model.label+={ name: "z" shape: 1 }'))

    def test_106_of_another_rank_than_the_label(self):
        self.refuse_dims('got 1 dimensions, but label "y" has 2', (2, 1), (2,))


if __name__ == '__main__':
    unittest.main()
