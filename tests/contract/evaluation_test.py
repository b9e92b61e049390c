"""Evaluation: metrics over exactly the rows asked for, where results go, what is refused."""
import os
import unittest

from line import HEAD_METRICS, LineTest, NO_HEAD, loops_of, x_of
from program import read, write

METRICS = ('--set', 'model.eval_metric+={ name: "rmse" root_mean_squared_error '
           '{ labels: "y" predictions: "dense" } }', '--set',
           'model.eval_metric+={ name: "mean_y" mean { values: "y" } }')


class EvaluationTest(LineTest):

    def setUp(self):
        super().setUp()
        self.train('--steps=3')

    def errors(self, rows, *flags):
        """prediction - label of each row, from what predict prints."""
        predictions = self.predict('--set', 'predict.keys=predictions', *flags)
        return [predictions[row] - (2 * x_of(row) + 1) for row in rows]

    def test_114_without_metrics_there_are_loss_and_global_step(self):
        for tpu in ('true', 'false'):
            flags = (f'--use_tpu={tpu}', f'--model_dir=bare_{tpu}', *NO_HEAD)
            self.train('--steps=1', *flags)
            result = self.evaluate(*flags)
            self.assertEqual(set(result), {'global_step', 'checkpoint', 'examples', 'loss',
                                           'loss_shard_0'})
            self.assertEqual(result['global_step'], 1)

    def test_115_steps_are_steps_whatever_the_loops(self):
        for steps in (2, 6):
            self.assertEqual(self.evaluate(f'--steps={steps}', *loops_of(4))['examples'], 16 * steps)

    def test_071_a_hook_of_evaluation_runs_after_it(self):
        told = self.path('told')
        for times in (1, 2):
            self.evaluate('--steps=6', *loops_of(4), '--set', 'evaluation_hook+={ command: '
                          f'"echo $TPURUN_STEP >> {told}" at: EVALUATION }}')
            self.assertEqual(read(told).split(), [b'3'] * times)

    def expect_metrics(self, steps, *flags, of_shard_0=2):
        """`of_shard_0` rows of each batch are core 0's, the first ones."""
        errors = self.errors(range(16 * steps), *flags)
        shard_0 = [error for row, error in enumerate(errors) if row % 16 < of_shard_0]
        result = self.evaluate(f'--steps={steps}', *flags, *METRICS)
        mean_square = sum(error ** 2 for error in errors) / len(errors)
        want = {'mean_absolute_error': sum(map(abs, errors)) / len(errors), 'loss': mean_square,
                'loss_shard_0': sum(error ** 2 for error in shard_0) / len(shard_0),
                'rmse': mean_square ** 0.5,
                'mean_y': sum(2 * x_of(row) + 1 for row in range(16 * steps)) / (16 * steps)}
        for name, value in want.items():
            # Of f32 values, summed in double.
            self.assertAlmostEqual(result[name], value, delta=1e-6 * abs(value), msg=name)

    def test_116_metrics_of_a_head(self):
        self.expect_metrics(2)

    def test_117_metrics_by_name(self):
        self.expect_metrics(6)

    def test_118_119_the_same_on_the_cpu(self):
        self.expect_metrics(3, '--use_tpu=false', of_shard_0=16)

    def test_120_broadcast_of_a_batch_of_7(self):
        """Every core has the whole batch, which counts once."""
        self.write_rows(14)
        flags = ('--eval_batch_size=7', '--set', 'tpu_config.per_host_input_for_training=BROADCAST')
        result = self.evaluate(*flags)
        want = self.evaluate('--eval_batch_size=8')
        self.assertEqual(result['examples'], 14)
        for name in ('loss', 'mean_absolute_error'):
            self.assertAlmostEqual(result[name], want[name], delta=1e-7)

    def test_122_eval_on_tpu_without_a_tpu(self):
        done = self.succeed(*self.arguments('evaluate', '--use_tpu=false', '--eval_on_tpu=false'))
        self.assertEqual(self.result(done)['examples'], 96)
        self.assertTrue([text for text in done.warnings if 'eval_on_tpu' in text], str(done))

    def test_123_trained_on_the_tpu_evaluated_on_the_cpu(self):
        # x / 3 has bits that bf16 rounds away.
        self.write_rows(96, lambda row: x_of(row) / 3)
        on_tpu = self.evaluate()
        on_cpu = self.evaluate('--eval_on_tpu=false')
        self.assertEqual(on_cpu, self.evaluate('--use_tpu=false'))
        self.assertNotEqual(on_cpu['loss'], on_tpu['loss'])
        self.assertAlmostEqual(on_cpu['loss'], on_tpu['loss'], delta=0.01 * on_tpu['loss'])
        # One replica: no number of cores need divide the batch.
        self.assertEqual(self.evaluate('--eval_on_tpu=false', '--eval_batch_size=7')['examples'], 96)

    def test_125_steps_is_an_integer(self):
        done = self.call(*self.arguments('evaluate', '--steps=12.3'))
        self.assertEqual((done.code, done.out), (2, ''), str(done))
        self.assertEqual(done.messages, ['tpurun: --steps: got "12.3", want an integer'])

    def test_126_steps_is_positive(self):
        for value in ('-321', '0'):
            done = self.call(*self.arguments('evaluate', f'--steps={value}'))
            self.assertEqual((done.code, done.out), (2, ''), str(done))
            self.assertEqual(done.messages, [
                f'tpurun: --steps: got {value}, want a number > 0; leave it out for one exact pass '
                'over the examples'])

    def test_143_moving_averages_are_what_is_evaluated(self):
        """Not the weights themselves, which the checkpoint has under their own names."""
        decay = 0.5
        flags = ('--model_dir=averaged', '--set', f'model.moving_average={{ decay: {decay} }}')
        self.train('--steps=4', *flags, *loops_of(1))
        average = {name: self.tensors(0, 'averaged')[name][0] for name in ('dense/kernel', 'dense/bias')}
        for step in range(1, 5):
            values = self.tensors(step, 'averaged')
            for name in average:
                average[name] += (1 - decay) * (values[name][0] - average[name])
        for name, want in average.items():
            self.assertAlmostEqual(values[f'{name}/ExponentialMovingAverage'][0], want, places=6)
            self.assertNotAlmostEqual(values[name][0], want, places=2)
        errors = [average['dense/kernel'] * x_of(row) + average['dense/bias'] - (2 * x_of(row) + 1)
                  for row in range(16)]
        for tpu in ('true', 'false'):
            result = self.evaluate(f'--use_tpu={tpu}', *flags)
            # In bf16 a weight keeps 8 bits.
            self.assertAlmostEqual(result['mean_absolute_error'], sum(map(abs, errors)) / 16,
                                   delta=0.005 if tpu == 'true' else 1e-6)
        predictions = self.predict('--use_tpu=false', *flags)
        self.assertAlmostEqual(predictions[8], average['dense/bias'], places=6)  # x = 0

    def test_173_names_that_are_not_free(self):
        for name in ('loss', 'global_step'):
            done = self.call(*self.arguments('evaluate', '--set', 'model.eval_metric+={ name: '
                                             f'"{name}" mean {{ values: "y" }} }}'))
            self.assertEqual(done.code, 2, str(done))
            self.assertIn(f'the name "{name}" is reserved', done.messages[0])

    def test_174_without_a_checkpoint(self):
        """Initial values are evaluated, but only when that is asked for."""
        done = self.call(*self.arguments('evaluate', '--model_dir=none'))
        self.assertEqual(done.code, 66, str(done))
        done = self.succeed(*self.arguments('evaluate', '--model_dir=none', '--allow_untrained'))
        self.assertIn('Could not find trained model in model_dir', done.err)
        result = self.result(done)
        self.assertEqual((result['global_step'], result['checkpoint']), (0, None))
        # Of (2 x + 1)^2 and |2 x + 1|.
        want = [2 * x_of(row) + 1 for row in range(16)]
        self.assertEqual(result['loss'], sum(value ** 2 for value in want) / 16)
        self.assertEqual(result['mean_absolute_error'], sum(map(abs, want)) / 16)

    def test_176_a_named_evaluation_has_a_folder_of_its_own(self):
        named = ('--set', 'evaluate.0.name="test"')
        result = self.evaluate('--name=test', *named)
        self.assertEqual(result['global_step'], 3)
        self.assertFalse(os.path.exists(self.path('model', 'eval')))
        self.assertEqual({tag: [step for step, _ in points]
                          for tag, points in self.scalars('model/eval_test').items()},
                         dict.fromkeys(HEAD_METRICS, [3]))


class PaddingTest(LineTest):
    """What fills up a batch counts nowhere."""

    def expect(self, rows, batch, *flags):
        """The metrics of the rows: mean 1 of these y but for the last, which is far from all others."""
        values = [row + 1 for row in range(rows - 1)] + [1000]
        write(self.path('rows.csv'), ''.join(f'0,{value}\n' for value in values))
        result = self.evaluate('--allow_untrained', f'--eval_batch_size={batch}', *flags, *METRICS)
        self.assertEqual(result['examples'], rows)
        self.assertAlmostEqual(result['mean_y'], sum(values) / rows, places=9)
        self.assertAlmostEqual(result['mean_absolute_error'], sum(values) / rows, places=9)
        self.assertAlmostEqual(result['loss'], sum(value ** 2 for value in values) / rows, places=6)

    def test_135_nothing_is_filled_up_where_batches_divide_the_rows(self):
        self.expect(16, 8)
        self.expect(4, 2, '--use_tpu=false')

    def test_136_a_last_batch_of_half_the_rows(self):
        """5 rows in batches of 2 on 2 cores are 20 in batches of 8 on 8: the last has rows on 4 cores."""
        self.expect(20, 8)
        self.expect(5, 2, '--use_tpu=false')
        self.expect(17, 16)  # one row of one core
        self.expect(23, 16)  # a core of one row and padding


if __name__ == '__main__':
    unittest.main()
