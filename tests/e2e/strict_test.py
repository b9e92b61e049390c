"""--strict: warnings end a run with exit code 5."""
import os
import unittest

import program

# Warned of by every verb that knows the configuration.
IGNORED = ('--use_tpu=false', '--eval_on_tpu=true')
WARNING = '--eval_on_tpu=true: eval_on_tpu: true is ignored, for use_tpu is false; leave it out'
MESSAGE = 'tpurun: 1 warning, and --strict wants none'


class StrictTest(program.ProgramTest):

    def refuse(self, *arguments):
        """A strict call that ends with one warning; its standard output."""
        done = self.call(*arguments, '--strict')
        self.assertEqual(done.code, 5, str(done))
        self.assertEqual(done.messages, [MESSAGE])
        self.assertEqual(len(done.warnings), 1, str(done))
        return done

    def test_a_run_without_warnings_is_as_any_other(self):
        for verb in ('train', 'evaluate', 'predict', 'export'):
            done = self.succeed(*self.iris(verb, 'model', '--strict', '--max_steps=5')
                                if verb == 'train' else self.iris(verb, 'model', '--strict'))
            self.assertEqual(done.warnings, [])
        self.succeed('summary', '--config=iris/run.textproto', '--strict')
        self.succeed('config', '--config=iris/run.textproto', '--strict')

    def test_what_the_configuration_shows_ends_it_before_it_writes(self):
        before = program.tree(self.dir)
        for verb in ('train', 'evaluate', 'predict', 'export'):
            done = self.refuse(*self.iris(verb, 'model', *IGNORED))
            self.assertEqual(done.warnings, [WARNING])
            self.assertEqual(done.out, '')
        self.assertEqual(program.tree(self.dir), before)
        self.assertEqual(self.succeed(*self.iris('train', 'model', '--max_steps=5',
                                                 *IGNORED)).warnings, [WARNING])

    def test_what_the_model_shows_does_too(self):
        done = self.refuse(*self.iris('train', 'model', '--set',
                                      'model.layer.logits.dense.activation=SOFTMAX'))
        self.assertIn('is the result of a softmax', done.warnings[0])
        self.assertFalse(os.path.exists(self.path('model')))

    def test_config_and_summary_print_and_end_so(self):
        for verb in ('config', 'summary'):
            plain = self.succeed(verb, '--config=iris/run.textproto', *IGNORED)
            done = self.call(verb, '--config=iris/run.textproto', *IGNORED, '--strict')
            self.assertEqual(done.code, 5, str(done))
            self.assertEqual(done.messages, [MESSAGE])
            self.assertEqual(done.out, plain.out)
            self.assertIn(WARNING, done.out if verb == 'summary' else done.err)

    def test_what_the_checkpoint_shows_ends_it_before_it_writes(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=5'))
        drifted = ('--set', 'model.layer.hidden_1.dense.activation=TANH')
        before = program.tree(self.dir)
        for verb in ('train', 'evaluate', 'predict', 'export'):
            done = self.refuse(*self.iris(verb, 'model', *drifted))
            self.assertIn('trained with RELU, now TANH', done.warnings[0])
            self.assertEqual(done.out, '')
        self.assertEqual(program.tree(self.dir), before)

    def test_what_only_the_data_shows_ends_it_with_its_result(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=5'))
        done = self.refuse(*self.iris('evaluate', 'model', '--steps=100'))
        self.assertIn('The input ended before 100 steps', done.warnings[0])
        self.assertEqual(self.result(done)['examples'], 30)

    def test_mistakes_come_first(self):
        done = self.call(*self.iris('train', 'model', *IGNORED, '--train_batch_size=0', '--strict'))
        self.assertEqual(done.code, 2, str(done))
        self.assertEqual(done.warnings, [])

    def test_warnings_that_it_counts_are_shown(self):
        self.refuse(*self.iris('train', 'model', *IGNORED, '--minloglevel=2'))
        self.refuse(*self.iris('train', 'model', *IGNORED, '--quiet'))
        done = self.call(*self.iris('train', 'model', *IGNORED, '--strict', '--log_format=json'))
        self.assertEqual((done.code, done.messages), (5, [MESSAGE]), str(done))


if __name__ == '__main__':
    unittest.main()
