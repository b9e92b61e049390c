"""Optimizers on the shards of a batch, as CrossShardOptimizer has them: gradients of each core's share
of the loss, clipped there, summed, and applied. Each replica's gradients are TensorFlow's, of its rows
alone. (Cases 164 and 165 of TPUEstimator's own tests.)"""
import os
import tempfile
import unittest

import numpy as np

import examples
import written
from classifier import tf, v1

CORES, STEPS = 8, 6
RUN = '''
model_file: "model.textproto"
train_batch_size: {batch}
eval_batch_size: {batch}
tpu_config {{ iterations_per_loop: "1" }}
save_summary_steps: 1
transformation_func {{ name: "parse" transform {{ decode_csv {{ {columns} }} }} }}
train {{ input {{ source {{ text_line {{ file: "rows.csv" }} }}
                 transform {{ apply {{ transformation_func: "parse" }} }} transform {{ repeat {{}} }}
                 transform {{ batch {{ drop_remainder: true }} }} }} }}
evaluate {{ input {{ source {{ text_line {{ file: "rows.csv" }} }}
                    transform {{ apply {{ transformation_func: "parse" }} }} }} }}
warm_start_from {{ ckpt_to_initialize_from: "{initial}" }}
'''


class Case(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.model_dir = os.path.join(directory.name, 'model')

    def prepare(self, model, columns, rows, batch, initial):
        """The example: `columns` (name, dtype, count) of the rows, `initial` values by name."""
        names = sorted(initial)
        prefix = os.path.join(self.directory, 'initial')
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[''] * len(names),
                          tensors=[initial[name] for name in names])
        texts = ' '.join(f'column {{ name: "{name}" dtype: {dtype} '
                         + (f'shape: {count} ' if count else '') + '}'
                         for name, dtype, count in columns)
        lines = [','.join(f'{value:.9g}' for value in row) + '\n' for row in rows]
        files = {'run.textproto': RUN.format(batch=batch, columns=texts, initial=prefix),
                 'model.textproto': model, 'rows.csv': ''.join(lines)}
        for name, text in files.items():
            with open(os.path.join(self.directory, name), 'w', encoding='utf-8') as file:
                file.write(text)
        self.example = examples.Example(self.directory)

    def train(self, steps, *flags, model_dir=None):
        """The losses, each the mean over cores, and all tensors at the end."""
        model_dir = model_dir or self.model_dir
        self.example.train(model_dir, f'--max_steps={steps}', *flags)
        losses = written.scalars(written.read_events(model_dir), 'loss')
        values = written.read_checkpoint(os.path.join(model_dir, f'model.ckpt-{steps}'))
        return list(losses.values()), values

    def expect_near(self, got, want, tolerance):
        """Relative to a tensor's largest value."""
        for name, value in want.items():
            self.assertEqual(np.shape(got[name]), np.shape(value), name)
            error = np.abs(got[name] - value).max() / max(np.abs(value).max(), 1e-30)
            self.assertLess(error, tolerance, name)


INPUTS, OUTPUTS, ROWS_A_CORE = 6, 2, 4
BATCH = CORES * ROWS_A_CORE
MODEL = f'''
feature {{ name: "x" dtype: FLOAT32 shape: {INPUTS} }}
label {{ name: "y" dtype: FLOAT32 shape: {OUTPUTS} }}
layer {{ name: "hidden" dense {{ units: 8 activation: TANH }} }}
layer {{ name: "out" dense {{ units: {OUTPUTS} }} }}
head {{ regression {{ logits: "out" label: "y" }} }}
matmul_precision: F32
'''
SIZES = {'hidden/kernel': [INPUTS, 8], 'hidden/bias': [8], 'out/kernel': [8, OUTPUTS],
         'out/bias': [OUTPUTS]}


class Replicas:
    """The model of those replicas that share weights. `scale` is of each one's loss, `clip` of its
    list of gradients."""

    def __init__(self, initial, optimizer, scale, clip=lambda gradients: gradients, l2=0.0):
        self.session = v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            trained = {name: v1.get_variable(name, initializer=value)
                       for name, value in initial.items()}
            self.fed = [v1.placeholder(tf.float32, [None, size]) for size in (INPUTS, OUTPUTS)]
            x, y = self.fed
            hidden = tf.tanh(x @ trained['hidden/kernel'] + trained['hidden/bias'])
            out = hidden @ trained['out/kernel'] + trained['out/bias']
            self.loss = tf.reduce_mean(tf.square(out - y))
            if l2:
                self.loss += l2 * tf.add_n([tf.nn.l2_loss(v) for v in trained.values()])
            local = tf.gradients(self.loss * scale, list(trained.values()))
            self.norm = tf.linalg.global_norm(local)
            self.largest = tf.reduce_max([tf.reduce_max(tf.abs(gradient)) for gradient in local])
            self.local = clip(local)
            self.sums = [v1.placeholder(tf.float32, v.shape) for v in trained.values()]
            self.apply = optimizer().apply_gradients(zip(self.sums, trained.values()))
            self.variables = {v.op.name: v for v in v1.global_variables()}
            self.session.run(v1.global_variables_initializer())

    def of_each(self, shards, fetched):
        return [self.session.run(fetched, dict(zip(self.fed, shard))) for shard in shards]

    def step(self, shards):
        """The replicas' losses."""
        losses, local = zip(*self.of_each(shards, [self.loss, self.local]))
        sums = [np.sum(gradients, axis=0) for gradients in zip(*local)]
        self.session.run(self.apply, dict(zip(self.sums, sums)))
        return losses

    def values(self):
        return self.session.run(self.variables)


class ShardsTest(Case):

    def setUp(self):
        super().setUp()
        draw = np.random.default_rng(7)
        # Shards that differ in size, so that their gradients do.
        size = np.repeat(2.0 ** np.arange(-2, CORES - 2) / 8, ROWS_A_CORE)[:, None]
        self.x = np.float32(np.concatenate(
            [draw.normal(0, 1, (BATCH, INPUTS)) * (0.2 + size) for _ in range(STEPS)]))
        self.y = np.float32(np.sin(self.x[:, :OUTPUTS]) * 3 + draw.normal(0, 0.3, (len(self.x), 2)))
        self.initial = {name: np.float32(draw.normal(0, 0.3, dims)) for name, dims in SIZES.items()}

    def shards(self, step):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        return list(zip(np.split(self.x[rows], CORES), np.split(self.y[rows], CORES)))

    def train_here(self, optimizer, model=''):
        self.prepare(f'{MODEL} optimizer {{ {optimizer} }} {model}',
                     [('x', 'FLOAT32', INPUTS), ('y', 'FLOAT32', OUTPUTS)],
                     np.concatenate([self.x, self.y], 1), BATCH, self.initial)
        return self.train(STEPS)

    def steps_of(self, replicas):
        """The means of their losses, and the values at the end."""
        return [np.mean(replicas.step(self.shards(step))) for step in range(STEPS)], replicas.values()

    def compare(self, got, want, tolerance=1e-5):
        np.testing.assert_allclose(got[0], want[0], rtol=tolerance)
        self.expect_near(got[1], want[1], tolerance)
        self.assertFalse([name for name in got[1] if name.startswith('tpurun/core/')])

    def expect_other(self, got, other):
        """Further away than any rounding."""
        self.assertGreater(max(np.abs(got[1][name] - value).max() / np.abs(value).max()
                               for name, value in other[1].items()), 1e-3)

    def test_groups_diverge_and_replica_0_is_saved(self):
        groups = [[0, 5], [1, 4], [2, 7], [3, 6]]
        text = ' '.join(f'group_assignment {{ replica: {group} }}' for group in groups)
        losses, got = self.train_here('adagrad {} learning_rate { constant: 0.2 } '
                                      f'cross_shard {{ {text} }}')
        models = [Replicas(self.initial, lambda: v1.train.AdagradOptimizer(0.2), 1 / 2)
                  for _ in groups]
        want_losses = [np.mean([model.step([self.shards(step)[replica] for replica in group])
                                for model, group in zip(models, groups)]) for step in range(STEPS)]
        np.testing.assert_allclose(losses, want_losses, rtol=1e-5)
        values = [model.values() for model in models]
        for value, group in zip(values, groups):
            for replica in group:
                copy = {name: got[f'tpurun/core/{name}'][replica] for name in value}
                self.expect_near(copy, value, 1e-5)
        # Every variable and slot has all its copies there; under its name is replica 0's.
        self.assertEqual({name for name in got if name.startswith('tpurun/core/')},
                         {f'tpurun/core/{name}' for name in values[0]})
        for name in values[0]:
            copies = got[f'tpurun/core/{name}']
            np.testing.assert_array_equal(got[name], copies[0])
            for group in groups:
                np.testing.assert_array_equal(copies[group[0]], copies[group[1]])
            for group in groups[1:]:
                self.assertGreater(np.abs(copies[group[0]] - copies[0]).max(), 1e-3, name)
        # And it is evaluated.
        (x, y), rows = (self.x, self.y), len(self.x)
        hidden = np.tanh(x @ got['hidden/kernel'] + got['hidden/bias'])
        want = np.mean((hidden @ got['out/kernel'] + got['out/bias'] - y) ** 2)
        evaluated = self.example.evaluate(self.model_dir)
        self.assertEqual(evaluated['examples'], rows)
        self.assertAlmostEqual(evaluated['loss'], want, delta=1e-5 * want)

    def check_clipping(self, field, clip, size):
        """`clip(gradients, most)`; `size` of what is fetched of a replica's gradients."""
        def sgd():
            return v1.train.GradientDescentOptimizer(0.5)

        at_first = Replicas(self.initial, sgd, 1 / CORES)
        sizes = np.sort(at_first.of_each(self.shards(0), getattr(at_first, size)))
        most = float(np.float32(np.sqrt(sizes[2] * sizes[3])))  # below it are some replicas' alone
        self.assertLess(2 * sizes[2], sizes[-3])
        got = self.train_here(f'gradient_descent {{}} learning_rate {{ constant: 0.5 }} '
                              f'cross_shard {{ reduction: MEAN }} {field}: {most!r}')
        want = self.steps_of(Replicas(self.initial, sgd, 1 / CORES, lambda g: clip(g, most)))
        self.compare(got, want)
        # Neither not clipped, nor clipped before the loss was scaled,
        self.expect_other(got, self.steps_of(Replicas(self.initial, sgd, 1 / CORES)))
        before = Replicas(self.initial, sgd, 1, lambda g: [one / CORES for one in clip(g, most)])
        self.expect_other(got, self.steps_of(before))
        # nor the sum: that of the whole batch, which one replica has.
        whole = Replicas(self.initial, sgd, 1, lambda g: clip(g, most))
        for step in range(STEPS):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            whole.step([(self.x[rows], self.y[rows])])
        self.expect_other(got, (None, whole.values()))

    def test_clipping_by_the_global_norm_is_of_local_scaled_gradients(self):
        self.check_clipping('clip_by_global_norm', lambda gradients, most: (
            tf.clip_by_global_norm(gradients, most)[0]), 'norm')

    def test_clipping_by_value_is_of_local_scaled_gradients(self):
        self.check_clipping('clip_by_value', lambda gradients, most: [
            tf.clip_by_value(gradient, -most, most) for gradient in gradients], 'largest')

    def check_regularizer(self, reduction, scale, times):
        scale_of_l2 = 0.25
        got = self.train_here(
            'momentum { momentum: 0.9 } learning_rate { constant: 0.01 } '
            f'cross_shard {{ reduction: {reduction} }}',
            f'regularization {{ l2 {{ scale: {scale_of_l2} }} }}')

        def momentum():
            return v1.train.MomentumOptimizer(0.01, 0.9)

        self.compare(got, self.steps_of(Replicas(self.initial, momentum, scale, l2=scale_of_l2)))
        # The same again, the regularizer added to the sum of the gradients: so often.
        apart = Replicas(self.initial, momentum, scale)
        names = list(self.initial)
        for step in range(STEPS):
            values = apart.values()
            local = apart.of_each(self.shards(step), apart.local)
            sums = [np.sum(gradients, axis=0) + np.float32(times * scale_of_l2) * values[name]
                    for name, gradients in zip(names, zip(*local))]
            apart.session.run(apart.apply, dict(zip(apart.sums, sums)))
        self.expect_near(got[1], apart.values(), 1e-5)

    def test_a_regularizer_counts_once_under_mean(self):
        self.check_regularizer('MEAN', 1 / CORES, 1)

    def test_a_regularizer_counts_as_often_as_there_are_replicas_under_sum(self):
        self.check_regularizer('SUM', 1, CORES)


TABLE = 2  # columns
# The variable and its slot after a step, with the gradient g.
OPTIMIZERS = {'gradient_descent {}': (lambda w, g, rate: {'': w - rate * g}),
              'adagrad {}': (lambda w, g, rate: {
                  '': w - rate * g / np.sqrt(0.1 + g * g), '/Adagrad': 0.1 + g * g})}


class FewSamplesTest(Case):
    """One step of one or two samples a core, at the TPU's own precision, on the CPU, and by hand. The
    numbers have few bits: no operand of a product is rounded on a TPU either."""

    def check(self, model, columns, rows, initial, gradients):
        """`gradients`: the mean over cores of the gradients of each one's rows, by hand."""
        for optimizer, step in OPTIMIZERS.items():
            with self.subTest(optimizer):
                self.prepare(f'{model} optimizer {{ {optimizer} learning_rate {{ constant: 0.5 }} '
                             'cross_shard { reduction: MEAN } }', columns, rows, len(rows), initial)
                want = {name + slot: value for name, gradient in gradients.items()
                        for slot, value in step(initial[name].astype(np.float64), gradient,
                                                0.5).items()}
                folder = os.path.join(self.directory, optimizer.split()[0])
                _, tpu = self.train(1, model_dir=folder + '_tpu')
                _, cpu = self.train(1, '--use_tpu=false', model_dir=folder + '_cpu')
                self.expect_near(tpu, want, 1e-6)
                self.expect_near(cpu, want, 1e-6)
                self.expect_near(tpu, {name: cpu[name] for name in want}, 1e-6)

    def test_164_dense(self):
        model = '''
feature { name: "x" dtype: FLOAT32 shape: 3 } label { name: "y" dtype: FLOAT32 shape: 2 }
layer { name: "out" dense { units: 2 } } head { regression { logits: "out" label: "y" } }'''
        columns = [('x', 'FLOAT32', 3), ('y', 'FLOAT32', 2)]
        for samples in (1, 2):
            with self.subTest(samples=samples):
                draw = np.random.default_rng(samples)
                x, y, kernel, bias = (draw.integers(-2, 3, dims) / 2 for dims in (
                    (CORES * samples, 3), (CORES * samples, 2), (3, 2), 2))
                gradients = {'out/kernel': 0, 'out/bias': 0}
                for core in range(CORES):
                    rows = slice(core * samples, (core + 1) * samples)
                    error = x[rows] @ kernel + bias - y[rows]
                    # Of the mean over samples and outputs, divided by the number of cores.
                    slope = 2 * error / error.size / CORES
                    gradients['out/kernel'] += x[rows].T @ slope
                    gradients['out/bias'] += slope.sum(0)
                initial = {'out/kernel': np.float32(kernel), 'out/bias': np.float32(bias)}
                self.directory = os.path.join(self.directory, str(samples))
                os.mkdir(self.directory)
                self.check(model, columns, np.concatenate([x, y], 1), initial, gradients)

    def test_165_embeddings_of_ids_that_collide(self):
        # Few ids: the gradient is of the whole table; many: of the rows that are read.
        for num_ids in (5, 500):
            with self.subTest(num_ids=num_ids):
                draw = np.random.default_rng(num_ids)
                model = f'''
feature {{ name: "id" dtype: INT32 }} label {{ name: "y" dtype: FLOAT32 shape: {TABLE} }}
layer {{ name: "table" embedding {{ input_dim: {num_ids} output_dim: {TABLE} }} }}
head {{ regression {{ logits: "table" label: "y" }} }}'''
                columns = [('id', 'INT32', 0), ('y', 'FLOAT32', TABLE)]
                table = draw.integers(-2, 3, (num_ids, TABLE)) / 2
                # The same id twice on a core, on several cores, and once.
                ids = np.array([3, 3, 3, 1, 4, 4, 0, 3, 1, 3, 2, 2, 3, 0, 0, 1])
                y = draw.integers(-2, 3, (len(ids), TABLE)) / 2
                gradient = np.zeros_like(table)
                for row, one in enumerate(ids):
                    gradient[one] += 2 * (table[one] - y[row]) / (2 * TABLE) / CORES
                self.directory = os.path.join(self.directory, str(num_ids))
                os.mkdir(self.directory)
                self.check(model, columns, np.column_stack([ids, y]),
                           {'table/embeddings': np.float32(table)}, {'table/embeddings': gradient})
                dump = os.path.join(self.directory, 'dump')
                self.train(1, f'--dump_dir={dump}', model_dir=self.model_dir + str(num_ids))
                with open(os.path.join(dump, '90.core.program'), encoding='ascii') as file:
                    self.assertEqual('set_rows' in file.read(), num_ids == 500)


if __name__ == '__main__':
    unittest.main()
