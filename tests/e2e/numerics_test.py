"""check --numerics: what the precision of products does to a training."""
import json
import math
import os
import random
import re
import signal
import struct
import unittest

from program import IRIS, ProgramTest, read, tree, write

LINEAR_MODEL = """
name: "linear"
feature { name: "x" dtype: FLOAT32 shape: 3 }
label { name: "y" dtype: FLOAT32 shape: 1 }
layer { name: "line" input: "x" dense { units: 1 kernel_initializer { ones {} } } }
loss { name: "square" weight: WEIGHT mean_squared_error { labels: "y" predictions: "line" } }
optimizer { gradient_descent {} learning_rate { constant: RATE } cross_shard { reduction: MEAN } }
"""
LINEAR_RUN = """
model_file: "model.textproto"
model_dir: "model"
train_batch_size: 16
train {
  max_steps: 10
  input {
    source { from_tensor_slices {
      feature { name: "x" float { value: [X] shape: 3 } }
      feature { name: "y" float { value: [Y] shape: 1 } } } }
    transform { batch { drop_remainder: true } }
  }
}
"""


def f32(number):
    return struct.unpack('<f', struct.pack('<f', number))[0]


def bf16(number):
    """Rounded to the nearest bf16, ties to even; for finite numbers."""
    bits = struct.unpack('<I', struct.pack('<f', number))[0]
    bits += 0x7fff + ((bits >> 16) & 1)
    return struct.unpack('<f', struct.pack('<I', bits & 0xffff0000))[0]


def norm(values):
    return math.sqrt(sum(value * value for value in values))


class Report:
    """The objects that check --numerics --format=json prints."""

    def __init__(self, out):
        rows = [json.loads(line) for line in out.splitlines()]
        of_kind = lambda kind: [row for row in rows if row['kind'] == kind]
        self.trainings = {row['precision']: row for row in of_kind('training')}
        self.losses = of_kind('loss')
        self.variables = {row['name']: row for row in of_kind('variable')}
        self.gradients = {(row['variable'], row['step']): row for row in of_kind('gradient')}
        self.keep = of_kind('keep_in_f32')
        (self.verdict,) = of_kind('verdict')

    def column(self, precision):
        return [row[precision] for row in self.losses]


class NumericsTest(ProgramTest):

    def check_numerics(self, config, *flags, **options):
        call = self.succeed('check', '--numerics', f'--config={config}', '--format=json', *flags,
                            **options)
        return Report(call.out)

    def iris_losses(self, name, *flags):
        """The loss of each step of a training, as it logs them."""
        call = self.succeed(*self.iris('train', name, '--steps=20', '--log_step_count_steps=1',
                                       '--set', 'tpu_config.iterations_per_loop=1', *flags))
        return [float(loss) for loss in re.findall(r'^loss = (\S+), step', call.err, re.MULTILINE)]

    def write_linear(self, rows, weight=1, rate=0.01):
        """Writes a model and its configuration; rows are [(three of x, y)]."""
        xs = ', '.join(repr(x) for row, _ in rows for x in row)
        ys = ', '.join(repr(y) for _, y in rows)
        write(self.path('model.textproto'),
              LINEAR_MODEL.replace('WEIGHT', repr(weight)).replace('RATE', repr(rate)))
        write(self.path('run.textproto'), LINEAR_RUN.replace('X]', xs + ']').replace('Y]', ys + ']'))
        return 'run.textproto'

    @staticmethod
    def random_rows():
        generator = random.Random(7)
        return [([f32(generator.uniform(-2, 2)) for _ in range(3)], f32(generator.uniform(-3, 3)))
                for _ in range(16)]

    def test_columns_are_trainings(self):
        """Also the steps whose gradients are kept: 1, 10 and 20."""
        report = self.check_numerics('iris/run.textproto', '--steps=20')
        for precision in ('DEFAULT', 'HIGH', 'HIGHEST', 'F32'):
            trained = self.iris_losses(precision, '--set', f'model.matmul_precision={precision}')
            self.assertEqual(len(trained), 20)
            self.assertEqual([f32(loss) for loss in report.column(precision)],
                             [f32(loss) for loss in trained], precision)
        trained = self.iris_losses('other', '--set', 'model.matmul_precision=F32',
                                   '--tf_random_seed=2')
        self.assertEqual([f32(loss) for loss in report.column('seed_2')],
                         [f32(loss) for loss in trained])

    def test_the_own_precision_of_the_model_does_not_matter(self):
        config = 'iris/run.textproto'
        outs = {self.succeed('check', '--numerics', f'--config={config}', '--steps=5', *flags).out
                for flags in ((), ('--set', 'model.matmul_precision=HIGH'),
                              ('--worker_threads=1',), ('--worker_threads=3',))}
        self.assertEqual(len(outs), 1, outs)

    def test_means_and_differences(self):
        report = self.check_numerics('iris/run.textproto', '--steps=25')
        f32_losses = report.column('F32')
        for precision, row in report.trainings.items():
            losses = report.column(precision)
            mean = sum(losses[-3:]) / 3
            self.assertAlmostEqual(row['mean_of_last_tenth'], mean, delta=1e-12)
            reference = sum(f32_losses[-3:]) / 3
            self.assertAlmostEqual(row['from_reference'], abs(mean - reference) / reference,
                                   delta=1e-12)
            greatest = max(abs(x - y) / y for x, y in zip(losses, f32_losses))
            self.assertAlmostEqual(row['greatest_difference'], greatest, delta=1e-12)
        self.assertEqual([report.trainings[name]['passes'] for name in
                          ('DEFAULT', 'HIGH', 'HIGHEST', 'F32')], [1, 3, 6, None])
        apart = {name: row['from_reference'] for name, row in report.trainings.items()}
        self.assertEqual(report.verdict['follows'],
                         apart['DEFAULT'] <= max(0.01, apart['seed_2'], apart['HIGHEST']))

    def test_gradients_of_a_linear_model(self):
        """Against the same formulas here: g = sum 2 (x w - y) x / 16."""
        rows = self.random_rows()
        slopes = [2 * (sum(x) - y) / 16 for x, y in rows]
        exact = [sum(slope * x[i] for slope, (x, _) in zip(slopes, rows)) for i in range(3)]
        # The kernel is 1: an update of a magnitude below 2^-9 is lost, here the smallest of the three.
        smallest, middle, _ = sorted(map(abs, exact))
        rate = 2 ** -9 / math.sqrt(smallest * middle)
        report = self.check_numerics(self.write_linear(rows, rate=rate), '--steps=1')
        rounded_slopes = [2 * (sum(map(bf16, x)) - y) / 16 for x, y in rows]
        # DEFAULT rounds both operands of the kernel's gradient; a bias is a sum in f32.
        rounded = [sum(bf16(slope) * bf16(x[i]) for slope, (x, _) in zip(rounded_slopes, rows))
                   for i in range(3)]
        kernel = report.variables['line/kernel']
        self.assertAlmostEqual(kernel['gradient_norm'] / norm(exact), 1, delta=1e-6)
        difference = norm([x - y for x, y in zip(rounded, exact)]) / norm(exact)
        self.assertGreater(difference, 1e-4)
        self.assertAlmostEqual(kernel['DEFAULT'] / difference, 1, delta=1e-2)
        bias = report.variables['line/bias']
        difference = abs(sum(rounded_slopes) - sum(slopes)) / abs(sum(slopes))
        self.assertAlmostEqual(bias['DEFAULT'] / difference, 1, delta=1e-2)
        self.assertLess(kernel['HIGH'], kernel['DEFAULT'] / 50)
        self.assertLess(kernel['HIGHEST'], 1e-6)
        numbers = report.gradients['line/kernel', 1]
        self.assertEqual((numbers['elements'], numbers['zeros'], numbers['flushed']), (3, 0, 0))
        exponents = [math.floor(math.log2(abs(g))) for g in exact]
        self.assertEqual((numbers['smallest_exponent'], numbers['largest_exponent']),
                         (min(exponents), max(exponents)))
        self.assertEqual((numbers['updated'], numbers['update_lost']), (3, 1))
        self.assertEqual(report.keep, [])

    def test_underflow_is_found(self):
        """Gradients of about 1e-41: all are 0, and the magnitude of none is known."""
        rows = [([x / 32 for x in row], y / 32) for row, y in self.random_rows()]
        report = self.check_numerics(self.write_linear(rows, weight=2e-38, rate=1), '--steps=3')
        for step in (1, 2, 3):
            numbers = report.gradients['line/kernel', step]
            self.assertEqual((numbers['zeros'], numbers['flushed']), (3, 3))
            self.assertIsNone(numbers['largest_exponent'])
        found = {(row['variable'], row['layer'], row['reason']) for row in report.keep}
        self.assertIn(('line/kernel', 'line', 'underflow'), found)

    def test_weight_that_is_zero_itself(self):
        """1e-38 is below 2^-126: the device reads it as 0."""
        report = self.check_numerics(self.write_linear(self.random_rows(), weight=1e-38),
                                     '--steps=3')
        self.assertEqual({(row['variable'], row['reason']) for row in report.keep},
                         {('line/kernel', 'zero'), ('line/bias', 'zero')})

    def test_zeros_of_the_model_are_no_underflow(self):
        rows = [([x[0], 0.0, x[2]], y) for x, y in self.random_rows()]
        report = self.check_numerics(self.write_linear(rows), '--steps=2')
        numbers = report.gradients['line/kernel', 2]
        self.assertEqual((numbers['zeros'], numbers['flushed']), (1, 0))
        self.assertEqual(report.keep, [])

    def write_fine_differences(self):
        """Features that bf16 rounds to 256 and 258, of which only the differences count."""
        generator = random.Random(3)
        rows = []
        for _ in range(16):
            x = 256 + generator.randrange(8) / 4
            rows.append(([x, -256.0, 0.0], x - 256 + generator.randrange(2) / 4))
        return self.write_linear(rows, rate=2e-6)

    def test_difference_is_a_warning(self):
        config = self.write_fine_differences()
        report = self.check_numerics(config, '--steps=10')
        self.assertFalse(report.verdict['follows'])
        self.assertGreater(report.trainings['DEFAULT']['from_reference'], 1)
        self.assertIn({'kind': 'keep_in_f32', 'variable': 'line/kernel', 'layer': 'line',
                       'reason': 'products', 'share': report.variables['line/kernel']['DEFAULT'],
                       'write': 'model: matmul_precision: HIGH'}, report.keep)
        call = self.call('check', '--numerics', f'--config={config}', '--steps=10', '--strict')
        self.assertEqual(call.code, 5, str(call))
        self.assertIn('DEFAULT differs from F32', call.out)
        self.assertEqual(len(call.warnings), 1, str(call))
        high = self.check_numerics(config, '--steps=10').trainings['HIGH']
        self.assertLess(high['from_reference'], 0.01)

    def test_nan_ends_only_its_column(self):
        """A feature that bf16 rounds up to 2^128, which is infinite."""
        huge = f32(2.0 ** 128 * (1 - 2 ** -10))
        rows = [([huge if i == 0 else 0.0, 0.0, 0.0], huge) for i in range(16)]
        config = self.write_linear(rows, weight=1e-30, rate=0)
        call = self.succeed('check', '--numerics', f'--config={config}', '--steps=2',
                            '--format=json')
        report = Report(call.out)
        self.assertEqual(report.column('DEFAULT'), ['NaN', 'NaN'])
        self.assertEqual(report.trainings['DEFAULT']['not_finite'], 'loss at step 1')

    def test_storage_in_bf16(self):
        report = self.check_numerics('iris/run.textproto', '--steps=20', '--set',
                                     'model.compute_dtype=BFLOAT16')
        self.assertEqual(report.verdict['reference'], 'ALL_F32')
        plain = self.check_numerics('iris/run.textproto', '--steps=20')
        self.assertEqual(report.column('ALL_F32'), plain.column('F32'))
        self.assertNotEqual(report.column('F32'), plain.column('F32'))
        trained = self.iris_losses('bf16', '--set', 'model.compute_dtype=BFLOAT16')
        self.assertEqual([f32(loss) for loss in report.column('DEFAULT')],
                         [f32(loss) for loss in trained])
        for variable in report.variables.values():
            self.assertGreater(variable['F32'], 0)

    def test_layer_whose_storage_differs(self):
        """The layer that rounds, not the one whose gradient shows it."""
        config = self.write_fine_differences()
        model = read(self.path('model.textproto')).decode()
        copies = ('layer { name: "copy" input: "x" concat {} }\n'
                  'layer { name: "again" concat {} dtype: FLOAT32 }\n')
        model = model.replace('layer { name: "line" input: "x"', copies + 'layer { name: "line"')
        write(self.path('model.textproto'), 'compute_dtype: BFLOAT16\n' + model)
        report = self.check_numerics(config, '--steps=2')
        self.assertGreater(report.variables['line/kernel']['F32'], 0.1)
        (found,) = [row for row in report.keep if row['reason'] == 'storage']
        self.assertEqual((found['variable'], found['layer'], found['write']),
                         ('line/kernel', 'copy', 'layer "copy": dtype: FLOAT32'))

    def test_nothing_is_written(self):
        before = tree(self.dir)
        self.check_numerics('iris/run.textproto', '--steps=3', '--model_dir=model')
        self.assertEqual(tree(self.dir), before)

    def test_end_of_the_input(self):
        """Shorter trainings, unless the steps are asked for."""
        config = self.write_linear(self.random_rows())
        text = read(self.path(config)).decode()
        write(self.path(config),
              text.replace('transform { batch', 'transform { repeat { count: 4 } } transform { batch'))
        report = self.check_numerics(config)
        self.assertEqual(report.verdict['steps'], 4)
        self.assertEqual(len(report.losses), 4)
        self.assertEqual({step for _, step in report.gradients}, {1, 2, 4})
        call = self.call('check', '--numerics', f'--config={config}', '--steps=5')
        self.assertEqual((call.code, call.out), (65, ''), str(call))
        self.assertIn('the training input ended after 4 steps of 5', call.messages[0])

    def test_mistakes(self):
        config = '--config=iris/run.textproto'
        for code, message, flags in (
                (2, '--steps: got 0', ['--steps=0']),
                (2, '--format: got "html"', ['--format=html']),
                (2, '--accelerator_type is not for --numerics', ['--accelerator_type=v3-8']),
                (2, 'use_tpu: got false', ['--use_tpu=false']),
                (66, 'absent.csv',
                 ['--set', 'train.input.source.text_line.file="absent.csv"'])):
            call = self.call('check', '--numerics', config, *flags)
            self.assertEqual((call.code, call.out), (code, ''), str(call))
            self.assertIn(message, '\n'.join(call.messages))

    def test_pipe(self):
        text = read(os.path.join(IRIS, 'iris_training.csv'))
        call = self.call('check', '--numerics', '--config=iris/run.textproto', '--set',
                         'train.input.source.text_line.file="-"', given=text)
        self.assertEqual((call.code, call.out), (2, ''), str(call))
        self.assertIn('train.input: got a pipe', '\n'.join(call.messages))

    def test_interrupt(self):
        with open(self.path('log'), 'wb') as log:
            process = self.start('check', '--numerics', '--config=iris/run.textproto',
                                 '--steps=1000000', stderr=log)
        self.wait_until(lambda: b'Training' in read(self.path('log')), process)
        process.send_signal(signal.SIGINT)
        call = self.finish(process)
        self.assertEqual((call.code, call.out), (130, ''), str(call))

    def test_tables_fit_a_terminal(self):
        text = self.succeed('check', '--numerics', '--config=iris/run.textproto', '--steps=20').out
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        for word in ('DEFAULT', 'HIGHEST', 'hidden_1/kernel', 'another seed'):
            self.assertIn(word, text)


if __name__ == '__main__':
    unittest.main()
