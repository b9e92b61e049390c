"""Heads of one kind have names; logits that are probabilities already are warned of."""
import json
import unittest

from program import ProgramTest

TWO = ('--set', 'model.head.0.name=species', '--set',
       'model.head+={ name: "again" classification { logits: "logits" label: "Species" } }')


class HeadsTest(ProgramTest):

    def test_names_stand_before_predictions_and_metrics(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=20', *TWO))
        result = self.result(self.succeed(*self.iris('evaluate', 'model', *TWO)))
        self.assertIn('species/accuracy', result)
        self.assertEqual(result['species/accuracy'], result['again/accuracy'])
        alone = self.result(self.succeed(*self.iris('evaluate', 'model')))
        self.assertEqual(alone['accuracy'], result['again/accuracy'])
        self.assertAlmostEqual(2 * alone['loss'], result['loss'], places=5)
        rows = self.succeed(*self.iris('predict', 'model', *TWO, '--unset', 'predict.keys')).out
        keys = {'class_ids', 'probabilities', 'logits'}
        self.assertEqual(set(json.loads(rows.splitlines()[0])),
                         {f'{name}/{key}' for name in ('species', 'again') for key in keys})

    def test_a_head_over_a_softmax_warns(self):
        done = self.succeed(*self.iris('train', 'model', '--max_steps=5', '--set',
                                       'model.layer.logits.dense.activation=SOFTMAX'))
        self.assertEqual(len(done.warnings), 1, str(done))
        self.assertRegex(done.warnings[0], r'^iris/model.textproto:\d+:\d+: head 0: "logits" is the '
                         'result of a softmax, and the head takes one itself; want the values before '
                         'it, activation: LINEAR$')

    def test_a_transform_is_taken_out_by_its_kind(self):
        done = self.succeed(*self.iris('config', 'model', '--unset', 'train.input.transform.shuffle'))
        self.assertNotIn('shuffle', done.out)
        self.succeed(*self.iris('train', 'model', '--max_steps=5', '--unset',
                                'train.input.transform.shuffle'))


if __name__ == '__main__':
    unittest.main()
