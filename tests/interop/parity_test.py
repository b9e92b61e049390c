"""Training as TensorFlow does: same initial weights, same batches, same losses and slots."""
import os
import tempfile
import unittest

import numpy as np

import classifier
import iris_model
import mnist_model
import examples
import written
from classifier import v1

STEPS = 20
EVERY_LOSS = ['--set', 'tpu_config.iterations_per_loop=1', '--save_summary_steps=1']
# Relative. Both sum in float32, in different orders: 1e-7 a step, which 20 steps amplify; a
# learning rate off by 0.1 % already gives 0.3.
LOSS_TOLERANCE = 1e-4


def warm_start(prefix):
    return ['--set', f'warm_start_from={{ ckpt_to_initialize_from: "{prefix}" }}']


def use_optimizer(kind, learning_rate):
    return ['--set', f'model.optimizer=[{{ {kind} learning_rate {{ constant: {learning_rate} }} '
                     'cross_shard { reduction: MEAN } }]']


class ParityTest:
    """The comparisons, for a model with self.example and all that it trains on."""

    steps = STEPS  # that train_both compares
    # Of variables and slots, relative. What is below this share of a tensor's largest value is
    # compared as if it were that large: it is what remains of larger terms that cancel.
    value_tolerance = LOSS_TOLERANCE
    small = 1e-3
    # The least share of logits that are the reference's but for the order of the sums: a value on
    # the edge between two bfloat16s may go to either side.
    usual_share = 0.99

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.model_dir = os.path.join(directory.name, 'model')
        self.prepare()

    def batch(self, step):
        rows = classifier.batch_rows(len(self.labels), self.batch_size, step)
        return self.features[rows], self.labels[rows]

    def train_both(self, optimizer, *arguments):
        """Compares self.steps steps from TensorFlow's initial weights."""
        reference = self.model(optimizer)
        initial = reference.save(os.path.join(self.directory, 'tensorflow'))
        want_losses = [reference.train(*self.batch(step)) for step in range(self.steps)]
        want = reference.values()

        self.example.train(self.model_dir, *self.in_order, *EVERY_LOSS, *warm_start(initial),
                           '--use_tpu=false', f'--max_steps={self.steps}', *arguments)
        losses = written.scalars(written.read_events(self.model_dir), 'loss')
        got = written.read_checkpoint(os.path.join(self.model_dir, f'model.ckpt-{self.steps}'))

        self.assertEqual(list(losses), list(range(1, self.steps + 1)))
        loss_error = classifier.largest_relative_error(list(losses.values()), want_losses)
        value_errors = {name: classifier.largest_relative_error(
            got[name], value, self.small * np.abs(value).max()) for name, value in want.items()}
        worst = max(value_errors, key=value_errors.get)
        print(f'losses {want_losses[0]:.6f} ... {want_losses[-1]:.6f}, largest relative error '
              f'{loss_error:.1e}; of {len(want)} variables and slots {value_errors[worst]:.1e}, '
              f'{worst}')
        self.assertLess(losses[self.steps], losses[1])
        self.assertLess(loss_error, LOSS_TOLERANCE)
        self.assertLess(value_errors[worst], self.value_tolerance)
        self.assertEqual(got['global_step'], self.steps)
        return got

    def expect_slots(self, got, slot):
        for name in self.variables:
            self.assertIn(f'{name}/{slot}', got)

    def first_step(self, initial, use_tpu):
        """The loss of the first step, and the logits of its rows from its weights."""
        model_dir = f'{initial}_{use_tpu}'
        result = self.example.train(model_dir, *self.in_order, *warm_start(initial),
                                    f'--use_tpu={use_tpu}', '--max_steps=1')
        rows = self.example.predict(
            model_dir, self.source, f'--checkpoint={model_dir}/model.ckpt-0',
            f'--use_tpu={use_tpu}', '--keys=logits', f'--predict_batch_size={self.batch_size}',
            transforms=f'transform {{ repeat {{}} }} transform {{ take {{ count: {self.batch_size} '
                       '} }')
        return result['loss'], np.float32([row['logits'] for row in rows])

    def compare_first_step(self, reference, initial):
        """Compares it with the numpy reference under use_tpu, with TensorFlow without."""
        features, labels = self.batch(0)
        want = reference.reference_logits(reference.values(), features, classifier.to_bfloat16)
        want_f32 = reference.predict(features)
        loss, tpu = self.first_step(initial, 'true')
        f32_loss, f32 = self.first_step(initial, 'false')

        self.assertEqual(tpu.shape, want_f32.shape)
        scale = max(1, np.abs(want_f32).max())
        errors = np.abs(tpu - want)
        share = np.mean(errors <= 1e-5)
        rounding = np.abs(tpu - f32)
        print(f'logits up to {scale:.2f}: {share:.2%} within 1e-5 of the reference, largest error '
              f'{errors.max():.1e}; from the float32 ones, which have one of '
              f'{np.abs(f32 - want_f32).max():.1e}, they differ by up to {rounding.max():.1e}, '
              f'{np.mean(rounding > 1e-5):.0%} by more than 1e-5')
        self.assertGreaterEqual(share, self.usual_share)
        self.assertLessEqual(errors.max(), 1e-3 * scale)
        # Rounding shows in nearly every logit, and by far more than what is tolerated above.
        self.assertGreater(np.mean(rounding > 1e-5), 0.9)
        self.assertGreater(rounding.max(), 1e-3)
        np.testing.assert_allclose(f32, want_f32, rtol=0, atol=1e-5 * scale)

        # The step that was trained had these logits.
        for got, logits in ((loss, want), (f32_loss, want_f32)):
            self.assertAlmostEqual(got, classifier.cross_entropy(logits, labels),
                                   delta=1e-5 * scale)

    def test_tpu_rounds_the_operands_of_products_to_bfloat16(self):
        reference = self.model(self.optimizer)
        self.compare_first_step(reference, reference.save(os.path.join(self.directory, 'fresh')))
        for _ in range(STEPS):  # gives biases other than 0, and larger logits
            reference.train(*self.batch(0))
        self.compare_first_step(reference, reference.save(os.path.join(self.directory, 'trained')))


class IrisTest(ParityTest, unittest.TestCase):
    model = iris_model.Iris
    optimizer = staticmethod(iris_model.example_optimizer)
    variables = iris_model.VARIABLES
    example = examples.IRIS
    in_order = ['--unset', 'train.input.transform.2']  # the shuffle
    batch_size = 128
    source = examples.csv_rows(examples.TRAINING_CSV)

    def prepare(self):
        self.features, self.labels = iris_model.read_rows(examples.TRAINING_CSV)

    def test_adagrad_of_the_example(self):
        self.expect_slots(self.train_both(self.optimizer), 'Adagrad')

    def test_momentum(self):
        got = self.train_both(lambda: v1.train.MomentumOptimizer(0.02, momentum=0.9),
                              *use_optimizer('momentum { momentum: 0.9 }', 0.02))
        self.expect_slots(got, 'Momentum')

    def test_nesterov_momentum(self):
        nesterov = 'momentum { momentum: 0.9 use_nesterov: true }'
        self.train_both(lambda: v1.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
                        *use_optimizer(nesterov, 0.02))

    def test_gradient_descent(self):
        self.train_both(lambda: v1.train.GradientDescentOptimizer(0.1),
                        *use_optimizer('gradient_descent {}', 0.1))


class MnistTest(ParityTest, unittest.TestCase):
    model = mnist_model.Mnist
    optimizer = staticmethod(mnist_model.example_optimizer)
    variables = mnist_model.VARIABLES
    no_dropout = ['--set', 'model.layer.dropout.dropout.rate=0']
    in_order = [*no_dropout, '--unset', 'train.input.transform.2']  # the shuffle
    batch_size = 128
    # At the example's rate the order of sums, another on each processor, is all that differs for
    # some 7 steps; then a value goes to the other side of an edge (of a ReLU, of a pool's largest),
    # and within a few steps more everything follows.
    steps = 6
    # A kernel's gradient sums up to 128 * 28 * 28 products of either sign: an element has an error
    # in proportion to their size, not to its own.
    value_tolerance = 1e-4
    small = 1
    # A flat background has one value in hundreds of places, which go to either side together.
    usual_share = 0.9

    def prepare(self):
        self.example = examples.convert_mnist(self.directory)
        self.source = f'tfrecord {{ file: "{self.directory}/test.tfrecord" }}'
        self.features, self.labels = mnist_model.read_rows(*examples.MNIST_IDX)

    def test_momentum_of_the_example(self):
        self.expect_slots(self.train_both(self.optimizer), 'Momentum')

    def curve(self, initial, rate, use_tpu):
        """The means of 20 losses over 220 steps."""
        model_dir = f'{self.model_dir}_{rate}_{use_tpu}'
        self.example.train(
            model_dir, *self.no_dropout, *EVERY_LOSS, *warm_start(initial),
            *use_optimizer('momentum { momentum: 0.9 }', rate), f'--use_tpu={use_tpu}',
            '--epochs=2.82')
        losses = list(written.scalars(written.read_events(model_dir), 'loss').values())
        self.assertEqual(len(losses), 220)
        return np.convolve(losses, np.full(20, 1 / 20), 'valid')

    def test_rounding_does_not_change_the_loss_curve(self):
        """The mean of 20 losses 200 steps later is within 2 % of float32's.

        At a fifth and a tenth of the example's rate, at a tenth every mean on the way too. With the
        rate changed by a millionth float32 differs from itself by 5 to 9 % at the example's rate, by
        0.6 % at a fifth.
        """
        initial = self.model(self.optimizer).save(os.path.join(self.directory, 'tensorflow'))
        for rate in (0.01, 0.005):
            rounded, f32 = (self.curve(initial, rate, use_tpu) for use_tpu in ('true', 'false'))
            error = np.abs(rounded / f32 - 1)
            print(f'rate {rate}: means of 20 losses {f32[0]:.4f} ... {f32[-1]:.4f}, with rounding '
                  f'they differ by up to {error.max():.2%}, the last by {error[-1]:.2%}')
            self.assertLess(f32[-1], 0.3 * f32[0])
            self.assertLess(error[-1], 0.02)
        self.assertLess(error.max(), 0.02)


if __name__ == '__main__':
    unittest.main()
