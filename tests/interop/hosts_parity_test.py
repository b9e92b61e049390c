"""Training on the 16 cores of two hosts, by one process and by two, compared with TensorFlow.

In the reference each replica has the gradients of the mean loss of its rows, and the mean over all
replicas makes one update. Host h reads the records h, h + 2, h + 4 ... and its cores share its batch
in order."""
import json
import os
import shutil
import unittest

import numpy as np

import examples
import iris_model
import written
from classifier import batch_rows, tf, v1
from program import call, call_mpi, checkpoint_files
from zoo_models import Model, Net, ZooCase, relative_error

HOSTS, REPLICAS, STEPS = 2, 16, 10
# Of losses, and of a tensor's largest value. The order of the sums is all that differs: 1e-7 a step.
TOLERANCE = 1e-5
# Smooth, unlike mnist_bn: no value can go to the other side of an edge.
SMOOTH_NET = """model.layer=[
  { conv2d { filters: 8 } }, { batch_normalization {} }, { activation { function: TANH } },
  { average_pooling2d { pool_size: 2 } },
  { conv2d { filters: 16 } }, { batch_normalization {} }, { activation { function: TANH } },
  { flatten {} }, { name: "logits" dense { units: 10 } }]"""
# Each has half of the replicas of either host.
GROUPS = [list(range(first, REPLICAS, 2)) for first in (0, 1)]


def iris(net, x):
    for name, units in (('hidden_1', 10), ('hidden_2', 10)):
        x = net.dense(x, units, name, tf.nn.relu)
    return net.dense(x, 3, 'logits')


def smooth_net(net, x):
    for number, filters in (('', 8), ('_1', 16)):
        x = net.conv(x, filters, 3, 1, 'conv2d' + number)
        x = tf.tanh(net.norm(x, 'batch_normalization' + number))
        x = x if number else tf.nn.avg_pool2d(x, 2, 2, 'VALID')
    return net.dense(net.flatten(x), 10, 'logits')


class Replicated(Model):
    """The weights that all replicas share. What normalizes together is one `part` of them: it has a
    loss, and moving statistics of its own."""

    def __init__(self, parts, *arguments, **options):
        super().__init__(*arguments, **options)
        self.parts = parts
        moving = [name for name in self.variables if 'moving_' in name]
        self.moving = {name: self.variables[name] for name in moving}
        self.moving_of_parts = [self.session.run(self.moving) for _ in parts]

    def minimize(self, optimizer, step):
        self.updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(None):  # the update has no rows
            trained = v1.trainable_variables()
            self.means = [v1.placeholder(tf.float32, variable.shape) for variable in trained]
            return optimizer.apply_gradients(zip(self.means, trained), global_step=step)

    def load(self, values):
        for name, value in values.items():
            initializer = self.variables[name].initializer
            self.session.run(initializer, {initializer.inputs[1]: value})

    def step(self, *rows_of_replicas):
        """The mean loss before the update."""
        losses, gradients = [], []
        for part, replicas in enumerate(self.parts):
            fed = self.feed([np.concatenate([rows[replica] for replica in replicas])
                             for rows in rows_of_replicas])
            self.load(self.moving_of_parts[part])
            loss, of_part, _ = self.session.run([self.loss, self.gradients, self.updates], fed)
            self.moving_of_parts[part] = self.session.run(self.moving)
            losses.append(loss)
            gradients.append(of_part.values())
        means = [np.mean(of_parts, axis=0) for of_parts in zip(*gradients)]
        self.session.run(self.minimized, dict(zip(self.means, means)))
        return np.mean(losses)


def of_replicas(rows, batch, step):
    """The shares of all replicas, under PER_HOST_V1."""
    shares = []
    for host in range(HOSTS):
        records = rows[host::HOSTS]
        own = records[batch_rows(len(records), batch // HOSTS, step)]
        shares += np.split(own, REPLICAS // HOSTS)
    return shares


class HostsParityTest(ZooCase):

    def train(self, processes, example, model_dir, *flags):
        arguments = ['train', f'--config={example.config}', f'--model_dir={model_dir}',
                     f'--max_steps={STEPS}', '--set', f'tpu_config.num_shards={REPLICAS}',
                     '--set', 'tpu_config.iterations_per_loop=1', '--save_summary_steps=1',
                     '--set', 'model.matmul_precision=F32', *flags]
        done = call(*arguments) if processes == 1 else call_mpi(processes, *arguments)
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(json.loads(done.out)['global_step'], STEPS)
        losses = written.scalars(written.read_events(model_dir), 'loss')
        self.assertEqual(list(losses), list(range(1, STEPS + 1)))
        prefix = os.path.join(model_dir, f'model.ckpt-{STEPS}')
        return list(losses.values()), prefix

    def compare(self, reference, rows, batch, example, *flags):
        """By one process with TensorFlow, and by two, which have the same bits."""
        initial = reference.save(os.path.join(self.directory, 'tensorflow'))
        want = [reference.step(*(of_replicas(each, batch, step) for each in rows))
                for step in range(STEPS)]
        flags = [f'--train_batch_size={batch}', *flags,
                 '--set', f'warm_start_from={{ ckpt_to_initialize_from: "{initial}" }}']
        losses, prefix = self.train(1, example, self.model_dir, *flags)
        loss_error = np.max(np.abs(np.divide(losses, want) - 1))
        errors = self.value_errors(reference, written.read_checkpoint(prefix))
        worst = max(errors, key=errors.get)
        print(f'losses {want[0]:.6f} ... {want[-1]:.6f}, largest relative error {loss_error:.1e}; '
              f'of {len(errors)} tensors {errors[worst]:.1e}, {worst}')
        self.assertLess(want[-1], 0.95 * want[0])
        self.assertLess(loss_error, TOLERANCE)
        self.assertLess(errors[worst], TOLERANCE)
        if shutil.which('mpirun') is None:
            print('mpirun is not installed: not compared with two processes')
            return
        other_losses, other_prefix = self.train(2, example, self.model_dir + '_2', *flags)
        self.assertEqual(other_losses, losses)
        self.assertEqual(checkpoint_files(other_prefix), checkpoint_files(prefix))

    def value_errors(self, reference, got):
        errors = {name: relative_error(got[name], value)
                  for name, value in reference.values().items() if 'moving_' not in name}
        for moving, replicas in zip(reference.moving_of_parts, reference.parts):
            for name, value in moving.items():
                for replica in replicas:
                    errors[f'{name} of replica {replica}'] = relative_error(
                        got[f'tpurun/core/{name}'][replica], value)
        return errors

    def test_iris(self):
        each_apart = [[replica] for replica in range(REPLICAS)]
        reference = Replicated(each_apart, iris, (4,), optimizer=lambda step: (
            iris_model.example_optimizer()))
        rows = iris_model.read_rows(examples.TRAINING_CSV)
        self.compare(reference, rows, 128, examples.IRIS, '--unset', 'train.input.transform.2')

    def compare_images(self, net, parts, *flags):
        example = self.example('models/zoo/mnist_bn')
        batch = 64
        rows = self.write_images(batch * STEPS, 12, 1)
        reference = Replicated(parts, smooth_net, (12, 12, 1), net,
                               lambda step: v1.train.MomentumOptimizer(0.05, 0.9))
        self.compare(
            reference, rows, batch, example, '--unset', 'train.epochs',
            '--unset', 'train.input.transform.shuffle', '--set', SMOOTH_NET,
            '--set', 'model.feature.0.shape=[12, 12, 1]',
            '--set', 'transformation_func.0.transform.decode_raw.shape=[12, 12, 1]',
            '--set', 'model.optimizer=[{ momentum { momentum: 0.9 } '
                     'learning_rate { constant: 0.05 } }]', *flags)

    def test_a_normalization_of_each_replica(self):
        self.compare_images(Net(), [[replica] for replica in range(REPLICAS)])

    def test_a_normalization_of_groups_across_hosts(self):
        groups = ', '.join(f'{{ replica: {group} }}' for group in GROUPS)
        # Fused as in the other test, TensorFlow's moving variance would have Bessel's correction.
        self.compare_images(
            Net(fused=False), GROUPS,
            '--set', f'model.layer_defaults.batch_normalization.group_assignment=[{groups}]')


if __name__ == '__main__':
    unittest.main()
