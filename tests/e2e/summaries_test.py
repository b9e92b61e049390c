"""Summaries of a model with convolutions: they change no bit of its training, and an event file that
cannot be written ends a run that leaves nothing."""
import glob
import os
import unittest

from file_size_limit import file_size_limit
from program import DIGITS, ProgramTest, read

MNIST_BN = os.path.abspath('models/zoo/mnist_bn')
SUMMARIES = ['scalar { name: "global_norm" } every_n_steps: 3',
             'scalar { name: "accuracy" } every_n_steps: 4',
             'histogram { name: "logits" } every_n_steps: 5',
             'histogram { name: "weights" tensor: "conv2d/kernel" } every_n_steps: 1',
             'histogram { name: "slope" tensor: "gradients/conv2d/kernel" } every_n_steps: 2',
             'image { name: "image" } every_n_steps: 5']


class SummariesTest(ProgramTest):

    def train(self, model_dir, *flags):
        return ['train', f'--config={DIGITS}/run.textproto',
                f'--model_dir={self.path(model_dir)}', '--max_steps=12', *flags]

    def with_summaries(self):
        return [part for summary in SUMMARIES
                for part in ('--set', 'model.summary+={ ' + summary + ' }')]

    def test_no_bit_of_the_training_changes(self):
        for tpu in ('true', 'false'):
            for workers in (1, 2):
                flags = [f'--use_tpu={tpu}', f'--worker_threads={workers}',
                         '--set', 'tpu_config.iterations_per_loop="5"']
                weights = []
                for name, more in (('plain', []), ('shown', self.with_summaries())):
                    model_dir = f'{name}_{tpu}_{workers}'
                    self.succeed(*self.train(model_dir, *flags, *more))
                    weights.append(read(self.path(model_dir, 'model.ckpt-12.data-00000-of-00001')))
                # What follows the tensors names the input's position and the machine, both the same.
                self.assertEqual(weights[0], weights[1])

    def test_moving_statistics_are_those_of_all_cores(self):
        self.succeed('convert', 'synthetic', 'digits', '--examples=64', '--output=digits.tfrecord')
        tags = ['batch_normalization/moving_mean', 'batch_normalization/moving_variance']
        summaries = [f'model.summary+={{ histogram {{ name: "{tag}" }} every_n_steps: 1 }}'
                     for tag in tags]
        self.succeed('train', f'--config={MNIST_BN}/run.textproto', f'--model_dir={self.path("bn")}',
                     '--unset', 'train.epochs', '--max_steps=3', '--train_batch_size=16',
                     '--set', 'train.input.source.tfrecord.file="digits.tfrecord"',
                     *(part for summary in summaries for part in ('--set', summary)))
        (events,) = glob.glob(self.path('bn', 'events*'))
        lines = [line.split() for line in self.succeed('inspect', events).out.splitlines()]
        shown = {tag: [line[4:] for line in lines if line[3:4] == [tag]] for tag in tags}
        # 16 channels on 8 cores; at first what the variables begin with.
        self.assertEqual([' '.join(values[0]) for values in shown.values()],
                         ['128 values from 0 to 0', '128 values from 1 to 1'])
        for values in shown.values():
            self.assertEqual([line[:3] for line in values], [['128', 'values', 'from']] * len(values))
            self.assertGreater(len({line[5] for line in values}), 1)

    def test_an_event_file_that_cannot_grow(self):
        """Its limit is met in the first loop: model_dir is not made."""
        done = self.call(*self.train('full', '--set', 'model.summary+={ histogram { name: "logits" } '
                                     'every_n_steps: 1 }', '--set', 'save_checkpoints_steps=0',
                                     '--set', 'tpu_config.iterations_per_loop="2000"',
                                     '--max_steps=2000', '--set', 'checkpoint_save_graph_def=false'),
                         **file_size_limit(1 << 17))
        self.assertEqual(done.code, 74, done.err)
        self.assertFalse(os.path.exists(self.path('full')))


if __name__ == '__main__':
    unittest.main()
