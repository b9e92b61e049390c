"""Moving averages: those of tf.train.ExponentialMovingAverage, evaluated as scaffold_fn's usual use
restores them. (Case 143 of TPUEstimator's own tests.)"""
import os
import tempfile
import unittest

import numpy as np

import classifier
import exported
import iris_model
import examples
import written
from classifier import tf, v1

STEPS = 12
DECAY = 0.9
# Relative; of losses and metrics. Sums are in other orders.
TOLERANCE = 1e-5


def averages(fields=f'decay: {DECAY}'):
    return ['--set', f'model.moving_average={{ {fields} }}']


class Averaged:
    """An optimizer that keeps the averages of what it trains, as TPU models of its time do."""

    def __init__(self, optimizer, num_updates):
        self.optimizer, self.num_updates = optimizer, num_updates

    def minimize(self, loss, global_step):
        trained = self.optimizer.minimize(loss, global_step=global_step)
        num_updates = global_step if self.num_updates else None
        with tf.control_dependencies([trained]):
            return v1.train.ExponentialMovingAverage(DECAY, num_updates).apply()


def restore_averages(model, prefix):
    model.session.graph._unsafe_unfinalize()  # pylint: disable=protected-access
    with model.session.graph.as_default():
        names = v1.train.ExponentialMovingAverage(DECAY).variables_to_restore()
        v1.train.Saver(names).restore(model.session, prefix)


def write_used(prefix, of):
    """The checkpoint `of` with the averages in place of their variables; no averages."""
    values = {name: value for name, value in written.read_checkpoint(of).items()
              if not name.startswith('tpurun/')}
    for name in list(values):
        if name.endswith('/ExponentialMovingAverage'):
            values[os.path.dirname(name)] = values.pop(name)
    names = sorted(values)
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[''] * len(names),
                      tensors=[values[name] for name in names])
    return prefix


class Case(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.model_dir = os.path.join(directory.name, 'model')

    def values_at(self, step):
        return written.read_checkpoint(os.path.join(self.model_dir, f'model.ckpt-{step}'))

    def expect_close(self, got, want):
        self.assertLess(abs(got - want), TOLERANCE * max(1, abs(want)))


class IrisTest(Case):
    """Against TensorFlow's own training and evaluation."""

    def compare(self, num_updates, fields):
        features, labels = iris_model.read_rows(examples.TRAINING_CSV)
        reference = iris_model.Iris(lambda: Averaged(v1.train.AdagradOptimizer(0.1), num_updates))
        initial = reference.save(os.path.join(self.directory, 'initial'))
        losses = []
        for step in range(STEPS):
            rows = classifier.batch_rows(len(labels), 128, step)
            losses.append(reference.train(features[rows], labels[rows]))
        examples.IRIS.train(
            self.model_dir, '--unset', 'train.input.transform.2', *averages(fields),
            '--set', 'tpu_config.iterations_per_loop=1', '--save_summary_steps=1',
            '--set', f'warm_start_from={{ ckpt_to_initialize_from: "{initial}" }}',
            '--use_tpu=false', f'--max_steps={STEPS}')
        got = written.scalars(written.read_events(self.model_dir), 'loss')
        self.assertEqual(list(got), list(range(1, STEPS + 1)))
        np.testing.assert_allclose(list(got.values()), losses, rtol=TOLERANCE)
        got, want = self.values_at(STEPS), reference.values()
        self.assertEqual({name for name in got if not name.startswith('tpurun/')}, set(want))
        for name, value in want.items():
            np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
        self.evaluate(f'{self.model_dir}/model.ckpt-{STEPS}')
        return reference

    def evaluate(self, checkpoint):
        """tpurun and TensorFlow, both on the averages of the checkpoint."""
        features, labels = iris_model.read_rows(examples.TEST_CSV)
        used = iris_model.Iris(iris_model.example_optimizer)
        restore_averages(used, checkpoint)
        logits = used.predict(features)
        at = [f'--checkpoint={checkpoint}', '--use_tpu=false']
        got = examples.IRIS.evaluate(self.model_dir, *at, *averages())
        self.expect_close(got['loss'], classifier.cross_entropy(logits, labels))
        self.expect_close(got['accuracy'], np.mean(logits.argmax(1) == labels))
        rows = examples.IRIS.predict(self.model_dir, examples.csv_rows(examples.TEST_CSV), *at,
                                    *averages(), '--keys=logits')
        np.testing.assert_allclose([row['logits'] for row in rows], logits, atol=TOLERANCE)
        exports = exported.export(f'--config={examples.IRIS.config}', at[0], *averages(),
                                  '--model_dir=' + self.model_dir, '--unset', 'predict.keys')
        fed = dict(zip(('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth'), features.T))
        for kind, model in exported.models_of(exports).items():
            np.testing.assert_allclose(model(fed)['logits'], logits, atol=TOLERANCE, err_msg=kind)
        # The variables themselves say something else.
        raw = examples.IRIS.evaluate(self.model_dir, *at)
        self.assertGreater(abs(raw['loss'] - got['loss']), 0.01)

    def test_143_a_fixed_decay(self):
        reference = self.compare(False, f'decay: {DECAY}')
        # What TensorFlow has saved is evaluated as well.
        self.evaluate(reference.save(os.path.join(self.directory, 'theirs')))

    def test_a_decay_by_the_number_of_updates(self):
        self.compare(True, f'decay: {DECAY} num_updates_is_global_step: true')


ROWS, IDS = 96, 300
RUN = '''
model_file: "model.textproto"
train_batch_size: 32
eval_batch_size: 32
predict_batch_size: 32
transformation_func { name: "parse" transform { decode_csv {
  column { name: "id" dtype: INT32 } column { name: "x" dtype: FLOAT32 shape: 4 }
  column { name: "label" dtype: INT32 } } } }
train { input { source { text_line { file: "rows.csv" } }
                transform { apply { transformation_func: "parse" } } transform { repeat {} }
                transform { batch { drop_remainder: true } } } }
evaluate { input { source { text_line { file: "rows.csv" } }
                   transform { apply { transformation_func: "parse" } } } }
predict { keys: "logits" input { source { text_line { file: "rows.csv" } }
                                 transform { apply { transformation_func: "parse" } } } }
'''
# A table of which rows are updated, statistics, packed kernels, a layer that is not trained.
MODEL = f'''
feature {{ name: "id" dtype: INT32 }}
feature {{ name: "x" dtype: FLOAT32 shape: 4 }}
label {{ name: "label" dtype: INT32 }}
layer {{ name: "table" input: "id" embedding {{ input_dim: {IDS} output_dim: 12 }} }}
layer {{ name: "both" concat {{}} input: "table" input: "x" }}
layer {{ name: "fixed" dense {{ units: 32 }} }}
layer {{ name: "norm" batch_normalization {{}} }}
layer {{ name: "hidden" dense {{ units: 128 activation: RELU }} }}
layer {{ name: "logits" dense {{ units: 3 }} }}
head {{ classification {{ logits: "logits" label: "label" }} }}
optimizer {{ adam {{}} learning_rate {{ constant: 0.01 }} }}
frozen: "^fixed/"
moving_average {{ decay: {DECAY} }}
'''
AVERAGED = ['table/embeddings', 'norm/gamma', 'norm/beta', 'hidden/kernel', 'hidden/bias',
            'logits/kernel', 'logits/bias']
TEXT_RUN = '''
model_file: "model.textproto"
train_batch_size: 16
train { input { source { text { file: "text.txt" sequence_length: 10 } }
                transform { repeat {} } transform { batch { drop_remainder: true } } } }
predict { generate { start_string: "a" num_generate: 40 } }
'''
TEXT_MODEL = f'''
feature {{ name: "text" dtype: INT32 shape: 10 }}
label {{ name: "next" dtype: INT32 shape: 10 }}
layer {{ name: "table" input: "text" embedding {{ input_dim: 26 output_dim: 8 }} }}
layer {{ name: "lstm" lstm {{ units: 16 return_sequences: true }} }}
layer {{ name: "block" transformer_block {{ num_heads: 2 key_dim: 8 ffn_units: 32 causal: true }} }}
layer {{ name: "logits" dense {{ units: 26 }} }}
head {{ sequence {{ logits: "logits" label: "next" }} }}
optimizer {{ adam {{}} learning_rate {{ constant: 0.05 }} }}
moving_average {{ decay: {DECAY} }}
'''


class EveryVariableTest(Case):
    """The recurrence on what checkpoints have from step to step, and what is used of them."""

    def write(self, **files):
        for name, text in files.items():
            with open(os.path.join(self.directory, name.replace('_', '.')), 'w',
                      encoding='utf-8') as file:
                file.write(text)
        self.example = examples.Example(self.directory)

    def write_rows(self):
        draw = np.random.default_rng(3)
        x = draw.normal(0, 1, (ROWS, 4))
        rows = np.column_stack([draw.integers(0, IDS, ROWS), x, np.argmax(x[:, :3], 1)])
        self.write(run_textproto=RUN, model_textproto=MODEL, rows_csv=''.join(
            f'{int(row[0])},{",".join(f"{value:.6f}" for value in row[1:5])},{int(row[5])}\n'
            for row in rows))

    def train(self, *flags):
        self.example.train(self.model_dir, '--save_checkpoints_steps=1', '--keep_checkpoint_max=99',
                           '--set', 'tpu_config.iterations_per_loop=1', f'--max_steps={STEPS}',
                           *flags)

    def check_steps(self, averaged=AVERAGED, prefix=''):
        """Each average, bit for bit; below `prefix`."""
        share = np.float32(1) - np.float32(DECAY)
        before = self.values_at(0)
        self.assertEqual({name.removesuffix('/ExponentialMovingAverage') for name in before
                          if name.endswith('/ExponentialMovingAverage')
                          and name.startswith('tpurun/') == bool(prefix)},
                         {prefix + name for name in averaged})
        for name in averaged:
            np.testing.assert_array_equal(before[f'{prefix}{name}/ExponentialMovingAverage'],
                                          before[prefix + name])
        for step in range(1, STEPS + 1):
            after = self.values_at(step)
            for name in averaged:
                average = before[f'{prefix}{name}/ExponentialMovingAverage']
                want = average - (average - after[prefix + name]) * share
                np.testing.assert_array_equal(after[f'{prefix}{name}/ExponentialMovingAverage'], want,
                                              f'{name} after step {step}')
                self.assertTrue(np.any(want != after[prefix + name]), name)
            before = after

    def used(self, verb, *flags):
        """What the verb prints on the averages, and on a checkpoint whose variables they are."""
        checkpoint = f'{self.model_dir}/model.ckpt-{STEPS}'
        swapped = write_used(os.path.join(self.model_dir, 'used'), checkpoint)
        got = self.example.run(verb, self.model_dir, f'--checkpoint={checkpoint}', *flags)
        want = self.example.run(verb, self.model_dir, f'--checkpoint={swapped}', *flags,
                                '--unset', 'model.moving_average')
        for row in got + want:
            row.pop('checkpoint', None)
        return got, want

    def check_used(self, *flags):
        for verb in ('evaluate', 'predict'):
            got, want = self.used(verb, *flags)
            self.assertEqual(got, want)
        raw = self.example.evaluate(self.model_dir, '--unset', 'model.moving_average')
        self.assertNotEqual(raw['loss'], self.example.evaluate(self.model_dir)['loss'])

    def test_on_eight_cores(self):
        self.write_rows()
        dump = os.path.join(self.directory, 'dump')
        self.train(f'--dump_dir={dump}')
        with open(os.path.join(dump, '90.core.program'), encoding='ascii') as file:
            self.assertIn('set_rows', file.read())
        self.check_steps()
        self.check_used()

    def test_on_the_cpu(self):
        self.write_rows()
        self.train('--use_tpu=false')
        self.check_steps()
        self.check_used('--use_tpu=false')

    def test_groups_have_averages_of_their_own(self):
        self.write_rows()
        groups = ' '.join(f'group_assignment {{ replica: [{i}, {i + 4}] }}' for i in range(4))
        self.train('--set', f'model.optimizer.0.cross_shard={{ {groups} }}')
        self.check_steps()
        self.check_steps(prefix='tpurun/core/')
        copies = self.values_at(STEPS)['tpurun/core/logits/kernel/ExponentialMovingAverage']
        np.testing.assert_array_equal(copies[0], copies[4])
        self.assertTrue(np.any(copies[0] != copies[1]))
        self.check_used()

    def test_averages_begin_with_what_is_warm_started(self):
        self.write_rows()
        self.train()
        first = f'{self.model_dir}/model.ckpt-{STEPS}'
        values = self.values_at(STEPS)
        self.model_dir += '2'
        self.train('--set', f'warm_start_from={{ ckpt_to_initialize_from: "{first}" '
                   'var_name_to_prev_var_name { key: "hidden/kernel" '
                   'value: "hidden/kernel/ExponentialMovingAverage" } }')
        self.check_steps()
        np.testing.assert_array_equal(self.values_at(0)['logits/kernel'], values['logits/kernel'])
        np.testing.assert_array_equal(self.values_at(0)['hidden/kernel'],
                                      values['hidden/kernel/ExponentialMovingAverage'])

    def test_text_is_generated_from_the_averages(self):
        draw = np.random.default_rng(5)
        letters = np.array(list('abcdefghijklmnopqrstuvwxyz'))
        self.write(run_textproto=TEXT_RUN, model_textproto=TEXT_MODEL,
                   text_txt=''.join(letters) + ''.join(letters[draw.integers(0, 26, 600)]))
        self.train()
        averaged = [name for name in self.values_at(0)
                    if '/' in name and not name.startswith('tpurun/')
                    and not name.endswith(('/Adam', '/Adam_1', '/ExponentialMovingAverage'))]
        # Of attention too, whose kernels have three dimensions.
        self.assertIn(3, [self.values_at(0)[name].ndim for name in averaged])
        self.check_steps(averaged)
        got, want = self.used('predict')
        self.assertEqual(got, want)
        raw = self.example.run('predict', self.model_dir, '--unset', 'model.moving_average')
        self.assertNotEqual(raw[0]['text'], got[0]['text'])


if __name__ == '__main__':
    unittest.main()
