"""Models with convolutions in TensorFlow 1.x terms, and the images and runs to compare them on."""
import os
import shutil
import tempfile
import unittest

import numpy as np

import examples
import written
from arithmetic import F32
from classifier import tf, v1


class Trained:
    """A graph with its session. A subclass has `build()`, which gives placeholders, `inputs`, and the
    loss of what they are fed; `minimize(optimizer, step)` may be its own.

    `optimizer` is made of the global step.
    """

    def __init__(self, optimizer=None):
        graph = tf.Graph()
        with graph.as_default():
            self.inputs, self.loss = self.build()
            trained = {v.op.name: v for v in v1.trainable_variables()}
            # As dense tensors, also of tables whose rows are gathered.
            gradients = map(tf.convert_to_tensor, tf.gradients(self.loss, list(trained.values())))
            self.gradients = dict(zip(trained, gradients))
            step = v1.train.get_or_create_global_step()
            if optimizer:
                with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
                    self.minimized = self.minimize(optimizer(step), step)
            self.variables = {v.op.name: v for v in v1.global_variables()}
            self.saver = v1.train.Saver(max_to_keep=None)
            initialize = v1.global_variables_initializer()
        graph.finalize()
        self.graph = graph
        self.session = v1.Session(graph=graph)
        self.session.run(initialize)

    def build(self):
        raise NotImplementedError

    def minimize(self, optimizer, step):
        return optimizer.minimize(self.loss, global_step=step)

    def feed(self, inputs):
        return dict(zip(self.inputs, inputs))

    def save(self, prefix):
        with self.graph.as_default():
            return self.saver.save(self.session, prefix, write_meta_graph=False)

    def restore(self, prefix):
        with self.graph.as_default():
            self.saver.restore(self.session, prefix)

    def train(self, *inputs):
        return self.session.run([self.loss, self.minimized], self.feed(inputs))[0]

    def values(self):
        return self.session.run(self.variables)

    def assign(self, value_of):
        """value_of(name, size) to each variable that is trained."""
        for name in self.gradients:
            initializer = self.variables[name].initializer
            value = value_of(name, self.variables[name].shape.as_list())
            self.session.run(initializer, {initializer.inputs[1]: value})

    @staticmethod
    def fan_in(name, size):
        """Of the kernel of that name."""
        del name
        return np.prod(size[:-1])

    def draw(self, seed=1):
        """Values for what is trained; biases, gammas and betas of their own for each channel."""
        draw = np.random.default_rng(seed)

        def value_of(name, size):
            if name.endswith('/kernel'):
                return draw.normal(0, np.sqrt(2 / self.fan_in(name, size)), size)
            return (draw.uniform(0.5, 1.5, size) if name.endswith('/gamma') else
                    draw.normal(0, 0.2, size))

        self.assign(value_of)

    def draw_few_bits(self, seed=1):
        """Kernels that have two bits when they are rounded to bfloat16, biases of ten: their products
        with values of few bits have sums that are exact in any order."""
        draw = np.random.default_rng(seed)

        def value_of(name, size):
            if name.endswith('/kernel'):
                unit = 2.0 ** np.round(np.log2(1 / np.sqrt(self.fan_in(name, size))))
                bits = draw.integers(-2, 3, size) * unit
                return bits * (1 + draw.uniform(-1, 1, size) / 1024)
            return (draw.uniform(0.5, 1.5, size) if name.endswith('/gamma') else
                    draw.integers(-512, 513, size) / 1024)

        self.assign(value_of)

    def first_step(self, *inputs, replicas):
        """The loss and the gradients, means over replicas of an equal share of the rows each."""
        parts = self.of_replicas(inputs, replicas, [self.loss, self.gradients])
        return np.mean([loss for loss, _ in parts]), {
            name: np.mean([gradients[name] for _, gradients in parts], axis=0)
            for name in self.gradients}

    def of_replicas(self, inputs, replicas, fetched):
        """What each finds in its equal share of the rows."""
        shares = zip(*(np.split(rows, replicas) for rows in inputs))
        return [self.session.run(fetched, self.feed(share)) for share in shares]


class Model(Trained):
    """`layers(net, features)` are the logits of images of that shape, of `labels`."""

    def __init__(self, layers, shape, net=None, optimizer=None, label_smoothing=0.0, l2=0.0):
        self.layers, self.shape, self.net = layers, shape, net or Net()
        self.label_smoothing, self.l2 = label_smoothing, l2
        super().__init__(optimizer)

    def build(self):
        features = v1.placeholder(tf.float32, [None, *self.shape])
        labels = v1.placeholder(tf.int32, [None])
        logits = self.layers(self.net, features)
        loss = v1.losses.softmax_cross_entropy(tf.one_hot(labels, logits.shape[-1]), logits,
                                               label_smoothing=self.label_smoothing)
        if self.l2:
            loss += self.l2 * tf.add_n([tf.nn.l2_loss(v) for v in v1.trainable_variables()
                                        if 'batch_normalization' not in v.op.name])
        return [features, labels], loss


class Net:
    """The layers, in an arithmetic."""

    def __init__(self, arithmetic=F32(), fused=None):
        self.arithmetic, self.fused = arithmetic, fused

    def stored(self, value):
        return self.arithmetic.stored(value)

    def layer(self, product, x, kernel_shape, name, bias_dims, activation, initializer):
        """`bias_dims`: how many of the last dimensions of the kernel the bias has; 0: no bias."""
        with v1.variable_scope(name):
            kernel = v1.get_variable('kernel', kernel_shape, initializer=initializer)
            y = product(x, kernel)
            if bias_dims:
                y += v1.get_variable('bias', kernel_shape[-bias_dims:],
                                     initializer=v1.zeros_initializer())
        return self.stored(activation(y))

    def conv(self, x, filters, size, strides, name, bias=False, activation=tf.identity):
        return self.layer(lambda x, kernel: self.arithmetic.conv2d(x, kernel, strides), x,
                          [size, size, x.shape[-1], filters], name, int(bias), activation,
                          v1.variance_scaling_initializer(2.0, seed=1))

    def dense(self, x, units, name, activation=tf.identity):
        return self.layer(self.arithmetic.matmul, x, [x.shape[-1], units], name, 1, activation,
                          v1.glorot_uniform_initializer(seed=2))

    def norm(self, x, name='batch_normalization'):
        return self.stored(self.arithmetic.summed(v1.layers.batch_normalization(
            x, momentum=0.9, epsilon=1e-5, training=True, name=name, fused=self.fused)))

    def relu(self, x):
        return self.stored(tf.nn.relu(x))

    def pool(self, x, size=2, strides=2, padding='VALID'):
        return self.stored(tf.nn.max_pool2d(x, size, strides, padding))

    def mean_of_pixels(self, x):
        return self.stored(tf.reduce_mean(x, [1, 2]))

    def flatten(self, x):
        return self.stored(v1.layers.flatten(x))


def mnist(net, x):
    """The example, without dropout."""
    for number, filters in (('', 32), ('_1', 64)):
        x = net.pool(net.conv(x, filters, 5, 1, 'conv2d' + number, True, tf.nn.relu))
    x = net.dense(net.flatten(x), 128, 'dense', tf.nn.relu)
    return net.dense(x, 10, 'logits')


def mnist_bn(net, x):
    for number, filters in (('', 16), ('_1', 32)):
        x = net.conv(x, filters, 3, 1, 'conv2d' + number)
        x = net.pool(net.relu(net.norm(x, 'batch_normalization' + number)))
    return net.dense(net.flatten(x), 10, 'logits')


def resnet_block(net, x, convs, strides, project):
    """`convs`: filters and size of each; the last but one has the strides."""
    h = x
    for i, (filters, size) in enumerate(convs):
        number = f'_{i}' if i else ''
        h = net.conv(h, filters, size, strides if i == len(convs) - 2 else 1, 'conv2d' + number)
        h = net.norm(h, 'batch_normalization' + number)
        if i + 1 < len(convs):
            h = net.relu(h)
    if project:
        with v1.variable_scope('shortcut'):
            x = net.norm(net.conv(x, filters, 1, strides, 'conv2d'))
    return net.relu(net.stored(h + x))


def resnet_group(net, x, name, convs, strides, blocks):
    for block in range(blocks):
        with v1.variable_scope(f'{name}_{block}' if blocks > 1 else name):
            with v1.variable_scope('residual'):
                x = resnet_block(net, x, convs, strides if block == 0 else 1, block == 0)
    return x


def resnet_cifar(net, x, filters=16, blocks=3):
    x = net.relu(net.norm(net.conv(x, filters, 3, 1, 'conv2d')))
    for group in range(3):
        convs = [(filters << group, 3)] * 2
        x = resnet_group(net, x, f'group{group + 1}', convs, 2 if group else 1, blocks)
    return net.dense(net.mean_of_pixels(x), 10, 'logits')


def resnet_images(net, x):
    x = net.relu(net.norm(net.conv(x, 16, 5, 2, 'conv2d')))
    for group in range(4):
        convs = [(16 << group, 3)] * 2
        x = resnet_group(net, x, f'group{group + 1}', convs, 2 if group else 1, 2)
    return net.dense(net.mean_of_pixels(x), 10, 'logits')


def resnet50(net, x):
    x = net.relu(net.norm(net.conv(x, 64, 7, 2, 'conv2d')))
    x = net.pool(x, 3, 2, 'SAME')
    for group, blocks in enumerate([3, 4, 6, 3]):
        filters = 64 << group
        convs = [(filters, 1), (filters, 3), (4 * filters, 1)]
        x = resnet_group(net, x, f'block_group{group + 1}', convs, 2 if group else 1, blocks)
    return net.dense(net.mean_of_pixels(x), 1000, 'dense')


def relative_error(got, want):
    """Of the largest value of the tensor."""
    return float(np.abs(np.float64(got) - want).max() / max(np.abs(want).max(), 1e-30))


class ZooCase(unittest.TestCase):
    """Tests in a directory of their own."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.model_dir = os.path.join(self.directory, 'model')
        self.records = os.path.join(self.directory, 'train.tfrecord')

    def example(self, folder):
        """The config of a folder, on `train.tfrecord` of the directory."""
        for file in ('run.textproto', 'model.textproto'):
            shutil.copyfile(os.path.join(folder, file), os.path.join(self.directory, file))
        return examples.Example(self.directory)

    def train(self, example, initial, steps, batch_size, *arguments):
        """The losses of all steps from the checkpoint `initial`, on the rows in their order."""
        example.train(
            self.model_dir, '--set', 'tpu_config.iterations_per_loop=1', '--save_summary_steps=1',
            f'--max_steps={steps}', f'--train_batch_size={batch_size}',
            '--set', f'warm_start_from={{ ckpt_to_initialize_from: "{initial}" }}',
            '--unset', 'train.epochs', '--unset', 'train.input.transform.shuffle', *arguments)
        losses = written.scalars(written.read_events(self.model_dir), 'loss')
        self.assertEqual(list(losses), list(range(1, steps + 1)))
        return np.array(list(losses.values()))

    def values_at(self, step):
        return written.read_checkpoint(os.path.join(self.model_dir, f'model.ckpt-{step}'))

    def write_images(self, count, size, channels, seed=1, scale=1 / 255):
        """Noise around a tint that tells the class, as `convert` writes images. No area is flat: at
        an edge of a relu its pixels would all go to one side or the other by their last bit."""
        draw = np.random.default_rng(seed)
        labels = draw.integers(0, 10, count).astype(np.int32)
        tint = draw.integers(130, 220, (10, 1, 1, channels))
        noise = draw.normal(0, 40, (count, size, size, channels))
        images = np.clip(tint[labels] + noise, 0, 255).astype(np.uint8)
        with tf.io.TFRecordWriter(self.records) as writer:
            for image, label in zip(images, labels):
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    'image_raw': tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[image.tobytes()])),
                    'label': tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))
                })).SerializeToString())
        return images.astype(np.float32) * np.float32(scale) - np.float32(0.5), labels
