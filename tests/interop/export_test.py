"""Exported models give what tpurun predicts, in TensorFlow and in onnxruntime."""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import exported
import golden_case
import mnist_model
import program

BATCHES = (1, 7, 64)
TOLERANCE = 1e-5
ALL_KEYS = ['--unset', 'predict.keys']


def export(*arguments):
    """Of both formats: what the verb printed."""
    return program.run('export', *arguments, '--export_format=saved_model,onnx')[0]


def models_of(result):
    return {'SavedModel': exported.SavedModel(result['path']),
            'session': exported.SessionModel(result['path']),
            'ONNX': exported.OnnxModel(result['onnx_path'])}


class LayersTest(unittest.TestCase):
    """Every PREDICT case of the golden files of layers and heads, whose numbers are TensorFlow's."""

    def export_case(self, case, directory):
        variables = case.tensors('variable')
        names = sorted([*variables, 'global_step'])
        values = [np.int64(3) if name == 'global_step' else variables[name] for name in names]
        prefix = os.path.join(directory, 'model.ckpt-3')
        tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names,
                          shape_and_slices=[''] * len(names), tensors=values)
        config = os.path.join(directory, 'run.textproto')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(f'model_dir: "{directory}/model"\nmodel {{\n{case.get("model")}}}\n')
        return export(f'--config={config}', f'--checkpoint={prefix}')

    def compare(self, case):
        with tempfile.TemporaryDirectory() as directory:
            result = self.export_case(case, directory)
            self.assertEqual(result['global_step'], 3)
            for kind, model in models_of(result).items():
                for batch in BATCHES:
                    got = model(exported.rows(case.tensors('feed'), batch))
                    want = exported.rows(case.tensors('expect prediction'), batch)
                    self.assertLessEqual(set(want), set(got), kind)
                    tolerance = max(TOLERANCE, float(case.get('tolerance', '0')))
                    for name, value in want.items():
                        error = exported.largest_error(got[name], value)
                        self.assertLessEqual(error, tolerance, f'{kind}, {batch} rows, {name}')

    def test_golden_cases(self):
        compared = 0
        for path in sorted(glob.glob('testdata/layers/*.txt') + glob.glob('testdata/heads/*.txt')):
            for case in golden_case.read(path):
                # An exported model is f32.
                if case.get('mode') != 'PREDICT' or case.get('use_tpu') == 'true':
                    continue
                if not case.tensors('expect prediction'):
                    continue
                with self.subTest(f'{path}: {case.name}'):
                    self.compare(case)
                compared += 1
        print(f'{compared} cases in three runtimes with {BATCHES} rows each')
        self.assertGreater(compared, 40)


class ModelsTest(unittest.TestCase):
    """The models of testdata, trained."""

    def compare(self, result, features, want):
        """`want`: tpurun's own predictions, a dict of arrays."""
        for kind, model in models_of(result).items():
            for batch in BATCHES:
                got = model({name: value[:batch] for name, value in features.items()})
                self.assertEqual(sorted(got), sorted(want))
                for name, value in want.items():
                    error = exported.largest_error(got[name], value[:batch])
                    self.assertLessEqual(error, TOLERANCE, f'{kind}, {batch} rows, {name}')

    @staticmethod
    def columns(rows, dtypes):
        return {name: np.array([row[name] for row in rows], dtype) for name, dtype in dtypes.items()}

    classification = {'class_ids': np.int64, 'probabilities': np.float32, 'logits': np.float32}

    def test_iris(self):
        with tempfile.TemporaryDirectory() as directory:
            program.IRIS.train(directory, '--max_steps=200')
            rows = program.IRIS.predict(directory, program.csv_rows(program.TRAINING_CSV),
                                        '--use_tpu=false', *ALL_KEYS)
            data = np.loadtxt(program.TRAINING_CSV, np.float32, delimiter=',', skiprows=1)
            names = ('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth')
            features = {name: data[:, i] for i, name in enumerate(names)}
            result = export(f'--config={program.IRIS.config}', f'--model_dir={directory}')
            self.assertEqual(result['signatures'], ['serving_default', 'predict'])
            self.assertEqual(result['global_step'], 200)
            self.compare(result, features, self.columns(rows, self.classification))

    def test_mnist(self):
        with tempfile.TemporaryDirectory() as directory:
            example = program.convert_mnist(directory)
            model_dir = os.path.join(directory, 'model')
            example.train(model_dir, '--max_steps=10')
            rows = example.predict(model_dir, f'tfrecord {{ file: "{directory}/test.tfrecord" }}',
                                   '--use_tpu=false', '--predict_batch_size=64', *ALL_KEYS,
                                   transforms='transform { take { count: 64 } }')
            images, _ = mnist_model.read_rows(*program.MNIST_IDX)
            result = export(f'--config={example.config}', f'--model_dir={model_dir}')
            features = {'image': images[:64].astype(np.float32)}
            self.compare(result, features, self.columns(rows, self.classification))


    def test_digits_of_examples(self):
        """The signatures that take serialized tf.Examples do what predict's input does."""
        with tempfile.TemporaryDirectory() as model_dir:
            digits = program.Example('testdata/digits')
            digits.train(model_dir, '--max_steps=20')
            rows = digits.run('predict', model_dir, '--use_tpu=false', *ALL_KEYS, '--unset',
                              'predict.input.transform.1')  # take
            want = self.columns(rows, self.classification)
            result = program.run('export', f'--config={digits.config}', f'--model_dir={model_dir}')[0]
            self.assertEqual(result['signatures'], ['serving_default', 'predict',
                                                    'examples:predict', 'classification'])
            records = list(tf.data.TFRecordDataset(
                os.path.abspath('testdata/digits/test.tfrecord.gz'),
                'GZIP').as_numpy_iterator())
            self.assertEqual(len(records), len(rows))
            for model in (exported.SavedModel(result['path']),
                          exported.SessionModel(result['path'])):
                for batch in BATCHES:
                    got = model({'examples': np.array(records[:batch], object)}, 'examples:predict')
                    for name, value in want.items():
                        error = exported.largest_error(got[name], value[:batch])
                        self.assertLessEqual(error, TOLERANCE, f'{batch} rows, {name}')
                    got = model({'inputs': np.array(records[:batch], object)}, 'classification')
                    self.assertLessEqual(exported.largest_error(
                        got['scores'], want['probabilities'][:batch]), TOLERANCE)
                    self.assertEqual(got['classes'].tolist(),
                                     [[str(i).encode() for i in range(10)]] * batch)


class SavedModelTest(unittest.TestCase):
    """The files, as TensorFlow's tools see them."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.model_dir = os.path.join(directory.name, 'iris')
        cls.arguments = (f'--config={program.IRIS.config}', f'--model_dir={cls.model_dir}')
        program.IRIS.train(cls.model_dir, '--max_steps=10')
        cls.path = program.run('export', *cls.arguments)[0]['path']

    def cli(self, *arguments):
        done = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), 'saved_model_cli'), *arguments],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_files(self):
        found = sorted(os.path.relpath(path, self.path) for path in
                       glob.glob(f'{self.path}/**', recursive=True) if os.path.isfile(path))
        self.assertEqual(found, ['saved_model.pb', 'variables/variables.data-00000-of-00001',
                                 'variables/variables.index'])
        self.assertTrue(os.path.basename(self.path).isdigit())
        self.assertEqual(os.path.dirname(self.path), os.path.join(self.model_dir, 'export'))

    def test_variables_are_those_of_the_checkpoint(self):
        got = tf.train.load_checkpoint(f'{self.path}/variables/variables')
        want = tf.train.load_checkpoint(f'{self.model_dir}/model.ckpt-10')
        names = sorted(got.get_variable_to_shape_map())
        self.assertEqual(len(names), 7)  # kernels and biases of three layers, and global_step
        for name in names:
            np.testing.assert_array_equal(got.get_tensor(name), want.get_tensor(name), name)

    def test_saved_model_cli_shows_and_runs_it(self):
        shown = self.cli('show', '--dir', self.path, '--all')
        self.assertIn("signature_def['serving_default']", shown)
        self.assertIn('tensorflow/serving/predict', shown)
        ran = self.cli('run', '--dir', self.path, '--tag_set', 'serve', '--signature_def', 'predict',
                       '--input_exprs', ';'.join(f'{name}=[5.0, 6.0]' for name in
                                                 ('SepalLength', 'SepalWidth', 'PetalLength',
                                                  'PetalWidth')))
        self.assertIn('Result for output key probabilities', ran)

    def test_tags(self):
        """{serve} unless asked otherwise; {serve, tpu} is the same graph under those tags."""
        def tags(*arguments):
            path = program.run('export', *self.arguments, *arguments)[0]['path']
            shown = self.cli('show', '--dir', path)
            return path, re.findall(r"^('.*')$", shown, re.MULTILINE)

        self.assertEqual(tags()[1], ["'serve'"])
        path, both = tags('--set', 'export.export_to_tpu=true')
        self.assertEqual(sorted(both), ["'serve'", "'serve, tpu'"])
        features = {name: np.float32([5, 6]) for name in
                    ('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth')}
        cpu = exported.SessionModel(path)(features)
        tpu = exported.SessionModel(path, ('serve', 'tpu'))(features)
        np.testing.assert_array_equal(cpu['logits'], tpu['logits'])
        only_tpu = tags('--set', 'export.export_to_tpu=true', '--set', 'export.export_to_cpu=false')
        self.assertEqual(only_tpu[1], ["'serve, tpu'"])


if __name__ == '__main__':
    unittest.main()
