"""Models with batch normalization train as TensorFlow's do: same weights, same batches."""
import os
import unittest

import numpy as np

import classifier
import reference_optimizers
import zoo_models
from classifier import tf, v1
from zoo_models import Model, Net, ZooCase, relative_error

STEPS = 10
# Until here the order of sums is all that differs; later a value goes to the other side of an edge of a
# ReLU, and what follows depends on it.
FIRST_STEPS = 2


def batches_of(features, labels, batch_size):
    rows = [classifier.batch_rows(len(labels), batch_size, step) for step in range(STEPS)]
    return [(features[at], labels[at]) for at in rows]


def train_all(model, batches):
    """The loss of each batch, and the values after the first FIRST_STEPS."""
    losses = [model.train(*batch) for batch in batches[:FIRST_STEPS]]
    values = model.values()
    return losses + [model.train(*batch) for batch in batches[FIRST_STEPS:]], values


class NormParityTest(ZooCase):

    def train(self, *arguments):
        """The losses, and the values after the first FIRST_STEPS."""
        losses = super().train(*arguments, f'--save_checkpoints_steps={FIRST_STEPS}')
        return losses, self.values_at(FIRST_STEPS)

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

    def test_convolutions_with_adam_warm_up_and_smoothing(self):
        example = self.example('models/zoo/mnist_bn')
        features, labels = self.write_images(128 * STEPS, 28, 1)

        def optimizer(step):
            # At the usual epsilon the sign of a gradient near 0, which is noise, is a whole step.
            return v1.train.AdamOptimizer(
                0.002 * tf.minimum(1.0, tf.cast(step, tf.float32) / 5), epsilon=0.01)

        model = Model(zoo_models.mnist_bn, (28, 28, 1), optimizer=optimizer, label_smoothing=0.1)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want, want_values = train_all(model, batches_of(features, labels, 128))
        losses, values = self.train(
            example, initial, STEPS, 128, '--use_tpu=false',
            '--set', 'model.head.0.classification.label_smoothing=0.1',
            '--set', 'model.optimizer=[{ adam { epsilon: 0.01 } learning_rate { linear_warmup { '
                     'warmup_steps: 5 schedule { constant: 0.002 } } } }]')
        self.compare_losses(losses, want)
        self.compare_values(values, want_values)

    def test_resnet_with_l2(self):
        example = self.example('models/zoo/resnet_cifar')
        features, labels = self.write_images(16 * STEPS, 32, 3)
        model = Model(zoo_models.resnet_cifar, (32, 32, 3), l2=1e-4,
                      optimizer=lambda step: v1.train.MomentumOptimizer(0.0005, 0.9))
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want, want_values = train_all(model, batches_of(features, labels, 16))
        losses, values = self.train(
            example, initial, STEPS, 16, '--use_tpu=false', '--set',
            'model.optimizer=[{ momentum { momentum: 0.9 } learning_rate { constant: 0.0005 } }]')
        self.compare_losses(losses, want)
        self.compare_values(values, want_values)

    def test_groups_are_models_apart(self):
        example = self.example('models/zoo/mnist_bn')
        features, labels = self.write_images(128 * STEPS, 28, 1)

        def optimizer(step):
            del step
            return reference_optimizers.Lamb(0.01, epsilon=0.01)

        models = [Model(zoo_models.mnist_bn, (28, 28, 1), Net(fused=False), optimizer)
                  for _ in range(2)]
        initial = models[0].save(os.path.join(self.directory, 'tensorflow'))
        models[1].restore(initial)
        batches = batches_of(features, labels, 128)
        halves = [[tuple(np.split(part, 2)[half] for part in batch) for batch in batches]
                  for half in range(2)]
        trained = [train_all(model, half) for model, half in zip(models, halves)]
        want = np.mean([losses for losses, _ in trained], axis=0)
        groups = '[{ replica: [0, 1, 2, 3] }, { replica: [4, 5, 6, 7] }]'
        losses, values = self.train(
            example, initial, STEPS, 128, '--use_tpu=true', '--set', 'model.matmul_precision=F32',
            '--set', 'model.optimizer=[{ lamb { epsilon: 0.01 } learning_rate { constant: 0.01 } '
                     f'cross_shard {{ group_assignment: {groups} }} }}]',
            '--set', f'model.layer_defaults.batch_normalization.group_assignment={groups}')
        self.compare_losses(losses, want)
        for (_, want_values), replicas in zip(trained, ([0, 3], [4, 7])):
            for replica in replicas:
                got = {name: values[f'tpurun/core/{name}'][replica]
                       if f'tpurun/core/{name}' in values else values[name] for name in want_values}
                self.compare_values(got, want_values, slots_too=True)
        self.assertGreater(relative_error(values['tpurun/core/logits/kernel'][7],
                                          values['tpurun/core/logits/kernel'][0]), 1e-3)


if __name__ == '__main__':
    unittest.main()
