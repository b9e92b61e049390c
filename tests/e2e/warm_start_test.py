"""A warm start takes every variable of the model, whether it is trained on or not."""
import re

from program import ProgramTest

ALL = ('hidden_1/bias', 'hidden_1/kernel', 'hidden_2/bias', 'hidden_2/kernel', 'logits/bias',
       'logits/kernel')


class WarmStartTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.succeed(*self.iris('train', 'old', '--max_steps=200'))

    def warm_start(self, settings='', *flags):
        """What the log says was taken, and was not."""
        done = self.succeed(*self.iris(
            'train', 'new', '--max_steps=1', '--set',
            f'warm_start_from={{ ckpt_to_initialize_from: "old" {settings} }}', *flags))
        taken = re.search(r'Warm-started from (\S+): (.*)\.\n', done.err)
        self.assertEqual(taken.group(1), self.path('old', 'model.ckpt-200'))
        left = re.search(r'Not warm-started but initialized: (.*)\.\n', done.err)
        return [sorted(found.split(', ')) if found else []
                for found in (taken.group(2), left and left.group(1))]

    def loss(self, model_dir, step):
        done = self.succeed(*self.iris('evaluate', model_dir,
                                       f'--checkpoint={model_dir}/model.ckpt-{step}'))
        return self.result(done)['loss']

    def expect_all(self, *flags, settings=''):
        self.assertEqual(self.warm_start(settings, *flags), [list(ALL), []])
        self.assertEqual(self.loss('new', 0), self.loss('old', 200))

    def test_trained_layers(self):
        self.expect_all()

    def test_frozen_variables(self):
        self.expect_all('--set', 'model.frozen=["^hidden_1/", "^hidden_2/"]')

    def test_layers_that_are_not_trainable(self):
        self.expect_all('--set', 'model.layer.hidden_1.trainable=false', '--set',
                        'model.layer.hidden_2.trainable=false')

    def test_the_pattern_for_all(self):
        self.expect_all('--set', 'model.frozen=hidden', settings='vars_to_warm_start: ".*"')

    def test_some_by_pattern(self):
        taken, left = self.warm_start('vars_to_warm_start: "en_[12]/k"')
        self.assertEqual(taken, ['hidden_1/kernel', 'hidden_2/kernel'])
        self.assertEqual(left, [name for name in ALL if name not in taken])
        self.assertNotEqual(self.loss('new', 0), self.loss('old', 200))
