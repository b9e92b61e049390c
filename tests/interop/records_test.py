"""TensorFlow reads the TFRecord files of `convert`, byte for byte what it would write, and tpurun
reads those that TensorFlow wrote.
"""
import gzip
import os
import struct
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import examples

DIGITS = os.path.abspath('testdata/digits')
COMPRESSIONS = ('', 'GZIP', 'ZLIB')


def example(image, label):
    feature = {
        'label': tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        'image_raw': tf.train.Feature(bytes_list=tf.train.BytesList(value=[image])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


class RecordsTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def test_tensorflow_reads_what_convert_writes(self):
        random = np.random.default_rng(1)
        images = random.integers(0, 256, (100, 28, 28), dtype=np.uint8)
        labels = random.integers(0, 256, 100, dtype=np.uint8)
        with gzip.open(self.path('images.gz'), 'wb') as file:
            file.write(struct.pack('>4B3I', 0, 0, 8, 3, *images.shape) + images.tobytes())
        with open(self.path('labels'), 'wb') as file:
            file.write(struct.pack('>4BI', 0, 0, 8, 1, len(labels)) + labels.tobytes())
        want = [example(image.tobytes(), int(label)).SerializeToString(deterministic=True)
                for image, label in zip(images, labels)]
        for compression in COMPRESSIONS:
            for shards in (1, 3):
                [done] = examples.run('convert', 'idx', self.path('images.gz'), self.path('labels'),
                                     f'--output={self.path(f"out{compression}{shards}")}',
                                     f'--compression={compression or "NONE"}', f'--shards={shards}')
                self.assertEqual(done['records'], 100)
                files = tf.data.Dataset.from_tensor_slices(done['files'])
                records = files.interleave(
                    lambda file: tf.data.TFRecordDataset(file, compression_type=compression),
                    cycle_length=shards)
                self.assertEqual(list(records.as_numpy_iterator()), want)

    def test_tpurun_reads_what_tensorflow_writes(self):
        model_dir = self.path('model')
        config = f'--config={DIGITS}/run.textproto'
        examples.run('train', config, f'--model_dir={model_dir}', '--max_steps=20')
        [want] = examples.run('evaluate', config, f'--model_dir={model_dir}')
        records = [tf.train.Example.FromString(record) for record in tf.data.TFRecordDataset(
            f'{DIGITS}/test.tfrecord.gz', compression_type='GZIP').as_numpy_iterator()]
        self.assertEqual(len(records), 299)
        for compression in COMPRESSIONS:
            path = self.path('tensorflow' + compression)
            with tf.io.TFRecordWriter(path, compression) as writer:
                for record in records:
                    writer.write(record.SerializeToString())
            source = f'file: "{path}" compression: {compression or "NONE"}'
            [got] = examples.run(
                'evaluate', config, f'--model_dir={model_dir}', '--set',
                f'evaluate.0.input.source.tfrecord={{ {source} }}')
            self.assertEqual(got, want)

    def test_parallel_reads_have_the_order_of_tf_data(self):
        model_dir = self.path('model')
        config = f'--config={DIGITS}/run.textproto'
        examples.run('train', config, f'--model_dir={model_dir}', '--max_steps=1')

        def predictions(source):
            return examples.run('predict', config, f'--model_dir={model_dir}',
                               '--unset', 'predict.input.transform.1',  # only the first ten
                               '--set', f'predict.input.source.tfrecord={{ {source} }}')

        records = tf.data.TFRecordDataset(f'{DIGITS}/test.tfrecord.gz', compression_type='GZIP')
        records = list(records.as_numpy_iterator())
        files = [self.path(f'part{index}') for index in range(6)]
        for file, length in zip(files, (1, 30, 7, 1, 19, 2)):
            with tf.io.TFRecordWriter(file) as writer:
                for _ in range(length):
                    writer.write(records.pop())
        names = ' '.join(f'file: "{file}"' for file in files)
        for parallel in (1, 2, 3, 5, 9):
            want = tf.data.TFRecordDataset(files, num_parallel_reads=parallel)
            in_order = self.path(f'in_order{parallel}')
            with tf.io.TFRecordWriter(in_order) as writer:
                for record in want.as_numpy_iterator():
                    writer.write(record)
            got = predictions(f'{names} num_parallel_reads: {parallel}')
            self.assertEqual(len(got), 60)
            self.assertEqual(got, predictions(f'file: "{in_order}"'), parallel)


if __name__ == '__main__':
    unittest.main()
