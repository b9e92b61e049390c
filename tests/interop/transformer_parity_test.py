"""Transformers train as those of Keras' layers do: same weights, same rows."""
import os
import unittest

import numpy as np

import classifier
import reference_optimizers
from classifier import tf, v1
from transformer_models import BertTiny, CharTransformer, Transformer
from zoo_models import ZooCase, relative_error

STEPS = 10
ROWS = 16
# Of a loss, and of a tensor's largest value: no value is at an edge, so that ten steps end a few of
# float32's 2^-24 apart. GELU by its approximation with tanh, or another epsilon of a norm, are 5e-6
# off and more.
SAME = 2e-6
ONE_CORE = 1, '--use_tpu=false'
EVERY_CORE = 8, '--use_tpu=true', '--set', 'model.matmul_precision=F32'

# Less than the norm of any gradient here.
CLIP = 0.1


def adamw(rate, excluded):
    """With a larger epsilon than usual, with which a value whose gradient is noise, as that of the bias
    of keys is, would change by the rate."""
    return reference_optimizers.AdamW(rate, 0.9, 0.999, 0.001, weight_decay_rate=0.1,
                                      exclude_from_weight_decay=excluded)


def setting_of(schedule, excluded):
    return ('model.optimizer=[{ adamw { epsilon: 0.001 weight_decay_rate: 0.1 exclude_from_weight_decay: '
            f'{excluded} }} clip_by_global_norm: {CLIP} learning_rate {{ linear_warmup {{ '
            f'warmup_steps: 4 schedule {{ {schedule} }} }} }} }}]').replace("'", '"')


def warmed_up(step, rate):
    return rate * tf.minimum(1.0, tf.cast(step, tf.float32) / 4)


TEXT_EXCLUDED, PAIRS_EXCLUDED = ['norm/', 'bias$', 'embeddings$'], ['norm/', 'bias$']
TEXT_OPTIMIZER = setting_of('constant: 0.01', TEXT_EXCLUDED)
PAIRS_OPTIMIZER = setting_of('polynomial_decay { initial_learning_rate: 0.005 decay_steps: 20 '
                             'end_learning_rate: 0 }', PAIRS_EXCLUDED)


def text_optimizer(step):
    return adamw(warmed_up(step, 0.01), TEXT_EXCLUDED)


def pairs_optimizer(step):
    return adamw(warmed_up(step, v1.train.polynomial_decay(0.005, step, 20, 0.0)), PAIRS_EXCLUDED)


TEXT = CharTransformer('abcdefghijklmnopqrstuvwxyz .,!', time=24, width=32, heads=2, ffn_units=64,
                       blocks=2)


class TransformerParityTest(ZooCase):

    def compare(self, kind, replicas, optimizer, setting, *flags):
        columns = kind.write(self.directory, STEPS * ROWS)
        model = Transformer(kind, optimizer=optimizer, clip=CLIP, replicas=replicas)
        model.draw()
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        batches = [[column[step * ROWS:(step + 1) * ROWS] for column in columns]
                   for step in range(STEPS)]
        want = [model.train(*batch) for batch in batches]
        settings = (part for one in (*kind.settings, setting) for part in ('--set', one))
        got = self.train(self.example(kind.folder), initial, STEPS, ROWS, *flags, *settings)
        error = classifier.largest_relative_error(got, want)
        print(f'losses {want[0]:.6f} ... {want[-1]:.6f}, largest relative error {error:.1e}')
        values = self.values_at(STEPS)
        errors = {name: relative_error(values[name], value)
                  for name, value in model.values().items() if name in model.gradients}
        worst = max(errors, key=errors.get)
        print(f'of {len(errors)} variables the largest error is {errors[worst]:.1e}, of {worst}')
        self.assertLess(error, SAME)
        self.assertLess(want[-1], 0.95 * want[0])
        self.assertLess(errors[worst], SAME)
        return columns

    def compare_text(self, replicas, *flags):
        self.compare(TEXT, replicas, text_optimizer, TEXT_OPTIMIZER, *flags)

    def test_causal_transformer(self):
        self.compare_text(*ONE_CORE)

    def test_causal_transformer_on_every_core(self):
        self.compare_text(*EVERY_CORE)

    def compare_pairs(self, replicas, *flags):
        columns = self.compare(BertTiny(), replicas, pairs_optimizer, PAIRS_OPTIMIZER, *flags)
        columns = dict(zip(BertTiny.columns, columns))
        for column in ('input_mask', 'masked_lm_weights'):
            self.assertTrue(0.5 < np.mean(columns[column]) < 0.95)

    def test_bert(self):
        self.compare_pairs(*ONE_CORE)

    def test_bert_on_every_core(self):
        self.compare_pairs(*EVERY_CORE)


if __name__ == '__main__':
    unittest.main()
