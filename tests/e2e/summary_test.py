"""summary: the model and every mode from the configuration alone; nothing is read but that, and
nothing is written."""
import json
import os
import unittest

from program import ProgramTest, tree, write


class SummaryTest(ProgramTest):

    def summary(self, *flags):
        return self.call('summary', '--config=iris/run.textproto', *flags)

    def test_no_data_and_nothing_written(self):
        for name in ('iris_training.csv', 'iris_test.csv'):
            os.remove(self.path('iris', name))
        before = tree(self.dir)
        done = self.summary(f'--model_dir={self.path("model")}', '--format=json')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(done.err, '')
        self.assertEqual(tree(self.dir), before)
        rows = [json.loads(line) for line in done.out.splitlines()]
        warnings = [row['message'] for row in rows if row['kind'] == 'warning']
        self.assertEqual(len(warnings), 2, warnings)
        self.assertIn('iris/run.textproto:30:5: train.input: ', warnings[0])
        self.assertIn('iris_training.csv', warnings[0])
        self.assertIn('iris_test.csv', warnings[1])
        self.assertEqual([row['step'] for row in rows if row['kind'] == 'step'],
                         ['train', 'evaluate', 'predict'])
        self.assertEqual(rows[-1]['kind'], 'model')
        self.assertEqual(rows[-1]['parameters'], 193)

    def test_what_a_verb_would_refuse(self):
        """Each of the three modes has its own mistake, and there is still the table."""
        done = self.summary('--set', 'predict.keys=["class"]',
                            '--set', 'evaluate.0.input.transform+={ repeat {} }',
                            '--set', 'train.input.transform.batch.batch_size=64')
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('Total parameters: 193 (772 B)\n', done.out)
        for verb, want in (('train', 'be that of the verb: want 128, got 64'),
                           ('evaluate', 'this input repeats without end'),
                           ('predict', 'the model does not predict "class"')):
            self.assertEqual(sum(want in line for line in done.messages), 1, f'{verb}: {done}')

    def test_a_batch_size_changes_the_steps_alone(self):
        def rows(*flags):
            done = self.summary('--format=json', *flags)
            self.assertEqual(done.code, 0, str(done))
            return [json.loads(line) for line in done.out.splitlines()]

        small, large = rows(), rows('--train_batch_size=1280')
        for one, other in zip(small, large):
            if one['kind'] == 'step' and one['step'] == 'train':
                self.assertEqual((one['batch_size'], other['batch_size']), (128, 1280))
                self.assertGreater(other['flops'], 5 * one['flops'])
            else:
                self.assertEqual(one, other)

    def test_no_model_is_no_table(self):
        write(self.path('empty.textproto'), 'model_dir: "m"')
        done = self.call('summary', '--config=empty.textproto')
        self.assertEqual((done.code, done.out), (2, ''), str(done))
        self.assertEqual(len(done.messages), 1, str(done))
        self.assertIn('there is no model, want model_file: "FILE" or --model=FILE',
                      done.messages[0])


if __name__ == '__main__':
    unittest.main()
