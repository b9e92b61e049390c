"""How the rows of the input come to the cores, and of what shapes they may be."""
import json
import unittest

from line import CORES, LineTest, NO_HEAD
from program import write


class DeploymentTest(LineTest):
    """x of row i is i: upstream's 128 rows of 2 cores are 128 of 8."""

    def setUp(self):
        super().setUp()
        self.write_rows(512, lambda row: row)

    def rows(self, form, batch, *flags, verb='train', steps=2):
        """Of each step, of each core: how many rows it has, and its first four."""
        if verb == 'train':
            flags += (f'--max_steps={steps}', f'--model_dir={form}_{batch}', *NO_HEAD, '--set',
                      'model.optimizer.0.learning_rate={ constant: 1e-9 }')
            flags += (f'--train_batch_size={batch}',)
        else:
            field = 'eval_batch_size' if verb == 'evaluate' else 'predict_batch_size'
            flags += ('--allow_untrained', f'--{field}={batch}')
        fed = self.fed(verb, '--set', f'tpu_config.per_host_input_for_training={form}', *flags)
        return [[(core['rows'], [x for [x] in core['x']]) for core in step] for step in fed]

    def test_032_a_pipeline_a_core_for_its_share(self):
        """Each reads every eighth row, in batches of 128 / 8, and begins at one of its own."""
        self.assertEqual(self.rows('PER_SHARD_V1', 128), [
            [(16, [128 * step + core + CORES * i for i in range(4)]) for core in range(CORES)]
            for step in range(2)])

    def test_032_no_input_is_read_before_there_is_a_verb_to_read_it(self):
        write(self.path('rows.csv'), 'not a number\n')
        for verb in ('config', 'summary'):
            self.succeed(*self.arguments(verb, '--set', 'train.max_steps=1', '--set',
                                         'tpu_config.per_host_input_for_training=PER_SHARD_V1'))

    def contiguous(self, batch, steps=2):
        share = batch // CORES
        return [[(share, [batch * step + share * core + i for i in range(min(share, 4))])
                 for core in range(CORES)] for step in range(steps)]

    def test_033_a_pipeline_for_the_whole_batch(self):
        self.assertEqual(self.rows('PER_HOST_V1', 128), self.contiguous(128))
        # Of a plain input a batch a core, in turn, is the same rows.
        self.assertEqual(self.rows('PER_HOST_V2', 128), self.contiguous(128))

    def test_035_every_core_has_the_whole_batch(self):
        self.assertEqual(self.rows('BROADCAST', 127), [
            [(127, [127 * step + i for i in range(4)])] * CORES for step in range(2)])

    def test_037_prediction_too(self):
        [*_, last] = self.rows('BROADCAST', 127, verb='predict')
        self.assertEqual(last, [(127, [508, 509, 510, 511])] * CORES)

    def test_052_sliced_evaluation_of_a_training_that_broadcasts(self):
        sliced = ('--set', 'tpu_config.eval_training_input_configuration=SLICED')
        for verb in ('evaluate', 'predict'):
            self.assertEqual(self.rows('BROADCAST', 128, *sliced, verb=verb), self.contiguous(128, 4))

    def on_4_hosts(self, form, batch):
        """Of two steps the number of rows, and the first of each core."""
        steps = self.rows(form, batch, '--set', 'tpu_config.num_shards=32')
        return [[(count, rows[0]) for count, rows in step] for step in steps]

    def test_063_a_pipeline_a_host(self):
        """Each of 4 reads every fourth row, in batches of 256 / 4."""
        self.assertEqual(self.on_4_hosts('PER_HOST_V1', 256), [
            [(8, 256 * step + host + 4 * 8 * core) for host in range(4) for core in range(8)]
            for step in range(2)])

    def test_064_a_pipeline_a_core_of_several_hosts(self):
        self.assertEqual(self.on_4_hosts('PER_SHARD_V1', 256), [
            [(8, 256 * step + core) for core in range(32)] for step in range(2)])


class FeaturesTest(LineTest):

    def test_058_one_and_ten_small_features_train(self):
        """Ten of width 1, which TPUEstimator packs into one tensor, are one of width 10."""
        losses = []
        rows = [[(row * (i + 3)) % 7 / 4 for i in range(10)] + [row % 3] for row in range(32)]
        write(self.path('rows.csv'), ''.join(','.join(map(str, row)) + '\n' for row in rows))
        ten = ' '.join(f'column {{ name: "x{i}" shape: 1 }}' for i in range(10))
        label = 'column { name: "y" shape: 1 }'
        for name, columns, features, layers in (
                ('one', 'column { name: "x" shape: 10 }', 'feature { name: "x" shape: 10 }', ''),
                ('ten', ten, ' '.join(f'feature {{ name: "x{i}" shape: 1 }}' for i in range(10)),
                 'layer { name: "all" concat {} ' + ' '.join(f'input: "x{i}"' for i in range(10)) + ' }')):
            write(self.path('run.textproto'), f"""
train_batch_size: 16
train {{ input {{ source {{ text_line {{ file: "rows.csv" }} }}
  transform {{ decode_csv {{ {columns} {label} }} }} }} }}
model {{ name: "{name}" {features} label {{ name: "y" shape: 1 }} {layers}
  layer {{ name: "dense" dense {{ units: 1 kernel_initializer {{ zeros {{}} }} }} }}
  head {{ regression {{ logits: "dense" label: "y" }} }}
  optimizer {{ gradient_descent {{}} learning_rate {{ constant: 0.01 }} cross_shard {{}} }} }}""")
            losses.append(self.train(f'--model_dir={name}', '--steps=10')['loss'])
        self.assertEqual(*losses)
        self.assertLess(losses[0], 1)

    def test_062_features_of_many_types_and_shapes_come_back(self):
        """Of nested ones, as their names say it: a textproto has no dicts."""
        tensors = {'plain': ('FLOAT32', [2]), 'group/number': ('INT32', []),
                   'group/wide': ('FLOAT32', [2, 3]), 'group/deeper/long': ('INT64', [2]),
                   'truth': ('BOOL', []), 'count': ('UINT32', [])}
        rows = []
        for row in range(24):
            rows.append({'plain': [row, row + 0.5], 'group/number': -row,
                         'group/wide': [[row, row + 1, row + 2], [row / 2, row / 4, row / 8]],
                         'group/deeper/long': [row + 100, -row], 'truth': bool(row % 3 == 0),
                         'count': row + 7})

        def flat(value):
            return [part for item in value for part in flat(item)] if isinstance(value, list) else [value]

        slices = ''.join(
            'feature {{ name: "{}" {} {{ {} {} }} }}'.format(
                name, 'float' if kind == 'FLOAT32' else 'int64',
                ' '.join(f'value: {int(value) if kind != "FLOAT32" else value}'
                         for row in rows for value in flat(row[name])),
                ' '.join(f'shape: {dim}' for dim in shape))
            for name, (kind, shape) in tensors.items())
        casts = ''.join(f'transform {{ cast {{ feature: "{name}" dtype: {kind} }} }}'
                        for name, (kind, _) in tensors.items() if kind not in ('FLOAT32', 'INT64'))
        declared = ''.join(f'feature {{ name: "{name}" dtype: {kind} ' +
                           ' '.join(f'shape: {dim}' for dim in shape) + ' }'
                           for name, (kind, shape) in tensors.items())
        write(self.path('run.textproto'), f"""
model_dir: "none" predict_batch_size: 16
predict {{ input {{ source {{ from_tensor_slices {{ {slices} }} }} {casts} }} }}
model {{ name: "same" {declared}
  layer {{ name: "relu" activation {{ function: RELU }} input: "plain" }}
  {' '.join(f'prediction {{ name: "{name}" }}' for name in tensors)} }}""")
        for tpu in ('true', 'false'):
            done = self.succeed(*self.arguments('predict', '--allow_untrained', f'--use_tpu={tpu}'))
            self.assertEqual([json.loads(line) for line in done.out.splitlines()], rows)


class ShapeTest(LineTest):
    """A dimension that is not known is -1, as TensorFlow writes it; all are told of at once."""

    def refuse_shapes(self, wanted, *flags):
        messages = self.refuse('train', '--steps=1', *flags)
        self.assertEqual(len(messages), len(wanted), messages)
        for message, noun in zip(messages, wanted):
            self.assertRegex(message, f'{noun}.*-1')

    def test_088_of_the_feature(self):
        self.refuse_shapes(['feature 0 "x"'], '--set', 'model.feature.0.shape=[-1]')

    def test_089_of_one_of_several_features(self):
        self.refuse_shapes(['feature 1 "z"'], '--set', 'model.feature+={ name: "z" shape: -1 }', '--set',
                           'model.layer.dense.input=["x"]')

    def test_090_of_the_label(self):
        self.refuse_shapes(['label 0 "y"'], '--set', 'model.label.0.shape=[-1]')

    def test_091_of_several_labels(self):
        self.refuse_shapes(['label 0 "y"', 'label 1 "z"'], '--set', 'model.label.0.shape=[-1]', '--set',
                           'model.label+={ name: "z" shape: [2, -1] }')

    def test_092_of_a_prediction(self):
        """One that is not of so many rows as the batch has."""
        self.refuse_once(r'layer 1 "total": result 0 of reduce_sum must have the examples first', 'predict',
                         '--allow_untrained', '--set', 'model.layer+={ name: "total" op { name: '
                         '"reduce_sum" attrs: "axes=[0]" } }', '--set',
                         'model.prediction+={ name: "total" }')


if __name__ == '__main__':
    unittest.main()
