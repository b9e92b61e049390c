"""Drawn pictures in the place of real ones: the MNIST example learns digits that nobody wrote."""
import os

from program import ProgramTest

CONFIG = (f'--config={os.path.abspath("testdata/mnist")}/run.textproto', '--model_dir=model')


class SyntheticTest(ProgramTest):

    def test_the_net_of_mnist_learns_drawn_digits(self):
        for name, seed, examples in (('train', 1, 6400), ('test', 2, 1000)):
            done = self.succeed('convert', 'synthetic', 'digits', f'--seed={seed}',
                                f'--examples={examples}', f'--output={name}.tfrecord')
            self.assertEqual(self.result(done)['records'], examples)
        self.succeed('train', *CONFIG, '--max_steps=100', '--tf_random_seed=1', '--set',
                     'train.input.source.tfrecord.file=train.tfrecord')
        done = self.succeed('evaluate', *CONFIG, '--set',
                            'evaluate.0.input.source.tfrecord.file=test.tfrecord')
        # A linear model reaches 0.6.
        self.assertGreater(self.result(done)['accuracy'], 0.9)

    def test_the_output_may_have_the_subject_s_name(self):
        for _ in range(2):
            self.succeed('convert', 'synthetic', 'shapes', '--examples=5', '--output=shapes')
        self.assertIn('image_raw=bytes[1] label=int64[1]', self.succeed('inspect', 'shapes').out)

    def test_standard_input_is_read_once(self):
        record = bytes([7]) + bytes(3072)
        done = self.succeed('convert', 'cifar', '-', '--classes=10', '--output=out',
                            given=3 * record)
        self.assertEqual(self.result(done)['records'], 3)
