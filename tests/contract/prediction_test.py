"""Prediction: as many rows as the input has, in its order, however the cores share them."""
import unittest

from line import LineTest, x_of
from program import write


class PredictionTest(LineTest):

    def setUp(self):
        super().setUp()
        self.train('--steps=1')

    def rows(self, count, batch, form='PER_HOST_V1', *flags):
        """[x of the input] for each prediction: an input of `count` rows that all differ."""
        write(self.path('rows.csv'), ''.join(f'{row},0\n' for row in range(count)))
        return self.predict(f'--predict_batch_size={batch}', '--set', 'model.prediction+={ name: "x" }',
                            '--set', f'tpu_config.per_host_input_for_training={form}', *flags, key='x')

    def test_128_one_batch(self):
        self.assertEqual(self.rows(16, 16), list(range(16)))

    def test_129_one_batch_core_by_core(self):
        self.assertEqual(self.rows(16, 16, 'PER_HOST_V2'), list(range(16)))

    def test_130_a_batch_and_a_half_core_by_core(self):
        """24 rows in batches of 16 on 2 cores are 96 in batches of 64 on 8."""
        self.assertEqual(self.rows(96, 64, 'PER_HOST_V2'), list(range(96)))

    def test_132_a_batch_for_every_core(self):
        self.assertEqual(self.rows(16, 16, 'BROADCAST'), list(range(16)))
        self.assertEqual(self.rows(20, 7, 'BROADCAST'), list(range(20)))

    def test_133_tpu_and_cpu_predict_the_same(self):
        """Within 0.01, of one checkpoint; but not the same bits, where bf16 rounds."""
        self.write_rows(96, lambda row: x_of(row) / 3)
        self.train('--steps=40', '--model_dir=third')
        on_tpu, on_cpu = (self.predict('--model_dir=third', f'--use_tpu={tpu}')
                          for tpu in ('true', 'false'))
        self.assertEqual(len(on_tpu), 96)
        self.assertNotEqual(on_tpu, on_cpu)
        for got, want in zip(on_tpu, on_cpu):
            self.assertAlmostEqual(got, want, delta=0.01)


class PaddingTest(LineTest):
    """How an input that its batches do not divide ends: upstream's 2 shards are 8 cores."""

    def expect(self, rows, batch, steps, *flags, form='PER_HOST_V1'):
        """The rows, counted from 1, come out once each; in the last of the steps, zeros of weight 0 follow
        them."""
        write(self.path('rows.csv'), ''.join(f'{row + 1},0\n' for row in range(rows)))
        flags = ('--allow_untrained', f'--predict_batch_size={batch}', '--set',
                 'model.prediction+={ name: "x" }', '--set',
                 f'tpu_config.per_host_input_for_training={form}', *flags)
        self.assertEqual(self.predict(*flags, key='x'), [row + 1 for row in range(rows)])
        fed = self.fed('predict', *flags)
        self.assertEqual(len(fed), steps)
        x, weights = [], []
        for step in fed:
            self.assertEqual(sum(core['rows'] for core in step), batch)
            for core in step:
                self.assertEqual(len(core['x']), core['rows'])
                x += [value for [value] in core['x']]
                weights += core['row_weight']
        padding = steps * batch - rows
        self.assertEqual(x, [row + 1 for row in range(rows)] + [0] * padding)
        self.assertEqual(weights, [1] * rows + [0] * padding)

    def test_134_it_ends_behind_the_last_batch(self):
        """TPUEstimator adds a batch to stop with, which no caller sees; here there is none."""
        for batches in (1, 2, 3):
            self.expect(8 * batches, 8, batches)
        self.expect(4, 2, 2, '--use_tpu=false')
        write(self.path('rows.csv'), '')
        self.assertEqual(self.predict('--allow_untrained'), [])

    def test_135_nothing_is_padding_where_batches_divide_the_rows(self):
        self.expect(16, 8, 2)
        self.expect(64, 32, 2)
        self.expect(4, 2, 2, '--use_tpu=false')

    def test_136_a_last_batch_of_half_the_rows(self):
        """5 rows in batches of 2 on 2 cores are 20 in batches of 8 on 8."""
        self.expect(20, 8, 3)
        self.expect(5, 2, 3, '--use_tpu=false')
        self.expect(23, 16, 2)  # a core of one row and padding

    def test_137_a_last_batch_of_one_row(self):
        self.expect(17, 8, 3)
        self.expect(33, 16, 3)

    def test_138_a_last_step_in_which_cores_have_no_batch(self):
        """Core by core, each a batch of 2: 3 batches of 2 cores are 11 of 8."""
        self.expect(22, 16, 2, form='PER_HOST_V2')
        self.expect(2, 16, 1, form='PER_HOST_V2')


if __name__ == '__main__':
    unittest.main()
