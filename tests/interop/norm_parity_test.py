"""Models with batch normalization train as TensorFlow's do: same weights, same batches."""
import os
import shutil
import tempfile
import unittest

import numpy as np

import classifier
import program
import written
from classifier import tf, v1

STEPS = 10
# Until here the order of sums is all that differs; later a value goes to the other side of an edge of a
# ReLU, and what follows depends on it.
FIRST_STEPS = 2
EVERY_LOSS = ['--set', 'tpu_config.iterations_per_loop=1', '--save_summary_steps=1']


class Model:
    """A graph in TensorFlow 1.x terms; `net` makes the logits of the features."""

    def __init__(self, shape, net, optimizer, label_smoothing=0.0, l2=0.0):
        graph = tf.Graph()
        with graph.as_default():
            self.features = v1.placeholder(tf.float32, [None, *shape])
            self.labels = v1.placeholder(tf.int32, [None])
            self.loss = v1.losses.softmax_cross_entropy(tf.one_hot(self.labels, 10),
                                                        net(self.features),
                                                        label_smoothing=label_smoothing)
            if l2:
                self.loss += l2 * tf.add_n([tf.nn.l2_loss(v) for v in v1.trainable_variables()
                                            if 'batch_normalization' not in v.name])
            step = v1.train.get_or_create_global_step()
            with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
                self.minimize = optimizer(step).minimize(self.loss, global_step=step)
            self.variables = {v.op.name: v for v in v1.global_variables()}
            self.saver = v1.train.Saver(max_to_keep=None)
            initialize = v1.global_variables_initializer()
        graph.finalize()
        self.graph = graph
        self.session = v1.Session(graph=graph)
        self.session.run(initialize)

    def save(self, prefix):
        with self.graph.as_default():
            return self.saver.save(self.session, prefix, write_meta_graph=False)

    def restore(self, prefix):
        with self.graph.as_default():
            self.saver.restore(self.session, prefix)

    def train(self, features, labels):
        feed = {self.features: features, self.labels: labels}
        return self.session.run([self.loss, self.minimize], feed)[0]

    def values(self):
        return self.session.run(self.variables)

    def train_all(self, batches):
        """The loss of each batch, and the values after the first FIRST_STEPS."""
        losses = [self.train(*batch) for batch in batches[:FIRST_STEPS]]
        values = self.values()
        return losses + [self.train(*batch) for batch in batches[FIRST_STEPS:]], values


def batches_of(features, labels, batch_size):
    rows = [classifier.batch_rows(len(labels), batch_size, step) for step in range(STEPS)]
    return [(features[at], labels[at]) for at in rows]


def norm(x, name='batch_normalization', fused=None):
    return v1.layers.batch_normalization(x, momentum=0.9, epsilon=1e-5, training=True, name=name,
                                         fused=fused)


def conv(x, filters, size, strides, name):
    return v1.layers.conv2d(x, filters, size, strides, padding='same', use_bias=False, name=name,
                            kernel_initializer=v1.variance_scaling_initializer(2.0, seed=1))


def logits(x):
    return v1.layers.dense(x, 10, name='logits',
                           kernel_initializer=v1.glorot_uniform_initializer(seed=2))


def mnist_bn(fused=None):
    def net(x):
        for number, filters in (('', 16), ('_1', 32)):
            x = conv(x, filters, 3, 1, 'conv2d' + number)
            x = tf.nn.relu(norm(x, 'batch_normalization' + number, fused))
            x = v1.layers.max_pooling2d(x, 2, 2)
        return logits(v1.layers.flatten(x))
    return net


def resnet20(x):
    x = tf.nn.relu(norm(conv(x, 16, 3, 1, 'conv2d')))
    for group, filters, strides in (('group1', 16, 1), ('group2', 32, 2), ('group3', 64, 2)):
        for block in range(3):
            with v1.variable_scope(f'{group}_{block}/residual'):
                step = strides if block == 0 else 1
                h = tf.nn.relu(norm(conv(x, filters, 3, step, 'conv2d')))
                h = norm(conv(h, filters, 3, 1, 'conv2d_1'), 'batch_normalization_1')
                if block == 0:
                    with v1.variable_scope('shortcut'):
                        x = norm(conv(x, filters, 1, step, 'conv2d'))
                x = tf.nn.relu(h + x)
    return logits(tf.reduce_mean(x, [1, 2]))


def relative_error(got, want):
    """Of the largest value of the tensor."""
    return float(np.abs(np.float64(got) - want).max() / max(np.abs(want).max(), 1e-30))


class NormParityTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.model_dir = os.path.join(self.directory, 'model')

    def example(self, name):
        """The config of the zoo's model on `train.tfrecord` of the directory, unshuffled."""
        folder = os.path.join('models/zoo', name)
        for file in ('run.textproto', 'model.textproto'):
            shutil.copyfile(os.path.join(folder, file), os.path.join(self.directory, file))
        return program.Example(self.directory)

    def train(self, example, initial, batch_size, *arguments):
        example.train(
            self.model_dir, *EVERY_LOSS, f'--max_steps={STEPS}', f'--train_batch_size={batch_size}',
            f'--save_checkpoints_steps={FIRST_STEPS}',
            '--set', f'warm_start_from={{ ckpt_to_initialize_from: "{initial}" }}',
            '--unset', 'train.epochs', '--unset', 'train.input.transform.shuffle', *arguments)
        losses = written.scalars(written.read_events(self.model_dir), 'loss')
        self.assertEqual(list(losses), list(range(1, STEPS + 1)))
        values = written.read_checkpoint(os.path.join(self.model_dir, f'model.ckpt-{FIRST_STEPS}'))
        return np.array(list(losses.values())), values

    def compare_losses(self, got, want):
        error = classifier.largest_relative_error(got, want)
        print(f'losses {want[0]:.6f} ... {want[-1]:.6f}, largest relative error {error:.1e}')
        self.assertLess(error, 1e-4)
        self.assertLess(want[-1], 0.95 * want[0])

    def compare_values(self, got, want, slots_too=False):
        """Moving statistics within 1e-5, others within 1e-4, of a tensor's largest value.

        Of what starts at 0 the largest value is small after few steps: one pixel at the edge of a
        ReLU is a large part of it.
        """
        errors = {name: relative_error(got[name], value) for name, value in want.items()
                  if 'moving_' in name or name.endswith('/kernel') or slots_too}
        moving = {name: error for name, error in errors.items() if 'moving_' in name}
        for part in (moving, errors):
            worst = max(part, key=part.get)
            print(f'of {len(part)} variables the largest error is {part[worst]:.1e}, of {worst}')
        self.assertLess(max(moving.values()), 1e-5)
        self.assertLess(max(errors.values()), 1e-4)

    def write_images(self, count, size, channels, seed=1):
        """Noise around a tint that tells the class, as `convert` writes images. No area is flat: at
        an edge of a relu its pixels would all go to one side or the other by their last bit."""
        draw = np.random.default_rng(seed)
        labels = draw.integers(0, 10, count).astype(np.int32)
        tint = draw.integers(130, 220, (10, 1, 1, channels))
        noise = draw.normal(0, 40, (count, size, size, channels))
        images = np.clip(tint[labels] + noise, 0, 255).astype(np.uint8)
        with tf.io.TFRecordWriter(os.path.join(self.directory, 'train.tfrecord')) as writer:
            for image, label in zip(images, labels):
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    'image_raw': tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[image.tobytes()])),
                    'label': tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
                })).SerializeToString())
        return images.astype(np.float32) * np.float32(1 / 255) - np.float32(0.5), labels

    def test_convolutions_with_adam_warm_up_and_smoothing(self):
        example = self.example('mnist_bn')
        features, labels = self.write_images(128 * STEPS, 28, 1)

        def optimizer(step):
            # At the usual epsilon the sign of a gradient near 0, which is noise, is a whole step.
            return v1.train.AdamOptimizer(
                0.002 * tf.minimum(1.0, tf.cast(step, tf.float32) / 5), epsilon=0.01)

        model = Model((28, 28, 1), mnist_bn(), optimizer, label_smoothing=0.1)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want, want_values = model.train_all(batches_of(features, labels, 128))
        losses, values = self.train(
            example, initial, 128, '--use_tpu=false',
            '--set', 'model.head.0.classification.label_smoothing=0.1',
            '--set', 'model.optimizer=[{ adam { epsilon: 0.01 } learning_rate { linear_warmup { '
                     'warmup_steps: 5 schedule { constant: 0.002 } } } }]')
        self.compare_losses(losses, want)
        self.compare_values(values, want_values)

    def test_resnet_with_l2(self):
        example = self.example('resnet_cifar')
        features, labels = self.write_images(16 * STEPS, 32, 3)
        model = Model((32, 32, 3), resnet20, lambda step: v1.train.MomentumOptimizer(0.0005, 0.9),
                      l2=1e-4)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want, want_values = model.train_all(batches_of(features, labels, 16))
        losses, values = self.train(
            example, initial, 16, '--use_tpu=false', '--set',
            'model.optimizer=[{ momentum { momentum: 0.9 } learning_rate { constant: 0.0005 } }]')
        self.compare_losses(losses, want)
        self.compare_values(values, want_values)

    def test_groups_are_models_apart(self):
        example = self.example('mnist_bn')
        features, labels = self.write_images(128 * STEPS, 28, 1)

        def optimizer(step):
            del step
            return v1.train.MomentumOptimizer(0.01, 0.9)

        models = [Model((28, 28, 1), mnist_bn(fused=False), optimizer) for _ in range(2)]
        initial = models[0].save(os.path.join(self.directory, 'tensorflow'))
        models[1].restore(initial)
        batches = batches_of(features, labels, 128)
        halves = [[tuple(np.split(part, 2)[half] for part in batch) for batch in batches]
                  for half in range(2)]
        trained = [model.train_all(half) for model, half in zip(models, halves)]
        want = np.mean([losses for losses, _ in trained], axis=0)
        groups = '[{ replica: [0, 1, 2, 3] }, { replica: [4, 5, 6, 7] }]'
        losses, values = self.train(
            example, initial, 128, '--use_tpu=true', '--set', 'model.matmul_precision=F32',
            '--set', 'model.optimizer=[{ momentum { momentum: 0.9 } learning_rate { constant: 0.01 } '
                     f'cross_shard {{ group_assignment: {groups} }} }}]',
            '--set', f'model.layer_defaults.batch_normalization.group_assignment={groups}')
        self.compare_losses(losses, want)
        for (_, want_values), replicas in zip(trained, ([0, 3], [4, 7])):
            for replica in replicas:
                got = {name: values[f'tpurun/core/{name}'][replica] for name in want_values
                       if name != 'global_step'}
                self.compare_values(got, {name: want_values[name] for name in got}, slots_too=True)
        self.assertGreater(relative_error(values['tpurun/core/logits/kernel'][7],
                                          values['tpurun/core/logits/kernel'][0]), 1e-3)


if __name__ == '__main__':
    unittest.main()
