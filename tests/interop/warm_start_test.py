"""warm_start_from checkpoints of every layout TensorFlow writes: the weights arrive bit for bit."""
import glob
import os
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import iris_model
import examples
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


class WarmStarts(unittest.TestCase):

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
        examples.IRIS.train(self.model_dir, '--set', f'warm_start_from={{ {settings} }}',
                           '--max_steps=1')
        return written.read_checkpoint(os.path.join(self.model_dir, 'model.ckpt-0'))

    def assert_taken_over(self, got, names=tuple(SHAPES)):
        for name in names:
            np.testing.assert_array_equal(got[name], self.values[name], name)
        self.assertEqual(got['global_step'], 0)


class WarmStartTest(WarmStarts):

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


def keras_layers(names=(None, None, None)):
    """Those of iris."""
    return [tf.keras.layers.Dense(units, name=name) for name, (_, units) in zip(
        names, iris_model.LAYERS.values())]


class Attributes(tf.keras.Model):
    """Layers that have names, made in another order than they are called in."""

    def __init__(self, names=(None, None, None)):
        super().__init__()
        self.one, self.two, self.three = reversed(keras_layers(names))

    def call(self, x):
        return self.one(self.two(self.three(x)))


class KerasTest(WarmStarts):
    """What Keras writes, whose variables have the paths of objects for names."""

    def model(self, *layers):
        """A Sequential of them with self.values, which has been trained."""
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), *layers])
        model.compile('adam', 'mse')
        model.fit(np.zeros((8, 4)), np.zeros((8, 3)), verbose=0)
        return self.with_values(model)

    def with_values(self, model):
        dense = [layer for layer in model.submodules if isinstance(layer, tf.keras.layers.Dense)]
        for layer in dense:
            name = {shape: key[:-len('/kernel')] for key, shape in SHAPES.items()}[layer.kernel.shape]
            layer.set_weights([self.values[f'{name}/{variable}'] for variable in ('kernel', 'bias')])
        return model

    def refuse(self, *wanted, **options):
        with self.assertRaises(AssertionError) as raised:
            self.warm_start(**options)
        for text in wanted:
            self.assertIn(text, str(raised.exception))

    def test_weights(self):
        self.model(*keras_layers()).save_weights(self.prefix)
        self.assert_taken_over(self.warm_start())

    def test_a_checkpoint_of_a_model(self):
        model = self.model(*keras_layers())
        tf.train.Checkpoint(net=model, opt=model.optimizer, step=tf.Variable(3)).save(self.prefix)
        self.assert_taken_over(self.warm_start(path=os.path.dirname(self.prefix)))

    def test_saved_models(self):
        model = self.model(*keras_layers())
        model.save(self.prefix)
        self.assert_taken_over(self.warm_start())

    def test_an_exported_model(self):
        self.model(*keras_layers()).export(self.prefix)
        self.assert_taken_over(self.warm_start())

    def test_layers_in_layers(self):
        one, two, three = keras_layers()
        self.model(tf.keras.Sequential([one, tf.keras.layers.BatchNormalization()]), two,
                   three).save_weights(self.prefix)
        self.assert_taken_over(self.warm_start())

    def test_attributes_by_shapes(self):
        model = Attributes()
        model(np.zeros((1, 4)))
        self.with_values(model).save_weights(self.prefix)
        self.assert_taken_over(self.warm_start())

    def test_a_list_of_attributes_does_not_tell_the_order(self):
        class Equal(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.one, self.two, self.three, self.four = (
                    tf.keras.layers.Dense(units) for units in (10, 10, 10, 3))
                self.first = tf.keras.layers.Dense(10)

            def call(self, x):
                return self.four(self.one(self.two(self.first(x))))

        model = Equal()
        model(np.zeros((1, 4)))
        model.save(self.prefix)
        self.refuse('"hidden_2/kernel" [10,10]:', 'say it with var_name_to_prev_var_name')

    def test_one_of_two_layers_of_a_shape_by_its_name(self):
        one, two, three = keras_layers(iris_model.LAYERS)
        model = self.model(one, tf.keras.layers.Dense(10, name='same'), two, three)
        model.get_layer('same').kernel.assign(np.zeros((10, 10)))
        model.save_weights(self.prefix)
        self.assert_taken_over(self.warm_start())

    def test_one_of_two_layers_of_a_shape_is_to_be_named(self):
        one, two, three = keras_layers()
        self.model(one, two, tf.keras.layers.Dense(10), three).save_weights(self.prefix)
        keys = [f'layer_with_weights-{i}/kernel' for i in (1, 2)]
        self.refuse(f'"hidden_2/kernel" [10,10]: "{keys[0]}" or "{keys[1]}"; say it with '
                    'var_name_to_prev_var_name { key: "hidden_2/bias" value: "layer_with_weights-1/bias" }')
        self.assert_taken_over(self.warm_start({
            f'hidden_2/{variable}': f'layer_with_weights-1/{variable}'
            for variable in ('kernel', 'bias')}))

    def test_a_new_head(self):
        one, two, _ = keras_layers()
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), one, two, tf.keras.layers.Dense(7)])
        for layer, name in zip((one, two), iris_model.LAYERS):
            layer.set_weights([self.values[f'{name}/{variable}'] for variable in ('kernel', 'bias')])
        model.save_weights(self.prefix)
        self.refuse('"logits/kernel" [10,3]: no layer of these shapes')
        self.assert_taken_over(self.warm_start(variables=['^hidden_']),
                               [name for name in SHAPES if name.startswith('hidden_')])

    def test_files_of_other_formats_are_named(self):
        model = self.model(*keras_layers())
        for suffix, text in (('.h5', 'an HDF5 file, as Keras writes with .h5'),
                             ('.weights.h5', 'an HDF5 file, as Keras writes with .h5'),
                             ('.keras', 'an archive of Keras, .keras')):
            path = self.prefix + suffix
            (model.save_weights if 'weights' in suffix else model.save)(path)
            with self.subTest(suffix):
                self.refuse(f'{path}: {text}', 'tf.train.Checkpoint(model=model).write("PREFIX")',
                            path=path)
                done = examples.call('inspect', path)
                self.assertEqual(done.code, 65, str(done))
                self.assertIn(text, done.err)


if __name__ == '__main__':
    unittest.main()
