"""Training: loops, lengths, checkpoints, summaries and updates."""
import contextlib
import os
import signal
import unittest

from line import CORES, HEAD_METRICS, LineTest, loops_of, x_of
from program import read, tree


class LengthTest(LineTest):
    """save_checkpoints_steps is 1: there is a checkpoint at each end of a loop."""

    def expect(self, iterations, length, from_0, from_3):
        """A fresh run has a checkpoint at 0 and at each of from_0; one of step 3 goes on with from_3."""
        loops = loops_of(iterations)
        fresh = self.train('--model_dir=fresh', length, *loops)
        self.assertEqual(self.saved('fresh'), [0, *from_0])
        self.assertEqual((fresh['global_step'], fresh['steps']), (from_0[-1], from_0[-1]))
        self.train('--model_dir=resumed', '--steps=3', *loops)
        resumed = self.train('--model_dir=resumed', length, *loops)
        self.assertEqual(self.saved('resumed'), [0, 3, *from_3])
        self.assertEqual((resumed['global_step'], resumed['steps']), (from_3[-1], from_3[-1] - 3))
        # The steps are trained, not only counted: both are the same run where they have the same step.
        for step in {*from_0} & {*from_3}:
            self.assertEqual(self.tensors(step, 'fresh'), self.tensors(step, 'resumed'))

    def test_028_the_last_of_loops_of_3_for_5_steps_is_shorter(self):
        self.train('--steps=5', *loops_of(3))
        self.assertEqual(self.saved(), [0, 3, 5])

    def test_074_loops_of_4_for_10_steps(self):
        self.expect(4, '--steps=10', [4, 8, 10], [7, 11, 13])

    def test_075_loops_of_4_for_12_steps(self):
        self.expect(4, '--steps=12', [4, 8, 12], [7, 11, 15])

    def test_076_loops_of_40_for_12_steps(self):
        self.expect(40, '--steps=12', [12], [15])

    def test_077_loops_of_4_to_step_10(self):
        self.expect(4, '--max_steps=10', [4, 8, 10], [7, 10])

    def test_078_loops_of_4_to_step_12(self):
        self.expect(4, '--max_steps=12', [4, 8, 12], [7, 11, 12])

    def test_078_loops_of_4_to_step_15(self):
        self.expect(4, '--max_steps=15', [4, 8, 12, 15], [7, 11, 15])

    def test_079_loops_of_40_to_step_12(self):
        self.expect(40, '--max_steps=12', [12], [12])

    def test_080_steps_is_an_integer(self):
        self.refuse_once('--steps: got "12.3", want an integer', 'train', '--steps=12.3')

    def test_081_steps_is_positive(self):
        self.refuse_once('--steps: got -32, want a number > 0', 'train', '--steps=-32')

    def test_082_max_steps_is_an_integer(self):
        self.refuse_once('--max_steps: got "12.3", want an integer', 'train', '--max_steps=12.3')

    def test_083_max_steps_is_positive(self):
        self.refuse_once('max_steps must be > 0, got -32', 'train', '--max_steps=-32')

    def test_170_a_run_that_is_there_already_changes_nothing(self):
        self.train('--max_steps=12', *loops_of(4))
        before = tree(self.path('model'))
        for length in ('--max_steps=12', '--max_steps=5'):
            done = self.succeed(*self.arguments('train', length))
            self.assertIn('Skipping training since max_steps has already saved.', done.err)
            self.assertEqual(self.result(done), {'skipped': True, 'global_step': 12,
                                                 'checkpoint': self.path('model', 'model.ckpt-12')})
            self.assertEqual(tree(self.path('model')), before)


class TimedLoopTest(LineTest):

    def seconds(self):
        """Of each loop after the first: there is a checkpoint at the end of each."""
        ends = []
        for step in self.saved()[1:]:
            # The newest may be there in part.
            with contextlib.suppress(FileNotFoundError):
                ends.append(os.stat(self.path('model', f'model.ckpt-{step}.index')).st_mtime)
        return [after - before for before, after in zip(ends, ends[1:])]

    def test_026_loops_get_as_long_as_they_are_to_take(self):
        """Nearer than half and double in 2 of 3 in a row, from a thousandth: another program may be in
        the way. How near they come is what iteration_count_estimator_test says, with a clock of its own."""
        def close():
            return sum(0.5 < seconds < 2 for seconds in self.seconds()[-3:]) >= 2

        process = self.start(*self.arguments('train', '--max_steps=1000000000000', *loops_of('1s')))
        self.wait_until(lambda: close() or len(self.seconds()) > 200, process)
        self.assertTrue(close(), self.seconds())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 75)
        self.assertEqual(self.saved()[:2], [0, 1])


class LogTest(LineTest):

    def losses(self, *flags):
        done = self.succeed(*self.arguments('train', *flags))
        return [line for line in done.log if line.startswith('loss = ')]

    def test_066_log_step_count_steps_of_none_logs_no_loss(self):
        self.assertEqual(self.losses('--steps=10', '--log_step_count_steps=0', *loops_of(5)), [])
        self.assertEqual(self.saved(), [0, 5, 10])
        self.assertEqual(len(self.losses('--steps=10', '--log_step_count_steps=5', *loops_of(5))), 2)


class HookTest(LineTest):

    def test_070_a_hook_of_training_runs_after_each_loop(self):
        told = self.path('told')
        self.train('--steps=10', *loops_of(4), '--set', 'training_hook+={ command: '
                   f'"echo $TPURUN_STEP >> {told}" at: LOOP }}')
        self.assertEqual(read(told).split(), [b'4', b'8', b'10'])


class CheckpointTest(LineTest):

    def test_084_a_plain_run_starts_warm_from_one_of_the_tpu(self):
        self.train('--model_dir=tpu', '--steps=5')
        want = self.tensors(5, 'tpu')
        self.assertNotEqual(want['dense/kernel'], [0])
        self.train('--model_dir=plain', '--steps=1', '--use_tpu=false', '--set',
                   'warm_start_from={ ckpt_to_initialize_from: "tpu" }', '--set',
                   'model.layer.dense.dense.kernel_initializer={ ones {} }')
        got = self.tensors(0, 'plain')
        for name in ('dense/kernel', 'dense/bias'):
            self.assertEqual(got[name], want[name])
        self.assertEqual(got['global_step'], [0])

    def test_177_keep_checkpoint_max_of_2(self):
        self.train('--steps=10', '--keep_checkpoint_max=2', *loops_of(2))
        self.assertEqual(self.listed(), [8, 10])
        self.assertEqual(self.saved(), [8, 10])

    def test_178_no_period_no_checkpoint(self):
        result = self.train('--steps=10', '--set', 'save_checkpoints_steps=0')
        self.assertEqual(result['global_step'], 10)
        left = os.listdir(self.path('model'))
        self.assertEqual([name for name in left if 'ckpt' in name or name == 'checkpoint'], [])
        self.assertEqual(self.steps_of('loss')[-1], 10)


class CrossShardTest(LineTest):

    def test_086_an_optimizer_that_is_not_cross_shard(self):
        self.refuse_once('optimizer 0 "gradient_descent": reduction NONE would train 8 models apart; want '
                         'MEAN or SUM', 'train', '--steps=1', '--set',
                         'model.optimizer.0.cross_shard.reduction=NONE')

    def test_087_one_that_is(self):
        for reduction in ('MEAN', 'SUM'):
            self.train(f'--model_dir={reduction}', '--steps=1', '--set',
                       f'model.optimizer.0.cross_shard.reduction={reduction}')
            self.assertEqual(self.saved(reduction), [0, 1])

    def gradient(self, rows):
        """d loss / d (kernel, bias) of (y - 0 x)^2 at zero weights, averaged over rows."""
        errors = [-2 * (2 * x_of(row) + 1) for row in rows]
        return [sum(error * x_of(row) for row, error in zip(rows, errors)) / len(rows),
                sum(errors) / len(rows)]

    def test_164_one_step_is_that_of_the_whole_batch(self):
        """Of one or two examples a core: weights and slots are computed by hand, and the CPU's. Each core's
        gradient is divided by 8 before the sum, so that the mean of all is what updates."""
        rate, start = 0.25, 0.1
        optimizers = {
            'gradient_descent {}': lambda gradient: (-rate * gradient, None),
            f'adagrad {{ initial_accumulator_value: {start} }}':
                lambda gradient: (-rate * gradient / (start + gradient ** 2) ** 0.5,
                                  start + gradient ** 2)}
        for number, (optimizer, update) in enumerate(optimizers.items()):
            for examples in (1, 2):
                batch = examples * CORES
                found = []
                for tpu in ('true', 'false'):
                    model_dir = f'model_{number}_{examples}_{tpu}'
                    self.train(f'--model_dir={model_dir}', '--steps=1', f'--use_tpu={tpu}',
                               f'--train_batch_size={batch}', '--set', f'model.optimizer=[{{ {optimizer} '
                               f'learning_rate {{ constant: {rate} }} cross_shard {{}} }}]')
                    found.append(self.tensors(1, model_dir))
                on_tpu, on_cpu = found
                self.assertEqual(set(on_tpu), set(on_cpu))
                for name, gradient in zip(('dense/kernel', 'dense/bias'), self.gradient(range(batch))):
                    weight, slot = update(gradient)
                    want = {name: weight}
                    if slot is not None:
                        want[f'{name}/Adagrad'] = slot
                    for tensor, value in want.items():
                        for got in (on_tpu, on_cpu):
                            # A few roundings to f32.
                            self.assertAlmostEqual(got[tensor][0], value, delta=1e-6 * abs(value),
                                                   msg=f'{optimizer}, batch {batch}: {tensor}')


TAGS = ('mean_absolute_error', 'global_norm')


class HostCallTest(LineTest):
    """What a host_call writes are the model's summaries here, at the step that a step begins with."""

    SUMMARIES = tuple(part for name in TAGS for part in (
        '--set', f'model.summary+={{ scalar {{ name: "{name}" }} every_n_steps: 5 }}'))

    def test_144_every_5_steps_of_42(self):
        self.train('--steps=42', *loops_of(42), *self.SUMMARIES)
        scalars = self.scalars()
        for tag in TAGS:
            self.assertEqual([step for step, _ in scalars[tag]], list(range(0, 45, 5)))
        # Not in evaluation, whose metrics are written once, at the checkpoint's step.
        self.evaluate('--steps=3')
        evaluated = self.scalars('model/eval')
        self.assertEqual({tag: [step for step, _ in points] for tag, points in evaluated.items()},
                         dict.fromkeys(HEAD_METRICS, [42]))

    def test_146_every_second_iteration_of_loops_of_21(self):
        self.train('--steps=42', *loops_of(21), *self.SUMMARIES, '--set',
                   'tpu_config.experimental_host_call_every_n_steps=2')
        for tag in TAGS:
            self.assertEqual(self.steps_of(tag), [0, 10, 20, 25, 35])


if __name__ == '__main__':
    unittest.main()
