"""Checkpoints of the examples: TensorFlow reads each tensor and predicts the same from them."""
import glob
import os
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import iris_model
import mnist_model
import examples
import written


class IrisTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.model_dir = directory.name
        cls.result = examples.IRIS.train(cls.model_dir)
        cls.prefix = os.path.join(cls.model_dir, 'model.ckpt-1000')

    def test_checkpoints_are_0_and_1000(self):
        state = tf.train.get_checkpoint_state(self.model_dir)
        kept = [os.path.join(self.model_dir, f'model.ckpt-{step}') for step in (0, 1000)]
        self.assertEqual(list(state.all_model_checkpoint_paths), kept)
        self.assertEqual(state.model_checkpoint_path, self.prefix)
        self.assertEqual(tf.train.latest_checkpoint(self.model_dir), self.prefix)
        self.assertEqual(sorted(glob.glob(os.path.join(self.model_dir, 'model.ckpt-*'))),
                         sorted(f'{prefix}.{part}' for prefix in kept
                                for part in ('data-00000-of-00001', 'index')))
        self.assertEqual(self.result['checkpoint'], self.prefix)

    def test_tensors_have_the_names_types_and_shapes_of_tensorflows_graph(self):
        got = {name: value for name, value in written.read_checkpoint(self.prefix).items()
               if not name.startswith('tpurun/')}
        want = iris_model.Iris(iris_model.example_optimizer).values()
        self.assertEqual(sorted(got), sorted(want))
        for name, value in want.items():
            self.assertEqual((name, got[name].dtype, got[name].shape),
                             (name, value.dtype, value.shape))
        self.assertEqual(got['global_step'].dtype, np.int64)
        self.assertEqual(got['global_step'], 1000)

    def test_inspect_lists_what_tensorflow_reads(self):
        tensors = written.read_checkpoint(self.prefix)
        listed = {row['name']: row for row in
                  examples.run('inspect', self.prefix, '--format=json')}
        self.assertEqual(sorted(listed), sorted(tensors))
        self.assertIn('tpurun/input_position', tensors)
        for name, value in tensors.items():
            row = listed[name]
            self.assertEqual(row['shape'], list(np.shape(value)), name)
            if isinstance(value, bytes) or value.dtype == object:  # of strings
                self.assertEqual(row['dtype'], 'string', name)
            else:
                self.assertEqual((row['dtype'], row['bytes']), (value.dtype.name, value.nbytes),
                                 name)
        self.assertEqual(listed['global_step']['value'], tensors['global_step'])

    def test_values_of_step_0_are_those_the_initializers_give(self):
        tensors = written.read_checkpoint(os.path.join(self.model_dir, 'model.ckpt-0'))
        self.assertEqual(tensors['global_step'], 0)
        for layer, (inputs, units) in iris_model.LAYERS.items():
            kernel, bias = tensors[f'{layer}/kernel'], tensors[f'{layer}/bias']
            limit = np.sqrt(6 / (inputs + units))
            self.assertLess(np.abs(kernel).max(), limit)
            self.assertGreater(np.abs(kernel).max(), limit / 2)
            self.assertEqual(np.unique(kernel).size, kernel.size)
            self.assertFalse(bias.any())
        for name in iris_model.VARIABLES:
            self.assertEqual(set(tensors[f'{name}/Adagrad'].flat), {np.float32(0.1)})

    def test_bundle_holds_the_values_in_the_order_of_their_names(self):
        """An independent look at the data file: tensors one after the other, without gaps."""
        with open(f'{self.prefix}.data-00000-of-00001', 'rb') as file:
            data = file.read()
        position = 0
        for name, value in sorted(written.read_checkpoint(self.prefix).items()):
            if name.startswith('tpurun/'):  # the last ones
                continue
            stored = np.frombuffer(data, value.dtype, value.size, position).reshape(value.shape)
            np.testing.assert_array_equal(stored, value, name)
            position += value.nbytes

    def test_tensorflow_predicts_the_same_from_our_checkpoint(self):
        model = iris_model.Iris(iris_model.example_optimizer, seed=2)
        model.restore(self.prefix)
        features, species = iris_model.read_rows(examples.TEST_CSV)
        want = model.predict(features)
        # Relative to the largest logit: float32 sums in another order, and three roundings to
        # bfloat16 with its 8 bits.
        for use_tpu, tolerance in (('false', 1e-5), ('true', 3 * 2**-8)):
            rows = examples.IRIS.predict(self.model_dir, examples.csv_rows(examples.TEST_CSV),
                                        f'--use_tpu={use_tpu}', '--keys=class_ids,logits')
            logits = np.float32([row['logits'] for row in rows])
            error = np.abs(logits - want).max() / np.abs(want).max()
            print(f'use_tpu={use_tpu}: logits differ by up to {error:.1e} of the largest')
            self.assertLess(error, tolerance)
            self.assertEqual([row['class_ids'] for row in rows],
                             [[class_id] for class_id in want.argmax(axis=1)])
        accuracy = np.mean(want.argmax(axis=1) == species)
        self.assertAlmostEqual(examples.IRIS.evaluate(self.model_dir)['accuracy'], accuracy, 6)


class MnistTest(unittest.TestCase):

    def test_tensorflow_gives_every_test_image_the_same_class(self):
        with tempfile.TemporaryDirectory() as directory:
            example = examples.convert_mnist(directory)
            model_dir = os.path.join(directory, 'model')
            checkpoint = example.train(model_dir, '--epochs=2.57')['checkpoint']
            self.assertTrue(checkpoint.endswith('model.ckpt-200'), checkpoint)
            model = mnist_model.Mnist(mnist_model.example_optimizer, seed=2)
            model.restore(checkpoint)
            images, labels = mnist_model.read_rows(*examples.MNIST_IDX)
            want = np.concatenate([model.predict(part).argmax(axis=1)
                                   for part in np.split(images, 10)])
            rows = example.predict(
                model_dir, f'tfrecord {{ file: "{directory}/test.tfrecord" }}', '--use_tpu=false',
                '--keys=class_ids', '--predict_batch_size=1000')
            got = np.array([row['class_ids'] for row in rows])
            self.assertEqual(got.shape, (10000, 1))
            self.assertEqual(np.flatnonzero(got[:, 0] != want).tolist(), [])
            accuracy = np.mean(want == labels)
            print(f'10,000 images in the same classes, {accuracy:.2%} of them right')
            self.assertGreater(accuracy, 0.9)
            evaluation = example.evaluate(model_dir, '--use_tpu=false')
            self.assertEqual(evaluation['examples'], 10000)
            self.assertAlmostEqual(evaluation['accuracy'], accuracy, 6)


if __name__ == '__main__':
    unittest.main()
