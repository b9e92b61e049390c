"""TensorBoard's readers on the event files of the example, trained and evaluated."""
import glob
import os
import tempfile
import unittest

import numpy as np
import tensorflow as tf
from tensorflow_estimator.python.estimator import estimator

import examples
import written


def records(directory):
    """The tf.Events of a directory's only event file."""
    [path] = glob.glob(os.path.join(directory, 'events.out.tfevents.*'))
    return list(tf.compat.v1.train.summary_iterator(path))


class EventsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.model_dir = directory.name
        cls.eval_dir = os.path.join(cls.model_dir, 'eval')
        cls.trained = examples.IRIS.train(cls.model_dir)
        cls.evaluated = examples.IRIS.evaluate(cls.model_dir)

    def test_training_writes_loss_after_each_loop_and_rates_after_the_second(self):
        events = written.read_events(self.model_dir)
        self.assertEqual(sorted(events.Tags()['scalars']),
                         ['examples/sec', 'global_step/sec', 'learning_rate', 'loss'])
        losses = written.scalars(events, 'loss')
        self.assertEqual(list(losses), [500, 1000])
        self.assertEqual(np.float32(losses[1000]), np.float32(self.trained['loss']))
        self.assertLess(max(losses.values()), 0.3)  # log(3) when nothing is learned
        steps_per_second = written.scalars(events, 'global_step/sec')
        examples_per_second = written.scalars(events, 'examples/sec')
        self.assertEqual(list(steps_per_second), [1000])
        self.assertEqual(list(examples_per_second), [1000])
        self.assertGreater(steps_per_second[1000], 0)
        np.testing.assert_allclose(examples_per_second[1000], 128 * steps_per_second[1000],
                                   rtol=1e-6)

    def test_evaluation_writes_its_metrics_at_the_checkpoints_step(self):
        events = written.read_events(self.eval_dir)
        for metric in ('accuracy', 'loss'):
            values = written.scalars(events, metric)
            self.assertEqual(list(values), [1000])
            self.assertEqual(np.float32(values[1000]), np.float32(self.evaluated[metric]))

    def test_a_metric_that_is_an_array_is_as_tpu_estimator_writes_it(self):
        matrix = ('model.eval_metric+={ name: "confusion" confusion_matrix '
                  '{ labels: "Species" predictions: "logits" } }')
        array = np.array(examples.IRIS.evaluate(self.model_dir, '--set', matrix, '--set',
                                               'evaluate.0.name="array"')['confusion'], np.float64)
        self.assertEqual(array.sum(), 30)
        ours = [value for event in records(f'{self.model_dir}/eval_array')
                for value in event.summary.value if value.tag == 'confusion']
        self.assertEqual(tf.make_ndarray(ours[0].tensor).tolist(), array.tolist())
        with tempfile.TemporaryDirectory() as folder:
            with tf.Graph().as_default():
                estimator._write_dict_to_summary(folder, {'confusion': array}, 1000)
                theirs = [value for event in records(folder) for value in event.summary.value]
        self.assertEqual(ours, theirs)

    def test_evaluation_names_the_checkpoint(self):
        named = [(event.step, value.tensor.string_val[:])
                 for event in records(self.eval_dir) for value in event.summary.value
                 if value.tag == 'checkpoint_path']
        self.assertEqual(named, [(1000, [self.trained['checkpoint'].encode()])])

    def test_event_files_start_with_the_version_and_log_checkpoints_and_start(self):
        for directory in (self.model_dir, self.eval_dir):
            self.assertEqual(records(directory)[0].file_version, 'brain.Event:2')
        log = tf.compat.v1.SessionLog
        sessions = [(event.step, event.session_log.status, event.session_log.checkpoint_path)
                    for event in records(self.model_dir) if event.HasField('session_log')]
        prefix = os.path.join(self.model_dir, 'model.ckpt')
        self.assertEqual(sessions, [(0, log.CHECKPOINT, prefix), (1, log.START, ''),
                                    (1000, log.CHECKPOINT, prefix)])


if __name__ == '__main__':
    unittest.main()
