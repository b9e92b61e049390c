"""warm_start_from checkpoints of every layout TensorFlow writes: the weights arrive bit for bit."""
import glob
import os
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import iris_model
import program
import written
from classifier import v1

SHAPES = {f'{layer}/{variable}': shape
          for layer, (inputs, units) in iris_model.LAYERS.items()
          for variable, shape in (('kernel', (inputs, units)), ('bias', (units,)))}


def initializer_of(value):
    """Gives a variable `value`, and each part of a partitioned one its slice."""
    def initialize(shape, dtype=None, partition_info=None):
        offsets = partition_info.var_offset if partition_info else [0] * len(shape)
        slices = tuple(slice(start, start + size) for start, size in zip(offsets, shape))
        return tf.constant(value[slices], dtype)
    return initialize


class WarmStartTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.model_dir = os.path.join(directory.name, 'model')
        self.prefix = os.path.join(directory.name, 'theirs', 'weights')
        os.mkdir(os.path.dirname(self.prefix))
        random = np.random.default_rng(1)
        self.values = {name: random.standard_normal(shape).astype(np.float32)
                       for name, shape in SHAPES.items()}

    def save(self, scope='', partitioner=None, devices=('/cpu:0',), **options):
        """Saves self.values as variables below `scope`, dealt to the devices in turn."""
        with tf.Graph().as_default():
            for i, (name, value) in enumerate(self.values.items()):
                with v1.device(devices[i % len(devices)]):
                    v1.get_variable(scope + name, value.shape, partitioner=partitioner,
                                    initializer=initializer_of(value), use_resource=False)
            config = v1.ConfigProto(device_count={'CPU': len(devices)})
            with v1.Session(config=config) as session:
                session.run(v1.global_variables_initializer())
                v1.train.Saver(**options).save(session, self.prefix, write_meta_graph=False)

    def warm_start(self, names=None, variables=(), path=None):
        """The tensors that training starts from; `names` maps ours to theirs."""
        settings = f'ckpt_to_initialize_from: "{path or self.prefix}"'
        for variable in variables:
            settings += f' vars_to_warm_start: "{variable}"'
        for ours, theirs in (names or {}).items():
            settings += f' var_name_to_prev_var_name {{ key: "{ours}" value: "{theirs}" }}'
        program.IRIS.train(self.model_dir, '--set', f'warm_start_from={{ {settings} }}',
                           '--max_steps=1')
        return written.read_checkpoint(os.path.join(self.model_dir, 'model.ckpt-0'))

    def assert_taken_over(self, got, names=tuple(SHAPES)):
        for name in names:
            np.testing.assert_array_equal(got[name], self.values[name], name)
        self.assertEqual(got['global_step'], 0)

    def test_prefix(self):
        self.save()
        self.assert_taken_over(self.warm_start())

    def test_directory_means_its_latest_checkpoint(self):
        self.save()
        self.assert_taken_over(self.warm_start(path=os.path.dirname(self.prefix)))

    def test_name_map(self):
        self.save(scope='tower/net/')
        self.assert_taken_over(self.warm_start({name: f'tower/net/{name}' for name in SHAPES}))

    def test_only_the_variables_asked_for(self):
        self.save()
        got = self.warm_start(variables=['^hidden_'])
        hidden = [name for name in SHAPES if name.startswith('hidden_')]
        self.assert_taken_over(got, hidden)
        self.assertFalse(np.array_equal(got['logits/kernel'], self.values['logits/kernel']))

    def test_partitioned_variables(self):
        self.save(partitioner=v1.fixed_size_partitioner(3))
        with open(f'{self.prefix}.index', 'rb') as index:
            self.assertIn(b'\x00hidden_1/bias\x00\x01', index.read())  # the key of a slice
        self.assert_taken_over(self.warm_start())

    def test_several_data_files(self):
        self.save(devices=('/cpu:0', '/cpu:1'), sharded=True)
        self.assertEqual(len(glob.glob(f'{self.prefix}.data-*-of-00002')), 2)
        self.assert_taken_over(self.warm_start())

    def test_checkpoint_of_tensorflow_2(self):
        root = tf.train.Checkpoint()
        names = {}
        for name, value in self.values.items():
            attribute = name.replace('/', '_')
            setattr(root, attribute, tf.Variable(value))
            names[name] = f'{attribute}/.ATTRIBUTES/VARIABLE_VALUE'
        root.write(self.prefix)
        self.assert_taken_over(self.warm_start(names))


if __name__ == '__main__':
    unittest.main()
