"""What train and evaluate report, on standard output and in event files, is what was computed."""
import glob
import json
import math
import struct
import time
import unittest

from program import ProgramTest, write

CORES = 8
ROWS_A_CORE = 2
BATCH = CORES * ROWS_A_CORE
STEPS = 3
# The prediction is x: one weight, 1, that never learns.
MODEL = """
feature { name: "x" }
label { name: "y" }
layer { name: "row" concat {} input: "x" }
layer { name: "out" dense { units: 1 use_bias: false kernel_initializer { ones {} } } }
head { regression { logits: "out" label: "y" } }
optimizer { gradient_descent {} learning_rate { constant: 0 } cross_shard { reduction: MEAN } }
"""
RUN = """
model_dir: "model"
model_file: "model.textproto"
train_batch_size: 16
eval_batch_size: 16
keep_checkpoint_max: 1
tpu_config { iterations_per_loop: "3" num_shards: 8 }
transformation_func {
  name: "parse"
  transform { decode_csv { column { name: "x" dtype: FLOAT32 } column { name: "y" dtype: FLOAT32 } } }
}
train {
  input {
    source { text_line { file: "rows.csv" } }
    transform { apply { transformation_func: "parse" } }
    transform { repeat {} }
    transform { batch { drop_remainder: true } }
  }
}
evaluate {
  input {
    source { text_line { file: "rows.csv" } }
    transform { apply { transformation_func: "parse" } }
    transform { take { count: 37 } }
  }
}
"""
# Small enough for every sum of squares below to be exact in f32, and without a period that would
# make two cores or two steps alike.
ROWS = [(i * 5 % 13, i * i % 17) for i in range(BATCH * STEPS)]


def f32(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def core_losses(step):
    """The mean squared error of each core's rows of a batch; steps count from 0."""
    rows = ROWS[step % STEPS * BATCH:][:BATCH]
    shards = [rows[core * ROWS_A_CORE:][:ROWS_A_CORE] for core in range(CORES)]
    return [sum((x - y) ** 2 for x, y in shard) / ROWS_A_CORE for shard in shards]


class ReportedValuesTest(ProgramTest):

    def setUp(self):
        super().setUp()
        write(self.path('model.textproto'), MODEL)
        write(self.path('run.textproto'), RUN)
        write(self.path('rows.csv'), ''.join(f'{x},{y}\n' for x, y in ROWS))

    def train(self, steps, *flags):
        return self.result(self.succeed('train', '--config=run.textproto', f'--max_steps={steps}',
                                        *flags))

    def events(self, folder):
        """The events of the one event file, in order."""
        (path,) = glob.glob(self.path(folder, 'events.*'))
        return [json.loads(line) for line in
                self.succeed('inspect', path, '--format=json').out.splitlines()]

    def scalars(self, folder, tag):
        """[(step, value, wall time)] of one tag."""
        return [(event['step'], event['value'], event['wall_time'])
                for event in self.events(folder) if event['tag'] == tag]

    def test_the_losses_are_those_of_the_last_step(self):
        for steps in (1, 2, 3):
            losses = core_losses(steps - 1)
            self.assertEqual(len({losses[0], losses[-1], sum(losses) / CORES}), 3)
            result = self.train(steps)
            self.assertEqual(result['loss'], sum(losses) / CORES)
            self.assertEqual(result['loss_shard_0'], losses[0])

    def test_the_losses_of_events_are_the_means_over_the_cores(self):
        self.train(6, '--save_summary_steps=1', '--set', 'tpu_config.iterations_per_loop=1')
        self.assertEqual(
            [(step, loss) for step, loss, _ in self.scalars('model', 'loss')],
            [(step, sum(core_losses(step - 1)) / CORES) for step in range(1, 7)])

    def test_the_log_says_the_loss_of_the_last_step(self):
        done = self.succeed('train', '--config=run.textproto', '--max_steps=2')
        self.assertIn(f'Loss for final step: {sum(core_losses(1)) / CORES:g}.', done.err)

    def test_rates_are_examples_over_seconds(self):
        start = time.monotonic()
        result = self.train(6)
        elapsed = time.monotonic() - start
        self.assertEqual(result['steps'], 6)
        self.assertTrue(0 < result['seconds'] < elapsed, result)
        self.assertAlmostEqual(result['examples_per_second'] * result['seconds'], 6 * BATCH,
                               delta=1e-5 * 6 * BATCH)
        # Of the steps of this run, not of the global step.
        result = self.train(9)
        self.assertEqual((result['global_step'], result['steps']), (9, 3))
        self.assertAlmostEqual(result['examples_per_second'] * result['seconds'], 3 * BATCH,
                               delta=1e-5 * 3 * BATCH)

    def test_the_rates_of_events_are_steps_and_examples_over_seconds(self):
        self.train(10000, '--save_summary_steps=500', '--log_step_count_steps=500', '--set',
                   'tpu_config.iterations_per_loop=500')
        steps = self.scalars('model', 'global_step/sec')
        examples = self.scalars('model', 'examples/sec')
        self.assertEqual([step for step, _, _ in steps], list(range(1000, 10001, 500)))
        self.assertEqual(len(examples), len(steps))
        for (step, steps_a_second, _), (same_step, examples_a_second, _) in zip(steps, examples):
            self.assertEqual(step, same_step)
            self.assertAlmostEqual(examples_a_second / steps_a_second, BATCH, delta=1e-5 * BATCH)
        # All in all they say how long the run was between the first event and the last, which say
        # so themselves. They are written a moment after the clock is read.
        said = sum(500 / rate for _, rate, _ in steps)
        first = self.scalars('model', 'loss')[0]
        self.assertEqual(first[0], 500)
        passed = steps[-1][2] - first[2]
        self.assertTrue(0.5 < said / passed < 2, f'{said} s by the rates, {passed} s passed')

    def test_every_step_can_be_logged(self):
        done = self.succeed('train', '--config=run.textproto', '--max_steps=4',
                            '--log_step_count_steps=1', '--set', 'tpu_config.iterations_per_loop=1')
        for step in range(1, 5):
            self.assertIn(f'loss = {sum(core_losses(step - 1)) / CORES:g}, step = {step}', done.err)
        self.assertEqual([step for step, _, _ in self.scalars('model', 'global_step/sec')], [2, 3, 4])

    def test_an_evaluation_is_the_mean_over_its_rows(self):
        self.train(1)
        evaluation = self.result(self.succeed('evaluate', '--config=run.textproto'))
        rows = ROWS[:37]
        want = {'examples': 37,
                'loss': sum((x - y) ** 2 for x, y in rows) / 37,
                'mean_absolute_error': sum(abs(x - y) for x, y in rows) / 37}
        for name, value in want.items():
            self.assertAlmostEqual(evaluation[name], value, delta=1e-6 * value, msg=name)
        for name in ('loss', 'mean_absolute_error'):
            ((step, value, _),) = self.scalars('model/eval', name)
            self.assertEqual((step, f32(value)), (1, f32(evaluation[name])))

    def test_the_accuracy_is_the_share_of_right_classes(self):
        # With the same logits for every class, the first class is chosen.
        zeros = 'model.layer.logits.dense.kernel_initializer={ zeros {} }'
        evaluation = self.result(self.succeed(*self.iris('evaluate', 'untrained', '--allow_untrained',
                                                       '--set', zeros)))
        with open(self.path('iris', 'iris_test.csv')) as file:
            labels = [line.rsplit(',', 1)[1].strip() for line in file.readlines()[1:]]
        self.assertAlmostEqual(evaluation['accuracy'], labels.count('0') / len(labels), delta=1e-7)
        self.assertAlmostEqual(evaluation['loss'], math.log(3), delta=1e-6)

    def test_a_confusion_matrix_is_in_every_output_and_once_a_checkpoint(self):
        matrix = ('--set', 'model.eval_metric+={ name: "confusion" confusion_matrix '
                           '{ labels: "Species" predictions: "logits" } }')
        self.succeed(*self.iris('train', 'trained', '--max_steps=20'))
        results = []
        for batch in (32, 8, 1000):
            done = self.succeed(*self.iris('evaluate', 'trained', *matrix,
                                           f'--eval_batch_size={batch}'))
            results.append(self.result(done))
        confusion = results[0]['confusion']
        with open(self.path('iris', 'iris_test.csv')) as file:
            labels = [line.rsplit(',', 1)[1].strip() for line in file.readlines()[1:]]
        self.assertEqual([sum(row) for row in confusion], [labels.count(label) for label in '012'])
        right = sum(confusion[i][i] for i in range(3))
        self.assertAlmostEqual(results[0]['accuracy'], right / len(labels), delta=1e-7)
        self.assertEqual([result['confusion'] for result in results], 3 * [confusion])
        rows = [', '.join(str(number) for number in row) for row in confusion]
        self.assertIn(f'confusion = [[{"], [".join(rows)}]]', done.err)
        self.assertEqual([event[:2] for event in self.scalars('trained/eval', 'confusion')],
                         [(20, confusion)])
        self.succeed('report', 'trained', '--output=report.html')
        with open(self.path('report.html')) as file:
            self.assertIn('| 0 | ' + ' | '.join(str(number) for number in confusion[0]) + ' |',
                          file.read())


if __name__ == '__main__':
    unittest.main()
