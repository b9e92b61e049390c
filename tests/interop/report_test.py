"""Event files of TensorFlow's and TensorBoard's own writers in a report, and TensorBoard's readers
beside it."""
import json
import os
import re
import tempfile
import unittest

import tensorflow as tf
from tensorboard.backend.event_processing import plugin_event_accumulator
from tensorboard.plugins.hparams import api as hparams

import examples


class ReportTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logdir = os.path.join(folder.name, 'logs')
        self.page = os.path.join(folder.name, 'report.html')

    def report(self):
        examples.run('report', self.logdir, f'--output={self.page}')
        with open(self.page, encoding='utf-8') as file:
            found = re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL)
        return json.loads(found.group(1))

    @staticmethod
    def points(curve):
        steps = [sum(curve['steps'][:i + 1]) for i in range(len(curve['steps']))]
        return list(zip(steps, curve['values']))

    def test_a_writer_of_tensorflow_2(self):
        pixels = tf.reshape(tf.range(16, dtype=tf.float32) / 16, [1, 4, 4, 1])
        with tf.summary.create_file_writer(os.path.join(self.logdir, 'train')).as_default():
            for step in range(5):
                tf.summary.scalar('loss', 0.5 ** step, step=step)
            tf.summary.text('note', 'a **note**', step=3)
            tf.summary.text('list', ['one', 'two'], step=3)
            tf.summary.image('picture', pixels, step=4)
            tf.summary.histogram('weights', [0.0, 0.0, 1.0, 4.0], step=4, buckets=4)
            hparams.hparams({'rate': 0.25, 'optimizer': 'adam', 'dropout': True})
        with tf.summary.create_file_writer(os.path.join(self.logdir, 'other')).as_default():
            tf.summary.scalar('loss', 7, step=9)
            hparams.hparams({'rate': 0.5, 'optimizer': 'adam', 'dropout': True})
        data = self.report()
        self.assertEqual(data['notes'], [])
        self.assertEqual([run['name'] for run in data['runs']], ['other', 'train'])
        self.assertEqual([self.points(curve) for curve in data['curves']],
                         [[(9, 7)], [(step, 0.5 ** step) for step in range(5)]])
        self.assertEqual(data['table'], {
            'kinds': ['run', 'step', 'metric', 'hyperparameter'], 'modes': ['', '', 'MIN', ''],
            'columns': ['run', 'step', 'loss', 'rate'],
            'rows': [['other', '9', '7', '0.5'], ['train', '4', '0.0625', '0.25']]})
        self.assertEqual({text['tag']: text['markdown'] for text in data['texts']},
                         {'note': 'a **note**', 'list': 'one\n\ntwo'})
        [image] = data['images']
        self.assertTrue(image['uri'].startswith('data:image/png;base64,'), image)
        self.assertEqual((image['tag'], image['step']), ('picture', 4))
        [histogram] = data['histograms']
        self.assertEqual(histogram['edges'], [0, 1, 2, 3, 4])
        self.assertEqual(histogram['counts'], [2, 1, 0, 1])

    def test_restarts_are_read_as_tensorboard_reads_them(self):
        sessions = [(None, [5]), (0, [1, 10, 20, 30]), (20, [20, 30, 40]), (40, [50]), (15, [60])]
        os.makedirs(self.logdir)
        for number, (start, steps) in enumerate(sessions):
            name = f'{self.logdir}/events.out.tfevents.{1700000000 + number}.host'
            with tf.io.TFRecordWriter(name) as writer:
                events = [tf.compat.v1.Event(wall_time=1, file_version='brain.Event:2')]
                if start is not None:
                    log = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
                    events.append(tf.compat.v1.Event(wall_time=1, step=start, session_log=log))
                for step in steps:
                    value = tf.compat.v1.Summary.Value(tag='loss', simple_value=step + number)
                    summary = tf.compat.v1.Summary(value=[value])
                    events.append(tf.compat.v1.Event(wall_time=1, step=step, summary=summary))
                for event in events:
                    writer.write(event.SerializeToString())
        # What the server reads with.
        accumulator = plugin_event_accumulator.EventAccumulator(self.logdir).Reload()
        expected = sorted((event.step, tf.make_ndarray(event.tensor_proto).item())
                          for event in accumulator.Tensors('loss'))
        [curve] = self.report()['curves']
        self.assertEqual(self.points(curve), expected)


if __name__ == '__main__':
    unittest.main()
