"""Exported models give what tpurun predicts, in TensorFlow and in onnxruntime."""
import collections
import functools
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import tensorflow as tf
from tensorflow.core.framework import types_pb2

import exported
import golden_case
import mnist_model
import examples

BATCHES = (1, 7, 64)
TOLERANCE = 1e-5
ALL_KEYS = ['--unset', 'predict.keys']
PROCESSED = ['--set', 'export.onnx_processed_inputs=true']
feature_of = tf.train.Feature


class LayersTest(unittest.TestCase):
    """Every PREDICT case of the golden files of layers and heads, whose numbers are TensorFlow's."""

    def compare(self, case):
        with tempfile.TemporaryDirectory() as directory:
            result = exported.export_variables(case.get('model'), case.tensors('variable'),
                                               directory)
            self.assertEqual(result['global_step'], 3)
            for kind, model in exported.models_of(result).items():
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
                # Of what a layer has kept an exported model knows nothing (export_recurrent_test).
                if 'stateful: true' in case.get('model'):
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
        for kind, model in exported.models_of(result).items():
            # The features themselves (what predict reads is export_input_test's).
            signature = [] if kind == 'ONNX' else ['processed']
            for batch in BATCHES:
                got = model({name: value[:batch] for name, value in features.items()}, *signature)
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
            examples.IRIS.train(directory, '--max_steps=200')
            rows = examples.IRIS.predict(directory, examples.csv_rows(examples.TRAINING_CSV),
                                        '--use_tpu=false', *ALL_KEYS)
            data = np.loadtxt(examples.TRAINING_CSV, np.float32, delimiter=',', skiprows=1)
            names = ('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth')
            features = {name: data[:, i] for i, name in enumerate(names)}
            result = exported.export(f'--config={examples.IRIS.config}', f'--model_dir={directory}',
                                     *PROCESSED)
            self.assertEqual(result['signatures'], ['serving_default', 'predict', 'processed'])
            self.assertEqual(result['global_step'], 200)
            self.compare(result, features, self.columns(rows, self.classification))

    def test_mnist(self):
        with tempfile.TemporaryDirectory() as directory:
            example = examples.convert_mnist(directory)
            model_dir = os.path.join(directory, 'model')
            example.train(model_dir, '--max_steps=10')
            rows = example.predict(model_dir, f'tfrecord {{ file: "{directory}/test.tfrecord" }}',
                                   '--use_tpu=false', '--predict_batch_size=64', *ALL_KEYS,
                                   transforms='transform { take { count: 64 } }')
            images, _ = mnist_model.read_rows(*examples.MNIST_IDX)
            result = exported.export(f'--config={example.config}', f'--model_dir={model_dir}',
                                     *PROCESSED)
            features = {'image': images[:64].astype(np.float32)}
            self.compare(result, features, self.columns(rows, self.classification))

    def test_convolutions(self):
        """Dilated, in groups, one channel a group, and transposed, on digits."""
        layers = ('name: "dilated" conv2d { filters: 8 kernel_size: 3 dilation_rate: 2 padding: SAME '
                  'activation: RELU } input: "image"',
                  'name: "grouped" conv2d { filters: 12 kernel_size: 3 strides: 2 groups: 4 }',
                  'name: "depthwise" conv2d { filters: 24 kernel_size: 3 padding: SAME groups: 12 }',
                  'name: "up" conv2d_transpose { filters: 6 kernel_size: 3 strides: 2 '
                  'activation: RELU }',
                  'name: "same" conv2d_transpose { filters: 2 kernel_size: 2 strides: 3 '
                  'padding: SAME }', 'flatten {}', 'name: "logits" dense { units: 10 }')
        model = ['--unset', 'model.layer']
        for layer in layers:
            model += ['--set', f'model.layer+={{ {layer} }}']
        with tempfile.TemporaryDirectory() as model_dir:
            digits = examples.Example('testdata/digits')
            digits.train(model_dir, '--max_steps=20', *model)
            rows = digits.run('predict', model_dir, '--use_tpu=false', *ALL_KEYS, '--unset',
                              'predict.input.transform.1', '--set',
                              'predict.forward_features=image', *model)  # of take
            features = self.columns(rows, {'image': np.float32})
            want = self.columns(rows, self.classification)
            result = exported.export(f'--config={digits.config}', f'--model_dir={model_dir}',
                                     *PROCESSED, *model)
            self.compare(result, features, want)

    def compare_of_examples(self, wanted, dtypes, signatures, *model):
        """The signatures that take serialized tf.Examples do what predict's input does. `wanted`: what of
        the predictions is in the signatures of the head, {signature: {output: prediction}}."""
        with tempfile.TemporaryDirectory() as model_dir:
            digits = examples.Example('testdata/digits')
            digits.train(model_dir, '--max_steps=20', *model)
            rows = digits.run('predict', model_dir, '--use_tpu=false', *ALL_KEYS, '--unset',
                              'predict.input.transform.1', *model)  # take
            want = self.columns(rows, dtypes)
            result = digits.run('export', model_dir, *model)[0]
            self.assertEqual(result['signatures'],
                             ['serving_default', 'predict', 'processed', 'examples:predict',
                              *signatures])
            records = list(tf.data.TFRecordDataset(
                os.path.abspath('testdata/digits/test.tfrecord.gz'),
                'GZIP').as_numpy_iterator())
            self.assertEqual(len(records), len(rows))
            for run in (exported.SavedModel(result['path']), exported.SessionModel(result['path'])):
                for batch in BATCHES:
                    serialized = np.array(records[:batch], object)
                    got = {'examples:predict': run({'examples': serialized}, 'examples:predict')}
                    got |= {key: run({'inputs': serialized}, key) for key in signatures}
                    for key, outputs in (('examples:predict', {name: name for name in want}),
                                         *wanted.items()):
                        for output, name in outputs.items():
                            error = exported.largest_error(got[key][output], want[name][:batch])
                            self.assertLessEqual(error, TOLERANCE, f'{key}, {batch} rows, {name}')
                    classes = want['probabilities'].shape[1]
                    self.assertEqual(got['classification']['classes'].tolist(),
                                     [[str(i).encode() for i in range(classes)]] * batch)

    def test_digits_of_examples(self):
        self.compare_of_examples({'classification': {'scores': 'probabilities'}}, self.classification,
                                 ['classification'])

    def test_one_logit_of_examples(self):
        """Whether a digit is 5 or more, with the signatures of TensorFlow's binary head."""
        self.compare_of_examples(
            {'classification': {'scores': 'probabilities'}, 'regression': {'outputs': 'logistic'}},
            {**self.classification, 'logistic': np.float32}, ['classification', 'regression'],
            '--set', 'model.layer.logits.dense.units=1', '--set',
            'transformation_func.parse.transform+={ cast { feature: "label" dtype: INT32 scale: 0.2 } }')

    def test_transforms_of_examples(self):
        """decode_raw, lookup and normalize in TensorFlow's ops give what they give here."""
        with tempfile.TemporaryDirectory() as directory:
            path = functools.partial(os.path.join, directory)
            random = np.random.default_rng(1)
            words = ['ant', 'bee', '', 'cow', 'dog', 'Ant', 'a long word with many letters in it']
            records = [tf.train.Example(features=tf.train.Features(feature={
                'word': feature_of(bytes_list=tf.train.BytesList(
                    value=[words[random.integers(len(words))].encode()])),
                'code': feature_of(int64_list=tf.train.Int64List(
                    value=random.integers(-2, 4, 2) * 10)),
                'x': feature_of(float_list=tf.train.FloatList(value=random.normal(size=2))),
                'raw': feature_of(bytes_list=tf.train.BytesList(value=[
                    b'any' + random.normal(size=2).astype(np.float32).tobytes() + b'more'])),
            })).SerializeToString() for _ in range(64)]
            with tf.io.TFRecordWriter(path('rows.tfrecord')) as writer:
                for record in records:
                    writer.write(record)
            with open(path('words.txt'), 'w', encoding='utf-8') as file:
                file.write('cow\nant\nbee\n')
            with open(path('run.textproto'), 'w', encoding='utf-8') as file:
                file.write("""
                    predict_batch_size: 8
                    use_tpu: false
                    model {
                      feature { name: "word" dtype: INT64 }
                      feature { name: "hashed" dtype: INT64 shape: 2 }
                      feature { name: "code" dtype: INT64 shape: 2 }
                      feature { name: "x" dtype: FLOAT32 shape: 2 }
                      feature { name: "middle" dtype: FLOAT32 shape: 2 }
                      layer { name: "words" one_hot { depth: 8 } input: "word" }
                      layer { name: "codes" one_hot { depth: 4 } input: "code" }
                      layer { name: "buckets" one_hot { depth: 6 } input: "hashed" }
                      layer { name: "values" reshape { target_shape: [2, 1] } input: "x" }
                      layer { name: "decoded" reshape { target_shape: [2, 1] } input: "middle" }
                      prediction { name: "words" } prediction { name: "codes" }
                      prediction { name: "buckets" } prediction { name: "values" }
                      prediction { name: "decoded" }
                    }
                    predict { input {
                      source { tfrecord { file: "rows.tfrecord" } }
                      transform { parse_example {
                        feature { name: "word" bytes {} }
                        feature { name: "code" int64 { shape: 2 } }
                        feature { name: "x" float { shape: 2 } }
                        feature { name: "raw" bytes {} }
                      } }
                      transform { decode_raw {
                        feature: "raw" output: "middle" dtype: FLOAT32 shape: 2 offset: 3 } }
                      transform { lookup {
                        feature: "word" vocabulary_file: "words.txt" num_oov_buckets: 5 } }
                      transform { lookup { feature: "code" output: "hashed"
                                           vocabulary_list: ["20", "-20", "0"] num_oov_buckets: 3 } }
                      transform { lookup {
                        feature: "code" vocabulary_list: ["30", "-10"] default_value: 3 } }
                      transform { normalize { feature: "x" mean: [0.1, -2] stddev: 3 } }
                    } }""")
            prefix = path('model.ckpt-3')
            tf.raw_ops.SaveV2(prefix=prefix, tensor_names=['global_step'], shape_and_slices=[''],
                              tensors=[np.int64(3)])
            arguments = (f'--config={path("run.textproto")}', f'--model_dir={path("model")}',
                         f'--checkpoint={prefix}')
            names = ('words', 'codes', 'buckets', 'values', 'decoded')
            want = self.columns(examples.run('predict', *arguments),
                                {name: np.float32 for name in names})
            # Every id comes up: the entries, the buckets that words hash to, the default.
            self.assertGreaterEqual(np.count_nonzero(want['words'].sum(0)), 5)
            self.assertEqual(np.count_nonzero(want['codes'].sum((0, 1))), 3)
            self.assertGreaterEqual(np.count_nonzero(want['buckets'].sum((0, 1))), 4)
            result = examples.run('export', *arguments)[0]
            self.assertIn('examples:predict', result['signatures'])
            for model in (exported.SavedModel(result['path']),
                          exported.SessionModel(result['path'])):
                for batch in BATCHES:
                    got = model({'examples': np.array(records[:batch], object)}, 'examples:predict')
                    for name in names:
                        # A graph is optimized to multiply by 1 / stddev: one rounding more.
                        np.testing.assert_allclose(got[name], want[name][:batch], atol=0, err_msg=name,
                                                   rtol=2e-7 if name == 'values' else 0)


class SavedModelTest(unittest.TestCase):
    """The files, as TensorFlow's tools see them."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.model_dir = os.path.join(directory.name, 'iris')
        cls.arguments = (f'--config={examples.IRIS.config}', f'--model_dir={cls.model_dir}')
        examples.IRIS.train(cls.model_dir, '--max_steps=10')
        cls.path = examples.run('export', *cls.arguments)[0]['path']

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

    def test_inspect_shows_what_saved_model_cli_shows(self):
        digits = examples.Example('testdata/digits')
        with tempfile.TemporaryDirectory() as model_dir:
            digits.train(model_dir, '--max_steps=2')
            of_digits = digits.run('export', model_dir, '--set', 'export.export_to_tpu=true')[0]
            for path in (self.path, of_digits['path']):
                lines = examples.run('inspect', path, '--format=json')
                self.assertEqual(signatures_of(lines), shown_signatures(
                    self.cli('show', '--dir', path, '--all')))
                self.assertEqual(variables_of(lines), checkpoint_shapes(path))

    def test_tags(self):
        """{serve} unless asked otherwise; {serve, tpu} is the same graph under those tags."""
        def tags(*arguments):
            path = examples.run('export', *self.arguments, *arguments)[0]['path']
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


def signatures_of(lines):
    """{(tags, signature): {(input or output, name): (dtype, shape, tensor)}} of inspect's lines."""
    found = {}
    for line in lines:
        if line['kind'] in ('input', 'output'):
            shape = 'unknown_rank' if line['shape'] is None else tuple(line['shape'])
            found.setdefault((tuple(line['tags']), line['signature']), {})[
                line['kind'], line['name']] = (line['dtype'], shape, line['tensor'])
    return found


def shown_signatures(text):
    """The same of `saved_model_cli show --all`."""
    found = {}
    for part in re.split(r"^MetaGraphDef with tag-set: ", text, flags=re.MULTILINE)[1:]:
        tags = tuple(re.match(r"'(.*)' contains", part).group(1).split(', '))
        for signature in re.split(r"^signature_def\[", part, flags=re.MULTILINE)[1:]:
            key = re.match(r"'(.*)'\]:", signature).group(1)
            found[tags, key] = {
                (kind, name): (tf.as_dtype(getattr(types_pb2, dtype)).name if dtype != 'DT_INVALID'
                               else 'invalid',
                               shape if shape == 'unknown_rank'
                               else tuple(int(size) for size in re.findall(r'-?\d+', shape)),
                               tensor)
                for kind, name, dtype, shape, tensor in re.findall(
                    r"(input|output)s\['(.*)'\] tensor_info:\n +dtype: (.*)\n +shape: (.*)\n"
                    r" +name: (.*)\n", signature)}
    return found


def variables_of(lines):
    """{key in the checkpoint: (dtype, shape)} of inspect's lines."""
    return {line.get('checkpoint_key', line['name']): (line['dtype'], line['shape'])
            for line in lines if line['kind'] == 'variable'}


def checkpoint_shapes(path):
    """The same as TensorFlow reads it."""
    reader = tf.train.load_checkpoint(f'{path}/variables/variables')
    dtypes = reader.get_variable_to_dtype_map()
    return {name: (dtypes[name].name, shape)
            for name, shape in reader.get_variable_to_shape_map().items()
            if name != '_CHECKPOINTABLE_OBJECT_GRAPH'}


class Module(tf.Module):
    """A model of TensorFlow 2 with a scalar variable that has no name, as another has."""

    def __init__(self):
        super().__init__()
        self.kernel = tf.Variable(tf.ones([3, 2]), name='kernel')
        self.first, self.second = tf.Variable(1.0), tf.Variable(2.0)
        self.step = tf.Variable(7, dtype=tf.int64, name='global_step')

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, name='x')])
    def __call__(self, x):
        return {'y': tf.matmul(x, self.kernel) * self.first + self.second}


class InspectTest(unittest.TestCase):
    """inspect of what TensorFlow and onnx write, and onnx's view of ONNX files."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name

    def expect_as_saved_model_cli(self, path):
        lines = examples.run('inspect', path, '--format=json')
        self.assertEqual(signatures_of(lines), shown_signatures(SavedModelTest.cli(
            self, 'show', '--dir', path, '--all')))
        return lines

    def test_a_module_of_tensorflow_2(self):
        module = Module()
        tf.saved_model.save(module, self.dir, signatures=module.__call__)
        lines = self.expect_as_saved_model_cli(self.dir)
        self.assertEqual(variables_of(lines), checkpoint_shapes(self.dir))
        self.assertEqual(sorted(line['name'] for line in lines if line['kind'] == 'variable'),
                         ['Variable', 'Variable', 'global_step', 'kernel'])
        model = lines[-1]
        self.assertEqual({key: model[key] for key in (
            'variables', 'parameters', 'bytes', 'global_step', 'unsaved_variables')}, {
                'variables': 4, 'parameters': 8, 'bytes': 40, 'global_step': 7,
                'unsaved_variables': 0})

    def test_a_model_of_keras(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(3,)),
                                     tf.keras.layers.BatchNormalization()])
        model.save(self.dir, save_format='tf')
        lines = self.expect_as_saved_model_cli(self.dir)
        self.assertEqual(variables_of(lines), checkpoint_shapes(self.dir))
        self.assertEqual(lines[-1]['parameters'], model.count_params())

    def test_a_session_with_a_partitioned_and_a_local_variable(self):
        v1 = tf.compat.v1
        path = os.path.join(self.dir, 'model')
        with tf.Graph().as_default(), v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 10])
            sparse = v1.sparse_placeholder(tf.float32, [None, 3])
            with v1.variable_scope('scope', partitioner=v1.fixed_size_partitioner(2)):
                kernel = v1.get_variable('kernel', [10, 4], use_resource=True)
            bias = v1.get_variable('bias', [4], use_resource=False)
            v1.get_variable('local', [4], use_resource=True, collections=['local_variables'])
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, path, {'x': x, 'sparse': sparse},
                                       {'y': tf.matmul(x, tf.convert_to_tensor(kernel)) + bias})
        lines = examples.run('inspect', path, '--format=json')
        self.assertEqual(
            {line['name']: line['bytes'] for line in lines if line['kind'] == 'variable'},
            {'bias': 16, 'scope/kernel': 160, 'local': None})

    def expect_as_onnx(self, path):
        proto = onnx.load(path, load_external_data=False)
        lines = examples.run('inspect', path, '--format=json')
        of_kind = lambda kind: [line for line in lines if line['kind'] == kind]

        def shape(value):
            if not value.type.tensor_type.HasField('shape'):
                return None
            return [dim.dim_value if dim.HasField('dim_value') else dim.dim_param or -1
                    for dim in value.type.tensor_type.shape.dim]

        def dtype(number):
            return {'float': 'float32', 'double': 'float64'}.get(
                onnx.TensorProto.DataType.Name(number).lower(),
                onnx.TensorProto.DataType.Name(number).lower())

        for kind, values in (('input', proto.graph.input), ('output', proto.graph.output)):
            self.assertEqual(
                [(line['name'], line['dtype'], line['shape']) for line in of_kind(kind)],
                [(value.name, dtype(value.type.tensor_type.elem_type), shape(value))
                 for value in values])
        self.assertEqual(
            [(line['name'], line['dtype'], line['shape']) for line in of_kind('initializer')],
            [(tensor.name, dtype(tensor.data_type), list(tensor.dims))
             for tensor in proto.graph.initializer])
        self.assertEqual({line['key']: line['value'] for line in of_kind('metadata')},
                         {entry.key: entry.value for entry in proto.metadata_props})
        self.assertEqual({line['domain']: line['version'] for line in of_kind('opset')},
                         {opset.domain or 'ai.onnx': opset.version for opset in proto.opset_import})
        self.assertEqual((lines[-1]['ir_version'], lines[-1]['producer']),
                         (proto.ir_version, proto.producer_name))
        return proto, lines

    def test_an_onnx_file_of_tpurun(self):
        arguments = (f'--config={examples.IRIS.config}', f'--model_dir={self.dir}')
        examples.IRIS.train(self.dir, '--max_steps=10')
        result = examples.run('export', *arguments, '--export_format=onnx')[0]
        proto, lines = self.expect_as_onnx(os.path.join(result['path'], 'model.onnx'))
        metadata = {entry.key: entry.value for entry in proto.metadata_props}
        self.assertEqual(metadata, {'model': 'iris', 'global_step': '10',
                                    'classes': '["0","1","2"]'})
        self.assertEqual({line['op']: line['count'] for line in lines if line['kind'] == 'op'},
                         collections.Counter(node.op_type for node in proto.graph.node))
        self.assertEqual(lines[-1]['bytes'], sum(
            onnx.numpy_helper.to_array(tensor).nbytes for tensor in proto.graph.initializer))

    def test_onnx_files_of_others(self):
        helper, types = onnx.helper, onnx.TensorProto
        values = {types.FLOAT16: [1, 2], types.DOUBLE: [1, 2], types.INT4: [1, 2, 3],
                  types.BOOL: [True], types.STRING: [b'a', b'bc'], types.COMPLEX128: [1 + 2j],
                  types.FLOAT8E4M3FN: [1, 2], types.UINT64: [3]}
        graph = helper.make_graph(
            [helper.make_node('MatMul', ['x', 'large'], ['y'])], 'graph',
            [helper.make_tensor_value_info('x', types.FLOAT, ['N', None]),
             helper.make_tensor_value_info('unknown', types.INT8, None)],
            [helper.make_tensor_value_info('y', types.FLOAT, ['N', 200])],
            [helper.make_tensor(f'of type {dtype}', dtype, [len(value)], value)
             for dtype, value in values.items()]
            + [onnx.numpy_helper.from_array(np.ones([300, 200], np.float32), 'large')])
        path = os.path.join(self.dir, 'model.onnx')
        onnx.save(helper.make_model(graph), path, save_as_external_data=True, location='values')
        _, lines = self.expect_as_onnx(path)
        self.assertEqual([line['bytes'] for line in lines if line['kind'] == 'initializer'],
                         [4, 16, 2, 1, 3, 16, 2, 8, 240000])


if __name__ == '__main__':
    unittest.main()
