"""Transformers train as those of Keras' layers do: same weights, same rows."""
import os
import unittest

import numpy as np

import classifier
import program
import reference_optimizers
import transformer_models
from classifier import tf, v1
from transformer_models import Transformer
from zoo_models import ZooCase, relative_error

STEPS = 10
ROWS, TIME, LETTERS = 16, 24, 'abcdefghijklmnopqrstuvwxyz .,!'
TOKENS, PREDICTIONS = 128, 20
# Of a loss, and of a tensor's largest value: no value is at an edge, so ten steps end a few of float32's
# 2^-24 apart. GELU by its approximation with tanh, or a norm's other epsilon, are 5e-6 off and more.
SAME = 2e-6
# On one core, and on eight.
CPU = ('--use_tpu=false',)
TPU = ('--use_tpu=true', '--set', 'model.matmul_precision=F32')

# Of the gradient of a core, about a tenth of what it is.
CLIP = 0.1


def adamw(rate, excluded):
    """Each step changes each value by about the rate: with the usual epsilon also one whose gradient is
    noise, as that of the bias of keys is."""
    return reference_optimizers.AdamW(rate, 0.9, 0.999, 0.001, weight_decay_rate=0.1,
                                      exclude_from_weight_decay=excluded)


def setting_of(schedule, excluded):
    return ('optimizer=[{ adamw { epsilon: 0.001 weight_decay_rate: 0.1 exclude_from_weight_decay: '
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


# Of two blocks of width 32.
SMALL_TEXT = (
    f'feature.text.shape={TIME}', f'label.next.shape={TIME}',
    f'layer.embedding.embedding.input_dim={len(LETTERS)}', 'layer.embedding.embedding.output_dim=32',
    f'layer.position.position_embedding.max_length={TIME}', 'layer.dropout.dropout.rate=0',
    'layer.block.transformer_block.num_heads=2', 'layer.block.transformer_block.key_dim=16',
    'layer.block.transformer_block.ffn_units=64', 'layer.block.transformer_block.dropout=0',
    'layer.block.transformer_block.repeat=2', f'layer.logits.dense.units={len(LETTERS)}')
ATTENTION = 'layer.layer.sequence.layer.attention.residual.layer'
NO_DROPOUT = ('layer_defaults.dropout.rate=0', f'{ATTENTION}.self.multi_head_attention.dropout=0')


def small_transformer(net, text, following):
    return transformer_models.char_transformer(net, text, following, letters=len(LETTERS), width=32,
                                               heads=2, ffn_units=64, blocks=2)


class TransformerParityTest(ZooCase):

    def compare(self, model, folder, columns, settings, flags):
        example = self.example(folder)
        model.draw()
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        batches = [[column[step * ROWS:(step + 1) * ROWS] for column in columns]
                   for step in range(STEPS)]
        want = [model.train(*batch) for batch in batches]
        got = self.train(example, initial, STEPS, ROWS, *flags, *(
            part for setting in settings for part in ('--set', f'model.{setting}')))
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

    def write_text(self):
        """Each letter depends on the one before, or on that three before; the windows, and what
        follows each letter of them."""
        draw = np.random.default_rng(1)
        windows = STEPS * ROWS
        ids = list(range(len(LETTERS)))  # each is in the vocabulary
        while len(ids) < windows * TIME + 1:
            ids.append(draw.choice([(3 * ids[-1] + 1) % len(LETTERS), ids[-3], draw.integers(4)]))
        vocabulary = sorted(LETTERS)
        self.text = os.path.join(self.directory, 'input.txt')
        with open(self.text, 'w', encoding='utf-8') as file:
            file.write(''.join(vocabulary[i] for i in ids))
        return [np.reshape(ids[at:at + windows * TIME], [windows, TIME]) for at in (0, 1)]

    def compare_text(self, replicas, flags):
        columns = self.write_text()
        model = Transformer(small_transformer, [(tf.int32, [TIME])] * 2, optimizer=text_optimizer,
                            clip=CLIP, replicas=replicas)
        source = f'{{ text {{ file: "{self.text}" sequence_length: {TIME} }} }}'
        self.compare(model, 'models/zoo/char_transformer', columns,
                     (*SMALL_TEXT, TEXT_OPTIMIZER), (*flags, '--set', f'train.input.source={source}'))

    def test_causal_transformer(self):
        self.compare_text(1, CPU)

    def test_causal_transformer_on_every_core(self):
        self.compare_text(8, TPU)

    def compare_pairs(self, replicas, flags):
        program.run('convert', 'synthetic', 'sentence_pairs', f'--examples={STEPS * ROWS}',
                    '--seed=1', f'--output={self.records}')
        columns = transformer_models.read_pairs(self.records, TOKENS, PREDICTIONS)
        ids, mask, _, _, _, weights, _ = columns
        self.assertTrue(0 < np.mean(mask == 0) < 0.5 and np.all(ids[mask == 0] == 0))
        self.assertTrue(0 < np.mean(weights == 0) < 0.5)
        dims = transformer_models.dims_of_pairs(TOKENS, PREDICTIONS)
        model = Transformer(
            transformer_models.bert_tiny,
            [(dtype, dims[name]) for name, dtype in transformer_models.PAIRS.items()],
            optimizer=pairs_optimizer, clip=CLIP, replicas=replicas)
        self.compare(model, 'models/zoo/bert_tiny', columns, (*NO_DROPOUT, PAIRS_OPTIMIZER), flags)

    def test_bert(self):
        self.compare_pairs(1, CPU)

    def test_bert_on_every_core(self):
        self.compare_pairs(8, TPU)


if __name__ == '__main__':
    unittest.main()
