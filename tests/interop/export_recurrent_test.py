"""Exported recurrent layers give what Keras gives; ONNX files have them as ONNX's own ops."""
import collections
import itertools
import os
import re
import tempfile
import unittest

import numpy as np
import onnx
import tensorflow as tf

import exported
import examples

layers = tf.keras.layers
BATCHES = (1, 7)
TOLERANCE = 1e-5
# Of Keras' layers, in ONNX and here.
KINDS = {'LSTM': (layers.LSTM, 'lstm'), 'GRU': (layers.GRU, 'gru'),
         'RNN': (layers.SimpleRNN, 'simple_rnn')}
FUNCTIONS = ('linear', 'relu', 'tanh', 'sigmoid', 'softplus', 'elu')
STEPS, FEATURES, UNITS = 4, 3, 5


def fields(config):
    """Keras' arguments as those of the layer's message."""
    def text(value):
        return str(value).lower() if isinstance(value, bool) else str(value).upper()
    return ' '.join(f'{name}: {text(value)}' for name, value in config.items())


def variables_of(layer, name, seed=1):
    """{name: value} of those that the layer is given: any numbers."""
    random = np.random.default_rng(seed)
    values = [random.normal(size=weight.shape).astype(np.float32) / 4 for weight in layer.weights]
    layer.set_weights(values)
    return dict(zip((f'{name}/kernel', f'{name}/recurrent_kernel', f'{name}/bias'), values))


def inputs(rows):
    return np.random.default_rng(2).normal(size=[rows, STEPS, FEATURES]).astype(np.float32)


def ops_of(model):
    return collections.Counter(node.op_type for node in model.proto.graph.node)


class KerasTest(unittest.TestCase):

    def compare(self, model, variables, want_of, **features):
        """The op types of the ONNX file; `want_of(x)` gives {prediction: value}."""
        with tempfile.TemporaryDirectory() as directory:
            models = exported.models_of(exported.export_variables(model, variables, directory))
            for rows, (kind, got_of) in itertools.product(BATCHES, models.items()):
                got, want = got_of({'x': inputs(rows)}), want_of(inputs(rows))
                self.assertEqual(set(got), set(want))
                for name, value in want.items():
                    error = exported.largest_error(got[name], np.array(value))
                    self.assertLessEqual(error, TOLERANCE, f'{kind}, {rows} rows, {name}')
            names = [node.name for node in models['ONNX'].proto.graph.node]
            self.assertFalse([name for name in names if 'step_' in name], 'unrolled')
            return ops_of(models['ONNX'])

    def compare_layer(self, kind, **config):
        keras, message = KINDS[kind]
        layer = keras(UNITS, **config)
        layer(inputs(1))  # builds it
        ops = self.compare(
            f'feature {{ name: "x" shape: [{STEPS}, {FEATURES}] }}'
            f' layer {{ name: "y" {message} {{ units: {UNITS} {fields(config)} }} }}'
            ' prediction { name: "y" }', variables_of(layer, 'y'), lambda x: {'y': layer(x)})
        self.assertEqual(ops[kind], 1)
        # What the op does itself is left nowhere else.
        self.assertEqual(ops['Gemm'] + ops['MatMul'] + ops['Add'], 0)
        return ops

    def test_each_way_through_time(self):
        for kind, backwards, sequences, bias in itertools.product(KINDS, *[(False, True)] * 3):
            with self.subTest(kind=kind, backwards=backwards, sequences=sequences, bias=bias):
                ops = self.compare_layer(kind, go_backwards=backwards, return_sequences=sequences,
                                         use_bias=bias)
                # The order computed is another than that of time only where it is asked for.
                self.assertEqual(ops['Slice'] > 0, backwards and sequences or kind == 'GRU' and bias)

    def test_reset_before(self):
        for bias in (False, True):
            self.compare_layer('GRU', reset_after=False, return_sequences=True, use_bias=bias)

    def test_functions(self):
        """Each in each place, with another in the other: alphas and betas are in order."""
        for kind, function in itertools.product(('LSTM', 'GRU'), FUNCTIONS):
            for other in ('elu', 'sigmoid', 'linear'):
                with self.subTest(kind=kind, activation=function, recurrent_activation=other):
                    self.compare_layer(kind, activation=function, recurrent_activation=other)
        for function in FUNCTIONS:
            with self.subTest(activation=function):
                self.compare_layer('RNN', activation=function)

    def test_bidirectional(self):
        """Both directions come in the order of time, with nothing turned round."""
        for (kind, (keras, message)), sequences in itertools.product(KINDS.items(), (False, True)):
            layer = layers.Bidirectional(keras(UNITS, return_sequences=sequences))
            layer(inputs(1))  # builds it
            variables = (variables_of(layer.forward_layer, 'b/forward_f', 3)
                         | variables_of(layer.backward_layer, 'b/backward_f', 4))
            ops = self.compare(
                f'feature {{ name: "x" shape: [{STEPS}, {FEATURES}] }}'
                f' layer {{ name: "b" bidirectional {{ layer {{ name: "f" {message} {{ units: {UNITS}'
                f' {fields({"return_sequences": sequences})} }} }} }} }} prediction {{ name: "b" }}',
                variables, lambda x, layer=layer: {'b': layer(x)})
            self.assertEqual(ops[kind], 2)
            if kind != 'GRU':  # whose bias is two rows
                self.assertEqual(ops['Slice'], 0)

    def test_states_that_one_layer_gives_another(self):
        for kind, (keras, message) in KINDS.items():
            first = keras(UNITS, return_state=True)
            second = keras(UNITS, return_sequences=True)
            for layer in (first, second):
                layer(inputs(1))  # builds it

            def want(x, first=first, second=second):
                last, *states = first(x)
                return {'a': last, 'b': second(x, initial_state=states)}
            given = ''.join(f' input: "a:{i}"' for i in range(1, 3 if kind == 'LSTM' else 2))
            ops = self.compare(
                f'feature {{ name: "x" shape: [{STEPS}, {FEATURES}] }}'
                f' layer {{ name: "a" {message} {{ units: {UNITS} return_state: true }} }}'
                f' layer {{ name: "b" {message} {{ units: {UNITS} return_sequences: true }}'
                f' input: "x"{given} }} prediction {{ name: "a" }} prediction {{ name: "b" }}',
                variables_of(first, 'a', 5) | variables_of(second, 'b', 6), want)
            self.assertEqual(ops[kind], 2)


CHARACTERS = 'abcdefgh \n'
TEXT_RUN = """
train_batch_size: 8
model {
  name: "text"
  feature { name: "text" dtype: INT32 shape: 12 }
  label { name: "next" dtype: INT32 shape: 12 }
  layer_defaults { lstm { units: 24 return_sequences: true stateful: true reset_states_every: 3 } }
  layer { name: "embedding" embedding { input_dim: 10 output_dim: 16 } }
  layer { name: "lstm_1" lstm {} }
  layer { name: "lstm_2" lstm {} }
  layer { name: "logits" dense { units: 10 } }
  head { sequence { logits: "logits" label: "next" } }
  optimizer { adam {} learning_rate { constant: 0.02 } }
}
train { max_steps: 20 input {
  source { text { file: "text.txt" sequence_length: 12 streams: 8 } }
  transform { repeat {} }
  transform { batch { drop_remainder: true } }
} }
predict {
  input { source { text {
    file: "text.txt" sequence_length: 12 with_labels: false streams: 48 end: 0.5 } } }
  forward_features: "text"
}
"""


class TextTest(unittest.TestCase):
    """A model of text that keeps its state, trained."""

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        draw = np.random.default_rng(1)
        text = CHARACTERS + ''.join(draw.choice(list(CHARACTERS), 2390))
        for name, content in (('text.txt', text), ('run.textproto', TEXT_RUN)):
            with open(os.path.join(directory.name, name), 'w', encoding='utf-8') as file:
                file.write(content)
        cls.model_dir = os.path.join(directory.name, 'model')
        cls.example = examples.Example(directory.name)
        cls.example.train(cls.model_dir)
        cls.result = exported.export(f'--config={cls.example.config}',
                                     f'--model_dir={cls.model_dir}')
        with open(os.path.join(cls.model_dir, 'vocabulary.txt'), 'rb') as file:
            cls.vocabulary = file.read()

    def test_predictions_are_those_of_a_first_batch(self):
        """Of all rows at once: later batches of predict go on with its state."""
        rows = self.example.run('predict', self.model_dir, '--use_tpu=false',
                                '--predict_batch_size=48', '--unset', 'predict.keys')[:48]
        text = np.array([row['text'] for row in rows], np.int32)
        self.assertEqual(text.shape, (48, 12))
        for kind, model in exported.models_of(self.result).items():
            for _ in range(2):  # with nothing left of the call before
                got = model({'text': text})
                for name in ('logits', 'probabilities'):
                    want = np.array([row[name] for row in rows], np.float32)
                    self.assertLessEqual(exported.largest_error(got[name], want), TOLERANCE,
                                         f'{kind}, {name}')

    def test_there_is_no_state(self):
        """Neither variables and initializers of it, nor anything that sets it back."""
        want = ['embedding/embeddings', 'global_step', 'logits/bias', 'logits/kernel',
                *(f'{layer}/{name}' for layer in ('lstm_1', 'lstm_2')
                  for name in ('bias', 'kernel', 'recurrent_kernel'))]
        self.assertEqual(sorted(tf.train.load_checkpoint(
            f'{self.result["path"]}/variables/variables').get_variable_to_shape_map()), want)
        model = exported.OnnxModel(self.result['onnx_path'])
        floats = [tensor.name for tensor in model.proto.graph.initializer
                  if tensor.data_type == onnx.TensorProto.FLOAT
                  and not re.search('/lstm/Rb$', tensor.name)]
        self.assertEqual(sorted(floats), [name for name in want if name != 'global_step'])
        ops = ops_of(model)
        self.assertEqual((ops['LSTM'], ops['Gemm']), (2, 1))
        for node in model.proto.graph.node:
            if node.op_type == 'LSTM':
                self.assertEqual(len(node.input), 4)

    def test_steps_are_in_the_scope_of_their_layer(self):
        graph = exported.SessionModel(self.result['path']).meta_graph.graph_def
        steps = {match.groups() for node in graph.node
                 for match in [re.match(r'(lstm_\d)/lstm/step_(\d+)/MatMul$', node.name)] if match}
        self.assertEqual(steps, {(layer, str(step)) for layer in ('lstm_1', 'lstm_2')
                                 for step in range(12)})

    def test_the_vocabulary_goes_along(self):
        self.assertEqual(self.vocabulary, b'\\n\n \na\nb\nc\nd\ne\nf\ng\nh\n')
        path = os.path.join(self.result['path'], 'assets/vocabulary.txt')
        with open(path, 'rb') as file:
            self.assertEqual(file.read(), self.vocabulary)
        # TensorFlow 2's loader tells where it is, and 1's which tensor to feed it to.
        asset, = tf.saved_model.load(self.result['path']).asset_paths
        self.assertEqual(asset.asset_path.numpy().decode(), path)
        session = exported.SessionModel(self.result['path'])
        definition, = session.meta_graph.asset_file_def
        self.assertEqual(definition.filename, 'vocabulary.txt')
        self.assertEqual(session.session.run(definition.tensor_info.name), b'vocabulary.txt')
        metadata = {entry.key: entry.value for entry in
                    exported.OnnxModel(self.result['onnx_path']).proto.metadata_props}
        self.assertEqual(metadata, {'global_step': '20', 'model': 'text',
                                    'vocabulary': self.vocabulary.decode()})


if __name__ == '__main__':
    unittest.main()
