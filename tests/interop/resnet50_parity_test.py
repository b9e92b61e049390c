"""ResNet-50 of the zoo in f32 has TensorFlow's losses: same weights, same batches.

By hand: five steps of 32 images of 224x224 take two to four minutes on 2 cores.

Between two programs some values at the edge of a ReLU fall on either side of it, and each block passes
the difference on. Residuals that begin small, near the zeros that the model begins with, keep the sum of
fifty such layers below what five steps of training make of it.
"""
import os
import unittest

import numpy as np

import classifier
import examples
import zoo_models
from classifier import tf, v1
from zoo_models import Model, ZooCase

STEPS = 5
BATCH = 32
RATE = 0.001
MEAN = np.array([123.675, 116.28, 103.53], np.float32)
DEVIATION = np.array([58.395, 57.12, 57.375], np.float32)


def draw(seed=1):
    """Values of what is trained, as they are in a model that has begun to learn."""
    generator = np.random.default_rng(seed)

    def value_of(name, size):
        if name.endswith('/kernel'):
            return generator.normal(0, np.sqrt(2 / np.prod(size[:-1])), size)
        if name.endswith('residual/batch_normalization_2/gamma'):
            return generator.uniform(0.05, 0.15, size)
        return generator.normal(float(name.endswith('/gamma')), 0.05, size)

    return value_of


def read_images(path):
    """float32 [records, 224, 224, 3] images as the model's input normalizes them, int32 labels."""
    features = {'image_raw': tf.io.FixedLenFeature([], tf.string),
                'label': tf.io.FixedLenFeature([], tf.int64)}
    rows = [tf.io.parse_single_example(record, features)
            for record in tf.data.TFRecordDataset(path)]
    images = [np.frombuffer(row['image_raw'].numpy(), np.uint8).reshape(224, 224, 3)
              for row in rows]
    return ((np.float32(images) - MEAN) / DEVIATION,
            np.array([row['label'].numpy() for row in rows], np.int32))


class Resnet50ParityTest(ZooCase):

    def test_losses_of_five_steps(self):
        example = self.example('models/zoo/resnet50')
        examples.run('convert', 'synthetic', 'shapes', '--size=224', f'--examples={BATCH * STEPS}',
                    '--seed=1', f'--output={self.records}')
        features, labels = read_images(self.records)
        model = Model(zoo_models.resnet50, (224, 224, 3), label_smoothing=0.1, l2=1e-4,
                      optimizer=lambda step: v1.train.MomentumOptimizer(RATE, 0.9,
                                                                        use_nesterov=True))
        model.assign(draw())
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want = [model.train(features[at:at + BATCH], labels[at:at + BATCH])
                for at in range(0, BATCH * STEPS, BATCH)]
        model.session.close()
        got = self.train(
            example, initial, STEPS, BATCH, '--use_tpu=false', '--set',
            'model.optimizer=[{ momentum { momentum: 0.9 use_nesterov: true } '
            f'learning_rate {{ constant: {RATE} }} }}]')
        error = classifier.largest_relative_error(got, want)
        print(f'losses {want}, tpurun {got.tolist()}, largest relative error {error:.1e}')
        self.assertLess(error, 1e-3)


if __name__ == '__main__':
    unittest.main()
