"""TensorBoard itself on what training and evaluation write: what its pages fetch is compared with
TensorFlow's view of the checkpoints."""
import json
import os
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

import numpy as np
import tensorflow as tf
from tensorboard import default, program as tensorboard

import examples
import written

STEPS = 40
EVERY = 10
RATE = 0.0625
SETTINGS = [part for setting in ('train.input.transform.shuffle.buffer_size=1',  # in the file's order
                                 'save_checkpoints_steps=1', 'keep_checkpoint_max=0',
                                 'tpu_config.iterations_per_loop="1"') for part in ('--set', setting)]
SUMMARIES = f'''
summary {{ scalar {{ name: "rate" tensor: "learning_rate" }} every_n_steps: {EVERY} }}
summary {{ scalar {{ name: "norm" tensor: "global_norm" }} every_n_steps: {EVERY} }}
summary {{ scalar {{ name: "accuracy" }} every_n_steps: {EVERY} }}
summary {{ histogram {{ name: "kernel" tensor: "hidden_1/kernel" }} every_n_steps: {EVERY} }}
summary {{ histogram {{ name: "slope" tensor: "gradients/logits/kernel" }} every_n_steps: {EVERY} }}
summary {{ image {{ name: "table" tensor: "picture" }} every_n_steps: {2 * EVERY} }}
summary {{ embedding {{ tensor: "hidden_2/kernel" vocabulary_file: "units.txt" }} }}
'''


def model_with_summaries(folder):
    """iris with plain gradient descent, an image of each example's features, and the summaries."""
    source = os.path.dirname(examples.IRIS.config)
    with open(os.path.join(source, 'model.textproto'), encoding='utf-8') as file:
        model = file.read()
    model = model[:model.index('optimizer {')] + f'''
layer {{ name: "picture" input: "features" reshape {{ target_shape: [2, 2, 1] }} }}
optimizer {{ gradient_descent {{}} learning_rate {{ constant: {RATE} }} cross_shard {{}} }}
''' + SUMMARIES
    path = os.path.join(folder, 'model.textproto')
    with open(path, 'w', encoding='utf-8') as file:
        file.write(model)
    with open(os.path.join(folder, 'units.txt'), 'w', encoding='utf-8') as file:
        file.writelines(f'unit {i}\n' for i in range(10))
    return path


class TensorBoardTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        model = model_with_summaries(directory.name)
        cls.logdir = os.path.join(directory.name, 'logs')
        cls.runs = {}
        for seed in (1, 2):
            model_dir = os.path.join(cls.logdir, f'seed{seed}')
            cls.runs[f'seed{seed}'] = trained = examples.IRIS.train(
                model_dir, f'--model={model}', f'--max_steps={STEPS}', *SETTINGS, '--set',
                f'tf_random_seed={seed}')
            for _ in range(2):
                evaluated = examples.IRIS.evaluate(model_dir, f'--model={model}')
            trained['evaluated'] = evaluated
        server = tensorboard.TensorBoard(plugins=default.get_plugins())
        server.configure(argv=[None, '--logdir', cls.logdir, '--port', '0',
                               '--samples_per_plugin', 'scalars=1000,images=100,histograms=100',
                               '--load_fast', 'false', '--reload_interval', '1'])
        cls.url = server.launch()
        cls.wait_for_runs()

    @classmethod
    def get(cls, path, body=None, **query):
        url = f'{cls.url}data/{path}?{urllib.parse.urlencode(query)}'
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    @classmethod
    def plugin(cls, path, body=None, **query):
        return json.loads(cls.get(f'plugin/{path}', body, **query))

    @classmethod
    def wait_for_runs(cls):
        """The server reads the directories in a thread of its own."""
        want = sorted(f'seed{seed}{part}' for seed in (1, 2) for part in ('', '/eval'))
        while sorted(cls.plugin('scalars/tags')) != want:
            time.sleep(0.1)

    def variable(self, run, step, name):
        return written.read_checkpoint(os.path.join(self.logdir, run, f'model.ckpt-{step}'))[name]

    def gradient(self, run, step, name):
        return (self.variable(run, step, name).astype(np.float64)
                - self.variable(run, step + 1, name)) / RATE

    def steps(self):
        return range(0, STEPS, EVERY)

    def scalars(self, run, tag):
        return {step: value for _, step, value in self.plugin('scalars/scalars', run=run, tag=tag)}

    def test_scalars(self):
        for run, trained in self.runs.items():
            self.assertEqual(self.scalars(run, 'rate'), {step: RATE for step in self.steps()})
            losses = self.scalars(run, 'loss')
            self.assertEqual(np.float32(losses[STEPS]), np.float32(trained['loss']))
            self.assertEqual(self.scalars(run, 'learning_rate')[STEPS], RATE)
            accuracy = self.scalars(run, 'accuracy')
            self.assertEqual(list(accuracy), list(self.steps()))
            for value in accuracy.values():  # of the batch's 128 rows
                self.assertEqual(value * 128, round(value * 128))
            for step, norm in self.scalars(run, 'norm').items():
                names = [f'{layer}/{part}' for layer in ('hidden_1', 'hidden_2', 'logits')
                         for part in ('kernel', 'bias')]
                squares = sum(np.sum(self.gradient(run, step, name)**2) for name in names)
                np.testing.assert_allclose(norm, np.sqrt(squares), rtol=1e-4)

    def test_a_checkpoints_metrics_are_there_once(self):
        for run, trained in self.runs.items():
            points = self.plugin('scalars/scalars', run=f'{run}/eval', tag='accuracy')
            self.assertEqual([step for _, step, _ in points], [STEPS])
            self.assertEqual(np.float32(points[0][2]), np.float32(trained['evaluated']['accuracy']))

    def expect_histograms(self, run, tag, values_of):
        """Yields for each step values_of(step), sorted, and the buckets (left, right, count)."""
        histograms = self.plugin('histograms/histograms', run=run, tag=tag)
        self.assertEqual([step for _, step, _ in histograms], list(self.steps()))
        for _, step, buckets in histograms:
            values = np.sort(values_of(step).flatten())
            left, right, counts = np.array(buckets).T
            self.assertEqual(sum(counts), len(values))
            np.testing.assert_allclose(left[0], values[0], rtol=1e-3, atol=1e-7)
            np.testing.assert_allclose(right[-1], values[-1], rtol=1e-3, atol=1e-7)
            yield values, list(zip(left, right, counts))

    def test_histogram_of_a_variable(self):
        for run in self.runs:
            for values, buckets in self.expect_histograms(
                    run, 'kernel', lambda step: self.variable(run, step, 'hidden_1/kernel')):
                for begin, end, count in buckets[:-1]:  # the last has its upper limit too
                    self.assertEqual(np.sum((values >= begin) & (values < end)), count)

    def test_histogram_of_a_gradient(self):
        for run in self.runs:
            of_steps = self.expect_histograms(
                run, 'slope', lambda step: self.gradient(run, step, 'logits/kernel'))
            self.assertEqual(len(list(of_steps)), len(self.steps()))

    @staticmethod
    def image_summary(images):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            return session.run(tf.raw_ops.ImageSummary(tag='table', tensor=tf.constant(images)))

    def test_images(self):
        table = np.loadtxt(examples.TRAINING_CSV, np.float32, delimiter=',', skiprows=1)
        rows = table[:3, :4].reshape(3, 2, 2, 1)
        for run in self.runs:
            tags = self.plugin('images/tags')[run]
            self.assertEqual(sorted(tags), [f'table/image/{i}' for i in range(3)])
            for tag in tags:
                images = self.plugin('images/images', run=run, tag=tag, sample=0)
                self.assertEqual([image['step'] for image in images],
                                 list(range(0, STEPS, 2 * EVERY)))
                data = self.image(images[0]['query'])
                row = int(tag[-1])  # of the file: the input is not shuffled
                want = tf.compat.v1.Summary.FromString(self.image_summary(rows[row:row + 1]))
                np.testing.assert_array_equal(
                    tf.io.decode_png(data), tf.io.decode_png(
                        want.value[0].image.encoded_image_string))

    def image(self, query):
        url = f'{self.url}data/plugin/images/individualImage?{query}'
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()

    def test_graph(self):
        for run in self.runs:
            self.assertTrue(self.plugin('graphs/info')[run]['run_graph'])
            graph = self.get('plugin/graphs/graph', run=run, large_attrs_key='_too_large_attrs',
                             limit_attr_size=1024).decode()
            for name in ('hidden_1/MatMul', 'gradients/hidden_1/MatMul_grad/MatMul',
                         'hidden_1/kernel/Assign', 'sparse_softmax_cross_entropy_loss/value',
                         'global_step/add'):
                self.assertIn(f'name: "{name}"', graph)
            self.assertIn('device: "/device:TPU_REPLICATED_CORE:0"', graph)
            self.assertIn('_output_shapes', graph)

    def test_text(self):
        for run in self.runs:
            self.assertEqual(sorted(self.plugin('text/tags')[run]), ['run_config', 'variables'])
            config = self.plugin('text/text', run=run, tag='run_config')[0]['text']
            self.assertIn('<code>', config)
            self.assertIn(f'tf_random_seed: {run[-1]}', config)
            table = self.plugin('text/text', run=run, tag='variables')[0]['text']
            self.assertIn('<table>', table)
            self.assertIn('hidden_1/kernel', table)

    def test_hparams(self):
        statuses = ['STATUS_UNKNOWN', 'STATUS_SUCCESS', 'STATUS_FAILURE', 'STATUS_RUNNING']
        groups = self.plugin('hparams/session_groups', {
            'experimentName': '', 'allowedStatuses': statuses, 'colParams': [], 'startIndex': 0,
            'sliceSize': 10})['sessionGroups']
        self.assertEqual(sorted(group['name'] for group in groups), sorted(self.runs))
        for group in groups:
            run = group['name']
            hparams = group['hparams']
            self.assertEqual(hparams['tf_random_seed'], int(run[-1]))
            self.assertEqual(hparams['train_batch_size'], 128)
            self.assertEqual(hparams['optimizer'], 'gradient_descent')
            self.assertEqual(hparams['optimizer.learning_rate.constant'], RATE)
            self.assertEqual(hparams['save_checkpoints_steps'], 1)
            self.assertNotIn('model_dir', hparams)
            self.assertEqual(group['sessions'][0]['status'], 'STATUS_SUCCESS')
            metrics = {(metric['name']['group'], metric['name']['tag']): metric['value']
                       for metric in group['metricValues']}
            evaluated = self.runs[run]['evaluated']
            for tag in ('accuracy', 'loss'):
                self.assertEqual(np.float32(metrics['eval', tag]), np.float32(evaluated[tag]))

    def test_projector(self):
        run = 'seed1'
        self.assertIn(run, json.loads(self.get('plugin/projector/runs')))
        info = json.loads(self.get('plugin/projector/info', run=run))
        [embedding] = [e for e in info['embeddings'] if e['tensorName'] == 'hidden_2/kernel']
        self.assertEqual(embedding['metadataPath'], 'hidden_2_kernel.tsv')
        names = self.get('plugin/projector/metadata', run=run, name='hidden_2/kernel').decode()
        self.assertEqual(names.split('\n')[:2], ['unit 0', 'unit 1'])
        tensor = np.frombuffer(self.get('plugin/projector/tensor', run=run,
                                        name='hidden_2/kernel'), np.float32)
        np.testing.assert_array_equal(tensor.reshape(10, 10),
                                      self.variable(run, STEPS, 'hidden_2/kernel'))


if __name__ == '__main__':
    unittest.main()
