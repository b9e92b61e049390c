"""Digits: TFRecord files through a convolutional net, as the configuration of testdata/digits says."""
from program import ProgramTest


class DigitsTest(ProgramTest):

    def test_every_seed_learns(self):
        for seed in range(1, 6):
            model_dir = f'seed{seed}'
            self.succeed(*self.digits('train', model_dir, f'--tf_random_seed={seed}'))
            evaluated = self.result(self.succeed(*self.digits('evaluate', model_dir)))
            self.assertEqual(evaluated['examples'], 299)
            self.assertGreaterEqual(evaluated['accuracy'], 0.97, f'seed {seed}')

    def test_predictions_come_in_order(self):
        self.succeed(*self.digits('train', 'model', '--max_steps=5'))
        done = self.succeed(*self.digits('predict', 'model', '--keys=class_ids'))
        self.assertEqual(done.out.count('\n'), 10)
