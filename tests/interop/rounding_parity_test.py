"""The first step under use_tpu is TensorFlow's with every value rounded where a TPU rounds it.

Sums of the same numbers differ in their last bit when their order does. A sum on the edge between two
bfloat16s, of a relu or of a pool's largest then goes to the other side, and the values behind it with
it: of a whole ResNet nothing but the last layers is the same in two orders. So the gradients are
compared where no value is on an edge, all of them within 1e-5 of a tensor's largest value, and those
of whole models within what their own last bits do to them.
"""
import functools
import os
import unittest
from typing import Callable, NamedTuple

import numpy as np

import zoo_models
from arithmetic import StoredTpu, Tpu
from transformer_models import BertTiny, CharTransformer, RoundedNet, Transformer
from zoo_models import Model, Net, ZooCase, relative_error

REPLICAS = 8
# After the first step the slot is the gradient.
OPTIMIZER = ('model.optimizer=[{ momentum { momentum: 0.9 } learning_rate { constant: 0.01 } '
             'cross_shard { reduction: MEAN } }]')
# float32's 2^-24, of sums of thousands that cancel in part. What rounds a kind of value that is not to
# be rounded, or does not, or does so twice, moves each by up to bfloat16's 2^-9, and a gradient that
# sums thousands of them by 5e-4 or more.
SAME_ROUNDING = 1e-5
# A value on the other side of an edge is 2^-8 off, or a relu's gradient is there or not; of the
# thousands of the small models. A wrong gradient is off by a third or more.
ANOTHER_SIDE = 2 ** -5


class Images(NamedTuple):
    folder: str
    layers: Callable
    size: int
    channels: int
    batch: int
    settings: tuple = ()
    l2: float = 0.0
    scale: float = 1 / 255

    def model(self, arithmetic):
        return Model(self.layers, (self.size, self.size, self.channels), Net(arithmetic), l2=self.l2)

    def write(self, test):
        return test.write_images(self.batch, self.size, self.channels, scale=self.scale)


class Sequences(NamedTuple):
    kind: object
    batch: int

    def model(self, arithmetic):
        return Transformer(self.kind, RoundedNet(arithmetic))

    def write(self, test):
        return self.kind.write(test.directory, self.batch)

    @property
    def folder(self):
        return self.kind.folder

    @property
    def settings(self):
        return self.kind.settings


MNIST = Images('testdata/mnist', zoo_models.mnist, 28, 1, 128, (
    'model.layer.dropout.dropout.rate=0',
    # The pixels are bfloat16s.
    'transformation_func.parse.transform.2={ cast { feature: "image" dtype: FLOAT32 '
    'scale: 0.0078125 offset: -0.5 } }'), scale=1 / 128)
MNIST_BN = Images('models/zoo/mnist_bn', zoo_models.mnist_bn, 28, 1, 32)
RESNET = Images('models/zoo/resnet_cifar', zoo_models.resnet_cifar, 32, 3, 8, l2=1e-4)


def small(case, *settings, **changes):
    """Of images of 8x8."""
    shape = f'[8,8,{case.channels}]'
    return case._replace(size=8, settings=(
        f'model.feature.image.shape={shape}',
        f'transformation_func.parse.transform.1.decode_raw.shape={shape}', *settings), **changes)


SMALL_BN = small(MNIST_BN, batch=16)
# Of one block a group, a fourth as wide.
SMALL_RESNET = small(
    RESNET, 'model.layer.conv2d.filters=4',
    *(f'model.layer.group{group + 1}.resnet_block.{field}' for group in range(3)
      for field in (f'filters={4 << group}', 'repeat=1')),
    layers=functools.partial(zoo_models.resnet_cifar, filters=4, blocks=1))

# Of heads of 8: what divides their scores is no power of two.
SMALL_TEXT = Sequences(CharTransformer('abcdefghij', time=6, width=16, heads=2, ffn_units=16,
                                       blocks=1), 8)
TEXT = Sequences(CharTransformer('abcdefghijklmnopqrstuvwxyz .,!', time=24, width=32, heads=2,
                                 ffn_units=64, blocks=2), 16)
PAIRS = Sequences(BertTiny(), 8)


def without_noise(gradients):
    """All but that of the bias of keys, which adds the same to all scores of a query: it is 0 but for
    what was rounded."""
    return {name: value for name, value in gradients.items() if not name.endswith('/key/bias')}


def difference(got, want):
    """Of the norm of the tensor."""
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


class RoundingParityTest(ZooCase):

    def first_step(self, case, arithmetic, initial, *flags):
        """The loss and the gradients of tpurun."""
        stored = 'BFLOAT16' if isinstance(arithmetic, StoredTpu) else 'FLOAT32'
        settings = [f'model.compute_dtype={stored}', OPTIMIZER, *case.settings]
        self.model_dir = f'{initial}_model'
        self.dump_dir = f'{initial}_dump'
        losses = self.train(self.example(case.folder), initial, 1, case.batch, '--use_tpu=true',
                            f'--dump_dir={self.dump_dir}', *flags,
                            *(part for setting in settings for part in ('--set', setting)))
        slots = self.values_at(1)
        return losses[0], {name[:-len('/Momentum')]: value for name, value in slots.items()
                           if name.endswith('/Momentum')}

    def filters_minimally(self):
        """Whether the last step had a convolution by minimal filtering."""
        with open(os.path.join(self.dump_dir, '90.core.program'), encoding='utf-8') as program:
            return 'kernel="winograd_' in program.read()

    def errors_of(self, model, case, arithmetic, inputs, name, *flags):
        """The largest error of each gradient, and of the loss."""
        want_loss, want = model.first_step(*inputs, replicas=REPLICAS)
        initial = model.save(os.path.join(self.directory, name))
        loss, got = self.first_step(case, arithmetic, initial, *flags)
        self.assertEqual(sorted(got), sorted(want))
        return {'loss': abs(loss / want_loss - 1),
                **{name: relative_error(got[name], want[name]) for name in without_noise(want)}}

    def compare_exact(self, case, arithmetic):
        inputs = case.write(self)
        model = case.model(arithmetic)
        model.draw_few_bits()
        errors = self.errors_of(model, case, arithmetic, inputs, 'tensorflow')
        if self.filters_minimally():
            # Those sums are of other products than the definition's, and are not exact: how near they
            # are is for the test of the whole model.
            print('by minimal filtering: ', end='')
            self.print_worst(errors)
            self.assertLess(max(errors.values()), ANOTHER_SIDE)
            errors = self.errors_of(model, case, arithmetic, inputs, 'plain_loops',
                                    '--kernels=reference')
        self.print_worst(errors)
        self.assertLess(max(errors.values()), SAME_ROUNDING)

    def print_worst(self, errors):
        worst = max(errors, key=errors.get)
        print(f'of the loss and {len(errors) - 1} gradients the largest error is '
              f'{errors[worst]:.1e}, of {worst}')

    def compare_draws(self, case, arithmetic):
        """About half of the draws have a value on an edge, another half in another order of sums.
        Whatever is wrong is so in all."""
        inputs = case.write(self)
        model = case.model(arithmetic)
        worst = []
        for seed in range(12):
            model.draw_few_bits(seed)
            errors = self.errors_of(model, case, arithmetic, inputs, f'draw_{seed}')
            worst.append(max(errors.values()))
        print('the largest errors of the draws are', *(f'{error:.1e}' for error in sorted(worst)))
        self.assertLess(sorted(worst)[2], SAME_ROUNDING)
        self.assertLess(max(worst), ANOTHER_SIDE)

    def compare_whole(self, case, arithmetic):
        """Within five times what an error of float32's 2^-24 in each sum does to the reference: other
        draws of such errors, of which 10 values of a tensor may get few."""
        inputs = case.write(self)
        model = case.model(arithmetic())
        model.draw()
        want_loss, want = model.first_step(*inputs, replicas=REPLICAS)
        want = without_noise(want)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        noisy = case.model(arithmetic(noise=2 ** -24))
        noisy.restore(initial)
        draws = [noisy.first_step(*inputs, replicas=REPLICAS)[1] for _ in range(2)]
        spread = {name: max(difference(draw[name], want[name]) for draw in draws) for name in want}
        loss, got = self.first_step(case, arithmetic(), initial)
        error = {name: difference(got[name], want[name]) for name in want}
        share = {name: error[name] / min(5 * spread[name] + 1e-4, 0.8) for name in want}
        worst = max(share, key=share.get)
        print(f'loss {want_loss:.6f}, relative error {abs(loss / want_loss - 1):.1e}; gradients '
              f'differ by {min(error.values()):.1e} to {max(error.values()):.1e} of their norms, '
              f'from themselves by {min(spread.values()):.1e} to {max(spread.values()):.1e}; at '
              f'most {share[worst]:.2f} of what is allowed, {worst}')
        self.assertLess(abs(loss / want_loss - 1), 2 ** -9)
        self.assertLess(share[worst], 1)

    def test_operands_of_products(self):
        self.compare_exact(MNIST, Tpu())

    def test_operands_of_products_with_batch_norm(self):
        self.compare_draws(SMALL_BN, Tpu())

    def test_operands_of_products_in_residuals(self):
        self.compare_draws(SMALL_RESNET, Tpu())

    def test_operands_of_products_of_a_whole_mnist(self):
        self.compare_whole(MNIST, Tpu)

    def test_operands_of_products_of_a_whole_model_with_batch_norm(self):
        self.compare_whole(MNIST_BN, Tpu)

    def test_operands_of_products_of_a_whole_resnet(self):
        self.compare_whole(RESNET, Tpu)

    def test_operands_of_products_of_attention(self):
        self.compare_draws(SMALL_TEXT, Tpu())

    def test_operands_of_products_of_a_whole_causal_transformer(self):
        self.compare_whole(TEXT, Tpu)

    def test_operands_of_products_of_a_whole_bert(self):
        self.compare_whole(PAIRS, Tpu)

    def test_stored_values(self):
        self.compare_exact(MNIST, StoredTpu())

    def test_stored_values_with_batch_norm(self):
        self.compare_draws(SMALL_BN, StoredTpu())

    def test_stored_values_in_residuals(self):
        self.compare_draws(SMALL_RESNET, StoredTpu())

    def test_stored_values_of_a_whole_mnist(self):
        self.compare_whole(MNIST, StoredTpu)

    def test_stored_values_of_a_whole_model_with_batch_norm(self):
        self.compare_whole(MNIST_BN, StoredTpu)

    def test_stored_values_of_a_whole_resnet(self):
        self.compare_whole(RESNET, StoredTpu)


if __name__ == '__main__':
    unittest.main()
