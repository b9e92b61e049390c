"""The forms of per_host_input_for_training against TensorFlow: the batch sizes are TPUContext's, the
rows that --dump_infeed shows are those of tf.data pipelines called with them, and a core's pipeline
is the one that shard and a seed make.
"""
import itertools
import json
import os
import re
import tempfile
import unittest
from unittest import mock

import tensorflow as tf
from tensorflow_estimator.python.estimator.tpu import tpu_config, tpu_context

import philox
import examples

CORES = 8
SHOWN = 4  # rows of a core in a dump
ROWS = 53
BATCH = 16
STEPS = 12
FORMS = ('PER_SHARD_V1', 'PER_HOST_V1', 'PER_HOST_V2', 'BROADCAST')
INPUT = """input {{ source {{ text_line {{ file: "{folder}/rows.csv" }} }} transform {{
  decode_csv {{ column {{ name: "x" dtype: FLOAT32 shape: 1 }} }} }} {transforms} }}"""
RUN = """
model_dir: "{folder}/model"
train_batch_size: {batch} eval_batch_size: {batch} predict_batch_size: {batch}
train {{ max_steps: 1000000 {input} }} evaluate {{ {input} }} predict {{ {input} }}
tpu_config {{ {form} }}
model {{
  feature {{ name: "x" dtype: FLOAT32 shape: 1 }}
  layer {{ name: "dense" dense {{ units: 1 kernel_initializer {{ zeros {{}} }} }} }}
  loss {{ name: "loss_of_line" mean_squared_error {{ labels: "x" predictions: "dense" }} }}
  prediction {{ name: "line" tensor: "dense" }}
  optimizer {{ gradient_descent {{}} learning_rate {{ constant: 0 }} cross_shard {{}} }}
}}
"""
VERBS = {tf.estimator.ModeKeys.TRAIN: 'train', tf.estimator.ModeKeys.EVAL: 'evaluate',
         tf.estimator.ModeKeys.PREDICT: 'predict'}
# What stands between the rows and the batch, in both languages.
TRANSFORMS = (
    ('transform { repeat {} } transform { batch { drop_remainder: true } }',
     lambda rows, size: rows.repeat().batch(size, drop_remainder=True)),
    ('transform { batch { drop_remainder: true } } transform { repeat {} }',
     lambda rows, size: rows.batch(size, drop_remainder=True).repeat()),
    ('transform { skip { count: 3 } } transform { repeat { count: 9 } } transform { take { count: 47 '
     '} } transform { batch { drop_remainder: true } } transform { repeat {} }',
     lambda rows, size: rows.skip(3).repeat(9).take(47).batch(size, drop_remainder=True).repeat()),
)
AT_THE_END = (
    ('', lambda rows, size: rows.batch(size)),
    ('transform { batch { drop_remainder: true } }',
     lambda rows, size: rows.batch(size, drop_remainder=True)),
)


def context(form, evaluation, batch, mode):
    """TPUEstimator's, of a v2-8."""
    configurations = tpu_config.InputPipelineConfig
    config = tpu_config.RunConfig(tpu_config=tpu_config.TPUConfig(
        per_host_input_for_training=getattr(configurations, form),
        eval_training_input_configuration=getattr(configurations, evaluation)))
    made = tpu_context._get_tpu_context(config, batch, batch, batch, True, True, None)
    system = mock.Mock(num_cores=CORES, num_hosts=1, num_of_cores_per_host=CORES, topology=None)
    made._get_tpu_system_metadata = lambda: system
    return made.with_mode(mode)


class InfeedFormsTest(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = directory.name
        with open(os.path.join(self.folder, 'rows.csv'), 'w', encoding='ascii') as file:
            file.writelines(f'{row}\n' for row in range(ROWS))

    def call(self, verb, form, *flags, transforms='', evaluation='PER_HOST_V1', batch=BATCH):
        config = os.path.join(self.folder, 'run.textproto')
        form = (f'per_host_input_for_training: {form} '
                f'eval_training_input_configuration: {evaluation}')
        of_input = INPUT.format(folder=self.folder, transforms=transforms)
        with open(config, 'w', encoding='ascii') as file:
            file.write(RUN.format(folder=self.folder, batch=batch, input=of_input, form=form))
        return examples.call(verb, f'--config={config}', f'--dump_infeed={self.folder}', *flags)

    def dump(self, verb, form, *flags, **options):
        """Of each step the x of each core's first rows; and how many rows a core has."""
        done = self.call(verb, form, *flags, **options)
        self.assertEqual(done.code, 0, str(done))
        steps, rows = {}, set()
        with open(os.path.join(self.folder, f'{verb}.jsonl'), encoding='ascii') as file:
            for line in file:
                shown = json.loads(line)
                features = shown['features']
                weights = features.get('row_weight', [1] * SHOWN)
                steps.setdefault(shown['step'], []).append(
                    [x for [x], weight in zip(features['x'], weights) if weight])
                rows.add(shown['rows'])
        self.assertEqual(len(rows), 1)
        return list(steps.values()), rows.pop()

    def test_batch_sizes(self):
        checked = 0
        for form, (mode, verb), evaluation in itertools.product(FORMS, VERBS.items(),
                                                                ('PER_HOST_V1', 'SLICED')):
            with context(form, evaluation, BATCH, mode) as want:
                input_size, model_size = want.batch_size_for_input_fn, want.batch_size_for_model_fn
            flags = ('--allow_untrained',) if verb != 'train' else ('--max_steps=1', )
            flags += (f'--model_dir={self.folder}/{form}_{evaluation}_{verb}',)
            _, rows = self.dump(verb, form, *flags, evaluation=evaluation)
            self.assertEqual(rows, model_size, (form, verb, evaluation))
            done = self.call(verb, form, *flags[:1], f'--model_dir={self.folder}/none',
                             evaluation=evaluation, transforms='transform { batch { batch_size: 1 } }')
            self.assertEqual(done.code, 2, str(done))
            self.assertEqual(re.findall(r'want (\d+), got 1', done.err), [str(input_size)],
                             (form, verb, evaluation, str(done)))
            checked += 1
        self.assertEqual(checked, 24)

    def dealt(self, form, pipeline):
        """Steps of the rows of each core, as TPUEstimator enqueues them on one host."""
        with context(form, 'PER_HOST_V1', BATCH, tf.estimator.ModeKeys.TRAIN) as of_form:
            size = of_form.batch_size_for_input_fn
            per_core, broadcast = (of_form.is_input_sharded_per_core(),
                                   of_form.is_input_broadcast_with_iterators())
            in_turn = of_form.is_input_per_host_with_iterators()
        rows = tf.data.Dataset.range(ROWS)
        if per_core:
            pipelines = [pipeline(rows.shard(CORES, core), size) for core in range(CORES)]
            return zip(*(batches.as_numpy_iterator() for batches in pipelines))
        batches = pipeline(rows, size).as_numpy_iterator()
        if broadcast:
            return ([batch] * CORES for batch in batches)
        if in_turn:
            return zip(*[batches] * CORES)
        return (tf.split(batch, CORES) for batch in batches)

    def test_training(self):
        for (transforms, pipeline), form in itertools.product(TRANSFORMS, FORMS):
            with tempfile.TemporaryDirectory() as model_dir:
                steps, _ = self.dump('train', form, f'--model_dir={model_dir}',
                                     f'--max_steps={STEPS}', transforms=transforms)
            want = [[list(rows[:SHOWN]) for rows in cores]
                    for cores in itertools.islice(self.dealt(form, pipeline), STEPS)]
            self.assertEqual(steps, want, (form, transforms))

    def test_the_end_of_an_evaluation(self):
        """A core's rows are what there is in its batch; TensorFlow has no padding of its own."""
        for (transforms, pipeline), form, verb in itertools.product(
                AT_THE_END, ('PER_HOST_V1', 'PER_HOST_V2'), ('evaluate', 'predict')):
            size = BATCH if form == 'PER_HOST_V1' else BATCH // CORES
            rows = pipeline(tf.data.Dataset.range(ROWS), size).unbatch()
            steps, _ = self.dump(verb, form, '--allow_untrained', transforms=transforms)
            got = [x for cores in steps for core in cores for x in core]
            self.assertEqual(got, list(rows.as_numpy_iterator()), (form, transforms))

    def test_a_core_is_a_shard_with_a_seed(self):
        shuffle = 'transform { shuffle { buffer_size: 5 } } transform { repeat {} }'
        with tempfile.TemporaryDirectory() as model_dir:
            steps, share = self.dump('train', 'PER_SHARD_V1', f'--model_dir={model_dir}',
                                     '--max_steps=9', '--tf_random_seed=3', transforms=shuffle)
        for core in range(CORES):
            low, high = philox.lanes(3, philox.stream_of('shard'), core, 0, 2)
            seed = int(low) | int(high) << 32
            seed -= 2**64 if seed >= 2**63 else 0
            with tempfile.TemporaryDirectory() as model_dir:
                # One core of a CPU takes the whole batch.
                alone, _ = self.dump(
                    'train', 'PER_HOST_V1', f'--model_dir={model_dir}', '--max_steps=9',
                    f'--tf_random_seed={seed}', '--use_tpu=false', batch=share,
                    transforms=f'transform {{ shard {{ num_shards: 8 index: {core} }} }} {shuffle}')
            self.assertEqual([cores[core] for cores in steps], [rows for [rows] in alone], core)


if __name__ == '__main__':
    unittest.main()
