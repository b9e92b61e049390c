"""The same script of runs by tpurun and by TensorFlow's own TPUEstimator, both without a TPU: what they
leave and what they say agrees, call by call. What does not is here, with the reason: OURS_ALONE,
THEIRS_ALONE and the tests named after a difference; tests/contract/README.md has them in one table."""
import glob
import logging
import os
import re
import tempfile
import unittest
import warnings

import numpy as np
from tensorboard.util import tb_logging

import examples
import written
from written import tf

v1 = tf.compat.v1
tpu = v1.estimator.tpu

ROWS, BATCH = 100, 16
# 400 rows: four passes. TPUEstimator begins a resumed run at the first row of its input, tpurun where the
# input was; behind whole passes that is the same.
WHOLE_PASSES = 25
CONFIG = '''
use_tpu: false
train_batch_size: 16
eval_batch_size: 16
predict_batch_size: 8
transformation_func {{ name: "read"
  transform {{ parse_example {{
    feature {{ name: "x" float {{ shape: 2 }} }} feature {{ name: "y" int64 {{}} }} }} }}
  transform {{ cast {{ feature: "y" dtype: INT32 }} }} }}
train {{ input {{ source {{ tfrecord {{ file: "{rows}" }} }}
  transform {{ apply {{ transformation_func: "read" }} }} transform {{ repeat {{}} }}
  transform {{ batch {{ drop_remainder: true }} }} }} }}
evaluate {{ input {{ source {{ tfrecord {{ file: "{rows}" }} }}
  transform {{ apply {{ transformation_func: "read" }} }} }} }}
evaluate {{ name: "holdout" input {{ source {{ tfrecord {{ file: "{rows}" }} }}
  transform {{ apply {{ transformation_func: "read" }} }} }} }}
predict {{ input {{ source {{ tfrecord {{ file: "{rows}" }} }}
  transform {{ apply {{ transformation_func: "read" }} }} transform {{ take {{ count: 20 }} }} }} }}
model {{
  name: "classes"
  feature {{ name: "x" shape: 2 }}
  label {{ name: "y" dtype: INT32 }}
  layer {{ name: "hidden" dense {{ units: 8 activation: RELU }} }}
  layer {{ name: "logits" dense {{ units: 3 }} }}
  head {{ classification {{ logits: "logits" label: "y" }} }}
  optimizer {{ adagrad {{ initial_accumulator_value: 0.1 }} learning_rate {{ constant: 0.1 }}
              cross_shard {{}} }}
}}
'''
# Every 10 steps of everything, loops of one step.
TENS = {'iterations_per_loop': 1, 'save_checkpoints_steps': 10, 'save_summary_steps': 10,
        'log_step_count_steps': 10}

# {pattern of a file in model_dir: why}
OURS_ALONE = {
    r'run_config\.pbtxt': 'the effective configuration, which a later call can do without --config',
}
THEIRS_ALONE = {
    r'model\.ckpt-\d+\.meta': 'the graph that Python would build again; ours is in graph.pbtxt',
}
TENSORS_OF_OURS_ALONE = {
    r'tpurun/.*': 'the position of the input, what was trained, and on which machine',
}
TAGS_OF_OURS_ALONE = {
    'learning_rate': 'beside the loss, since nobody can write it by a host_call',
}
RESULTS_OF_OURS_ALONE = {
    'average_loss': 'which heads give, and its model_fn does not',
    'checkpoint': 'which one it was',
    'examples': 'how many rows there were',
    'loss_shard_0': "what is TPUEstimator's loss: ours is over all rows",
}


def shared_tags(tags):
    """Those of an evaluation that both write."""
    return {tag: steps for tag, steps in tags.items() if tag not in RESULTS_OF_OURS_ALONE}


def take_out(names, expected):
    """The names without those that a pattern of `expected` matches, each of which must match some."""
    for pattern in expected:
        kept = [name for name in names if not re.fullmatch(pattern, name)]
        if len(kept) == len(names):
            raise AssertionError(f'nothing of {names} is {pattern}')
        names = kept
    return names


class Left:
    """What is in a model_dir now."""

    def __init__(self, model_dir):
        self.files = sorted(re.sub(r'(events\.out\.tfevents)\..*', r'\1', name)
                            for name in os.listdir(model_dir)) if os.path.isdir(model_dir) else []
        state = tf.train.get_checkpoint_state(model_dir)
        self.listed = [step_of(path) for path in state.all_model_checkpoint_paths] if state else []
        self.saved = sorted(step_of(path[:-len('.index')])
                            for path in glob.glob(f'{model_dir}/model.ckpt-*.index'))
        self.tensors = written.read_checkpoint(state.model_checkpoint_path) if state else {}
        self.scalars = {}
        for folder in ('', 'eval', 'eval_holdout'):
            if glob.glob(os.path.join(model_dir, folder, 'events.out.tfevents.*')):
                events = written.read_events(os.path.join(model_dir, folder))
                self.scalars[folder] = {tag: [point.step for point in events.Scalars(tag)]
                                        for tag in events.Tags()['scalars']}


def step_of(path):
    return int(re.search(r'-(\d+)$', path).group(1))


class Ours:
    """tpurun."""

    def __init__(self, folder, rows, initial):
        self.folder, self.initial = folder, initial
        self.config = os.path.join(folder, 'run.textproto')
        with open(self.config, 'w', encoding='utf-8') as file:
            file.write(CONFIG.format(rows=rows))

    def model_dir(self, name):
        return os.path.join(self.folder, 'ours_' + name)

    def run(self, verb, name, *flags):
        return examples.run(verb, f'--config={self.config}', f'--model_dir={self.model_dir(name)}',
                           *flags)

    def start(self):
        """The initial weights of all runs."""
        self.run('train', 'initial', '--max_steps=1')

    def train(self, name, config, host_call=False, **length):
        flags = [f'--{field}={0 if value is None else str(value).lower()}'
                 for field, value in config.items() if field != 'iterations_per_loop']
        if 'iterations_per_loop' in config:
            flags += ['--set', f'tpu_config.iterations_per_loop="{config["iterations_per_loop"]}"']
        if host_call:
            flags += ['--set', 'model.summary+={ scalar { name: "accuracy" } every_n_steps: 5 }']
        flags += [f'--{kind}={steps}' for kind, steps in length.items()]
        self.run('train', name, *self.warm_start(), *flags)

    def warm_start(self):
        return ['--set', f'warm_start_from={{ ckpt_to_initialize_from: "{self.initial}" }}']

    def evaluate(self, name, *, steps=None, evaluation='', checkpoint=None):
        flags = [f'--steps={steps}'] if steps else []
        flags += [f'--checkpoint={checkpoint}'] if checkpoint else []
        if not os.path.exists(self.model_dir(name)):
            flags += ['--allow_untrained', *self.warm_start()]
        [result] = self.run('evaluate', name, f'--name={evaluation}', *flags)
        return result

    def predict(self, name, keys):
        return self.run('predict', name, f'--keys={",".join(keys)}')


class Theirs:
    """TPUEstimator."""

    def __init__(self, folder, rows, initial):
        self.folder, self.rows, self.initial = folder, rows, initial

    def model_dir(self, name):
        return os.path.join(self.folder, 'theirs_' + name)

    def input_fn(self, train, take=-1):
        def parse(record):
            read = tf.io.parse_single_example(record, {'x': tf.io.FixedLenFeature([2], tf.float32),
                                                       'y': tf.io.FixedLenFeature([], tf.int64)})
            return {'x': read['x']}, tf.cast(read['y'], tf.int32)

        def make(params):
            data = tf.data.TFRecordDataset(self.rows).map(parse).take(take)
            return (data.repeat() if train else data).batch(params['batch_size'], drop_remainder=train)
        return make

    def estimator(self, name, config=None, host_call=False):
        config = dict(config or {})
        loops = config.pop('iterations_per_loop', 2)

        def model_fn(features, labels, mode, params):
            # CrossShardOptimizer has no kernel on a CPU.
            net = v1.layers.dense(features['x'], 8, tf.nn.relu, name='hidden')
            logits = v1.layers.dense(net, 3, name='logits')
            if mode == tf.estimator.ModeKeys.PREDICT:
                return tpu.TPUEstimatorSpec(mode, predictions={
                    'class_ids': tf.argmax(logits, 1)[:, None], 'logits': logits,
                    'probabilities': tf.nn.softmax(logits)})
            loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
            if mode == tf.estimator.ModeKeys.EVAL:
                return tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=(
                    lambda labels, logits: {'accuracy': v1.metrics.accuracy(labels, tf.argmax(logits, 1))},
                    [labels, logits]))
            step = v1.train.get_global_step()
            optimizer = v1.train.AdagradOptimizer(0.1, initial_accumulator_value=0.1)
            if not host_call:
                return tpu.TPUEstimatorSpec(mode, loss=loss,
                                            train_op=optimizer.minimize(loss, global_step=step))
            right = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
            tensors = [tf.reshape(step, [1]), tf.reshape(tf.reduce_mean(tf.cast(right, tf.float32)), [1])]
            with tf.control_dependencies(tensors):  # read before the update
                train_op = optimizer.minimize(loss, global_step=step)
            return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op, host_call=(
                self.write_accuracy(self.model_dir(name)), tensors))

        run_config = tpu.RunConfig(model_dir=self.model_dir(name), tf_random_seed=1, **config,
                                   tpu_config=tpu.TPUConfig(iterations_per_loop=loops))
        return tpu.TPUEstimator(model_fn=model_fn, config=run_config, use_tpu=False,
                                train_batch_size=BATCH, eval_batch_size=BATCH, predict_batch_size=8,
                                warm_start_from=self.initial)

    @staticmethod
    def write_accuracy(model_dir):
        def host_call(step, accuracy):
            step = step[0]
            with tf.summary.create_file_writer(model_dir).as_default():
                with tf.summary.record_if(tf.equal(step % 5, 0)):
                    tf.summary.scalar('accuracy', accuracy[0], step=step)
                    return v1.summary.all_v2_summary_ops()
        return host_call

    def train(self, name, config, host_call=False, **length):
        self.estimator(name, config, host_call).train(self.input_fn(True), **length)

    def evaluate(self, name, *, steps=None, evaluation='', checkpoint=None):
        return self.estimator(name).evaluate(self.input_fn(False), steps, name=evaluation or None,
                                             checkpoint_path=checkpoint)

    def predict(self, name, keys):
        return [{key: value.tolist() for key, value in row.items()} for row in
                self.estimator(name).predict(self.input_fn(False, 20), predict_keys=keys)]


class TPUEstimatorTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        for logger in (tf.get_logger(), tb_logging.get_logger()):
            logger.setLevel(logging.ERROR)
        warnings.simplefilter('ignore')
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        folder = directory.name
        rows = os.path.join(folder, 'rows.tfrecord')
        cls.write_rows(rows)
        initial = os.path.join(folder, 'ours_initial/model.ckpt-0')
        cls.sides = [Ours(folder, rows, initial), Theirs(folder, rows, initial)]
        cls.sides[0].start()

    @staticmethod
    def write_rows(path):
        random = np.random.default_rng(3)
        with tf.io.TFRecordWriter(path) as writer:
            for x in random.normal(size=(ROWS, 2)).astype(np.float32):
                label = int(x[0] > x[1]) + int(x.sum() > 1)
                writer.write(tf.train.Example(features=tf.train.Features(feature={
                    'x': tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                    'y': tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
                )).SerializeToString())

    def both(self, verb, name, *arguments, **options):
        """[our result, theirs] of a call."""
        return [getattr(side, verb)(name, *arguments, **options) for side in self.sides]

    def left(self, name):
        return [Left(side.model_dir(name)) for side in self.sides]

    def train(self, name, config, **options):
        """[what we left, what they left]"""
        self.both('train', name, config, **options)
        return self.left(name)

    def compare_checkpoints(self, ours, theirs, steps, they_list=None):
        """The steps of those that are there and of those that `checkpoint` lists, and all that the last of
        them says."""
        for got, listed in ((ours, steps), (theirs, they_list or steps)):
            self.assertEqual(got.saved, steps)
            self.assertEqual(got.listed, listed)
        names = take_out(sorted(ours.tensors), TENSORS_OF_OURS_ALONE)
        self.assertEqual(names, sorted(theirs.tensors))
        for name in names:
            self.assertEqual(ours.tensors[name].dtype, theirs.tensors[name].dtype)
            np.testing.assert_allclose(ours.tensors[name], theirs.tensors[name], rtol=1e-4, atol=1e-6,
                                       err_msg=name)

    def compare_files(self, ours, theirs):
        self.assertEqual(sorted(set(take_out(ours.files, OURS_ALONE))),
                         sorted(set(take_out(theirs.files, THEIRS_ALONE))))

    def compare_tags(self, ours, theirs):
        self.assertEqual(take_out(sorted(ours.scalars['']), TAGS_OF_OURS_ALONE),
                         sorted(theirs.scalars['']))

    def expect_their_losses(self, theirs, period, first, last):
        """Of a run from `first` to `last`. Their summary hook reads global_step while the step runs, and may
        take it for the one behind."""
        steps = [step for step in theirs.scalars['']['loss'] if step >= first]
        self.assertEqual(steps[0], first)
        self.assertLessEqual({after - before for before, after in zip(steps, steps[1:])},
                             {period - 1, period})
        self.assertGreater(steps[-1], last - period)

    def compare_evaluations(self, ours, theirs):
        self.assertEqual(sorted(take_out(list(ours), RESULTS_OF_OURS_ALONE)), sorted(theirs))
        self.assertEqual(ours['global_step'], theirs['global_step'])
        for name in ('accuracy', 'loss'):
            self.assertAlmostEqual(ours[name], theirs[name], delta=1e-4, msg=name)

    def test_a_run_its_resumption_and_one_that_is_done_already(self):
        config = {**TENS, 'keep_checkpoint_max': 2}
        fresh = self.train('run', config, max_steps=WHOLE_PASSES)
        self.compare_checkpoints(*fresh, [20, 25])
        self.compare_files(*fresh)
        self.compare_tags(*fresh)
        for tag in ('global_step/sec', 'examples/sec'):
            for got in fresh:
                self.assertEqual(got.scalars[''][tag], [11, 21])

        resumed = self.train('run', config, steps=12)
        self.compare_checkpoints(*resumed, [35, 37])
        for got in resumed:
            self.assertEqual(got.scalars['']['examples/sec'], [11, 21, 36])

        done = self.train('run', config, max_steps=30)
        for before, after in zip(resumed, done):
            self.assertEqual((before.files, before.saved, before.scalars),
                             (after.files, after.saved, after.scalars))

        # Difference: the last loop's loss is always written, theirs when it is due.
        self.assertEqual(done[0].scalars['']['loss'], [1, 11, 21, 25, 26, 36, 37])
        self.expect_their_losses(fresh[1], 10, 1, 25)
        self.expect_their_losses(done[1], 10, 26, 37)

    def test_evaluations_have_folders_of_their_own(self):
        self.train('evaluated', {**TENS, 'keep_checkpoint_max': 0}, max_steps=WHOLE_PASSES)
        self.compare_evaluations(*self.both('evaluate', 'evaluated', steps=6))
        older = [side.evaluate('evaluated', steps=3,
                               checkpoint=f'{side.model_dir("evaluated")}/model.ckpt-10')
                 for side in self.sides]
        self.compare_evaluations(*older)
        self.assertEqual(older[0]['global_step'], 10)
        ours, theirs = self.both('evaluate', 'evaluated', evaluation='holdout')
        self.assertAlmostEqual(ours['accuracy'], theirs['accuracy'], delta=1e-6)
        after = self.left('evaluated')
        self.compare_files(*after)
        for got in after:
            held_out, evaluated = (shared_tags(got.scalars[folder]) for folder in ('eval_holdout', 'eval'))
            self.assertEqual(held_out, {'accuracy': [25], 'loss': [25]})
            self.assertEqual({tag: sorted(steps) for tag, steps in evaluated.items()},
                             {'accuracy': [10, 25], 'loss': [10, 25]})

        # Difference: without a TPU, too, their loss is the mean of the batches' means, of which the last
        # has 4 rows; ours is the mean of the rows, and theirs loss_shard_0.
        logits = np.array([row['logits'] for row in self.sides[0].run(
            'predict', 'evaluated', '--keys=logits', '--set', 'predict.input.transform.take.count=-1')])
        labels = np.array([example.features.feature['y'].int64_list.value[0] for example in map(
            tf.train.Example.FromString,
            tf.data.TFRecordDataset(self.sides[1].rows).as_numpy_iterator())])
        losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(ROWS), labels]
        self.assertAlmostEqual(ours['loss'], losses.mean(), places=5)
        self.assertAlmostEqual(theirs['loss'], np.mean(
            [losses[row:row + BATCH].mean() for row in range(0, ROWS, BATCH)]), places=5)
        self.assertAlmostEqual(ours['loss_shard_0'], theirs['loss'], places=5)

    def test_without_a_checkpoint_initial_values_are_evaluated(self):
        """Difference: we want to be told, --allow_untrained."""
        ours, theirs = self.both('evaluate', 'untrained', steps=6)
        self.compare_evaluations(ours, theirs)
        self.assertEqual(ours['global_step'], 0)
        ours, theirs = self.left('untrained')
        shared = {folder: shared_tags(tags) for folder, tags in ours.scalars.items()}
        self.assertEqual((ours.files, shared), (theirs.files, theirs.scalars))

    def test_predictions_come_in_the_order_of_the_input(self):
        self.train('predicted', TENS, max_steps=10)
        for keys in (['class_ids', 'logits', 'probabilities'], ['class_ids']):
            ours, theirs = self.both('predict', 'predicted', keys)
            self.assertEqual(len(ours), 20)  # two batches and a half
            self.assertEqual([set(row) for row in ours], [set(row) for row in theirs])
            for key in keys:
                np.testing.assert_allclose([row[key] for row in ours], [row[key] for row in theirs],
                                           atol=1e-4, err_msg=key)

    def test_without_a_period_checkpoints_are_those_of_the_start_and_the_end(self):
        self.compare_checkpoints(*self.train('seconds', {}, max_steps=7), [0, 7])

    def test_all_checkpoints_are_kept(self):
        config = {'iterations_per_loop': 1, 'save_checkpoints_steps': 2, 'keep_checkpoint_max': 0}
        ours, theirs = self.train('kept', config, max_steps=15)
        # Difference: of a Saver that deletes none, `checkpoint` names the last alone.
        self.compare_checkpoints(ours, theirs, [0, 2, 4, 6, 8, 10, 12, 14, 15], they_list=[15])

    def test_five_are_kept(self):
        config = {'iterations_per_loop': 1, 'save_checkpoints_steps': 2}
        self.compare_checkpoints(*self.train('five', config, max_steps=15), [8, 10, 12, 14, 15])

    def test_without_summaries_there_are_no_scalars(self):
        for got in self.train('silent', {**TENS, 'save_summary_steps': 0}, max_steps=25):
            self.assertEqual(got.scalars[''], {})

    def test_without_log_lines_there_are_no_rates(self):
        ours, theirs = self.train('unlogged', {**TENS, 'log_step_count_steps': None}, max_steps=25)
        self.assertEqual(sorted(theirs.scalars['']), ['loss'])
        self.assertEqual(sorted(ours.scalars['']), ['learning_rate', 'loss'])

    def test_loops_that_divide_the_periods(self):
        config = {'iterations_per_loop': 4, 'save_checkpoints_steps': 8, 'save_summary_steps': 4,
                  'log_step_count_steps': 4}
        ours, theirs = self.train('loops', config, max_steps=22)
        self.compare_checkpoints(ours, theirs, [0, 8, 16, 22])
        self.compare_tags(ours, theirs)
        # Difference: without a TPU they run step by step, and we loop by loop; and they log, and write rates,
        # every log_step_count_steps / iterations_per_loop steps.
        self.assertEqual(ours.scalars['']['loss'], [4, 8, 12, 16, 20, 22])
        self.expect_their_losses(theirs, 4, 1, 22)
        self.assertEqual(ours.scalars['']['examples/sec'], [8, 12, 16, 20])
        self.assertEqual(theirs.scalars['']['examples/sec'], list(range(2, 23)))

    def test_loops_that_do_not(self):
        config = {'iterations_per_loop': 4, 'save_checkpoints_steps': 6}
        ours, theirs = self.train('crossed', config, max_steps=20)
        # Difference: they have no loops without a TPU; on one, checkpoints are where ours are.
        self.assertEqual(ours.saved, [0, 8, 16, 20])
        self.assertEqual(theirs.saved, [0, 6, 12, 18, 20])

    def test_no_checkpoints_at_all(self):
        config = {'save_checkpoints_steps': None, 'save_checkpoints_secs': None}
        ours, theirs = self.train('none', config, max_steps=7)
        for got in (ours, theirs):
            self.assertEqual((got.listed, got.saved), ([], []))
        # Difference: whether there is a graph.pbtxt is for checkpoint_save_graph_def to say, not for what
        # saves checkpoints.
        self.assertEqual(take_out(ours.files, OURS_ALONE), ['events.out.tfevents', 'graph.pbtxt'])
        self.assertEqual(theirs.files, ['events.out.tfevents'])

    def test_no_graphs(self):
        ours, theirs = self.train('no_graphs', {'checkpoint_save_graph_def': False}, max_steps=3)
        self.compare_checkpoints(ours, theirs, [0, 3])
        self.assertEqual(take_out(ours.files, OURS_ALONE), theirs.files)
        self.assertNotIn('graph.pbtxt', theirs.files)

    def test_what_a_host_call_writes(self):
        """At the step that a step begins with, of the batch that it trains on."""
        self.both('train', 'host_call', TENS, host_call=True, max_steps=42)
        points = []
        for side in self.sides:
            events = written.read_events(side.model_dir('host_call'))
            if 'accuracy' in events.Tags()['scalars']:
                points.append([(point.step, point.value) for point in events.Scalars('accuracy')])
            else:
                points.append([(point.step, float(tf.make_ndarray(point.tensor_proto)))
                               for point in events.Tensors('accuracy')])
        self.assertEqual([step for step, _ in points[0]], list(range(0, 45, 5)))
        np.testing.assert_allclose(*points, atol=1e-6)


if __name__ == '__main__':
    unittest.main()
