"""Models of text train as TensorFlow's do: same weights, same windows, state from batch to batch."""
import os
import unittest

import numpy as np

import classifier
import examples
import reference_optimizers
import written
from classifier import tf, v1
from zoo_models import ZooCase, relative_error

STEPS = 10
ROWS, TIME, LETTERS = 16, 12, 'abcdefghijklmnopqrstuvwxyz .,!'

MODEL = '''
name: "text"
feature {{ name: "text" dtype: INT32 shape: {time} }}
feature {{ name: "start" dtype: INT32 }}
label {{ name: "next" dtype: INT32 shape: {time} }}
layer_defaults {{ lstm {{ units: 24 return_sequences: true stateful: true {resets} }} }}
layer {{ name: "embedding" input: "text" embedding {{ input_dim: {letters} output_dim: 16 }} }}
{layers}
layer {{ name: "logits" dense {{ units: {letters} }} }}
head {{ sequence {{ logits: "logits" label: "next" }} }}
optimizer {{ {optimizer} }}
'''

RUN = '''
model_file: "model.textproto"
train {{
  input {{
    source {{ text {{ file: "train.txt" sequence_length: {time} streams: {rows} with_starts: true }} }}
    transform {{ repeat {{}} }}
    transform {{ batch {{ drop_remainder: true }} }}
  }}
}}
'''


class TextModel:
    """Embedding, recurrent Keras layers and a dense one; the states behind a batch are those ahead of
    the next, but those of a bidirectional layer."""

    def __init__(self, recurrent, optimizer):
        graph = tf.Graph()
        with graph.as_default():
            v1.set_random_seed(1)
            self.text = v1.placeholder(tf.int32, [ROWS, TIME])
            self.next = v1.placeholder(tf.int32, [ROWS, TIME])
            table = v1.get_variable('embedding/embeddings', [len(LETTERS), 16],
                                    initializer=v1.random_uniform_initializer(-0.5, 0.5, seed=1))
            named = {'embedding/embeddings': table}
            x = tf.gather(table, self.text)
            self.before, self.behind = [], []
            for name, layer in recurrent.items():
                if isinstance(layer, tf.keras.layers.Bidirectional):
                    x = layer(x)
                    both = layer.forward_layer, layer.backward_layer
                    parts = {f'{name}/{one.name}': one for one in both}
                else:
                    states = [v1.placeholder(tf.float32, [ROWS, size]) for size in
                              np.ravel(layer.cell.state_size)]
                    x, *behind = layer(x, initial_state=states)
                    self.before += states
                    self.behind += behind
                    parts = {name: layer}
                for scope, part in parts.items():
                    for variable in part.weights:
                        named[f'{scope}/{variable.op.name.split("/")[-1]}'] = variable
            for name, size in (('kernel', [int(x.shape[-1]), len(LETTERS)]),
                               ('bias', [len(LETTERS)])):
                named[f'logits/{name}'] = v1.get_variable(f'logits/{name}', size)
            logits = tf.tensordot(x, named['logits/kernel'], 1) + named['logits/bias']
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.next, logits=logits))
            # As dense tensors, which rows of a table that were not read have zeros in.
            gradients = [tf.convert_to_tensor(gradient) for gradient in
                         tf.gradients(self.loss, list(named.values()))]
            self.minimize = optimizer(gradients, list(named.values()))
            self.named, self.saver = named, v1.train.Saver(named)
            initialize = v1.global_variables_initializer()
        self.session = v1.Session(graph=graph)
        self.session.run(initialize)
        self.reset_states()

    def save(self, prefix):
        with self.session.graph.as_default():
            return self.saver.save(self.session, prefix, write_meta_graph=False)

    def reset_states(self):
        self.states = [np.zeros(state.shape, np.float32) for state in self.before]

    def train(self, text, following):
        feed = dict(zip(self.before, self.states)) | {self.text: text, self.next: following}
        loss, self.states, _ = self.session.run([self.loss, self.behind, self.minimize], feed)
        return loss

    def values(self):
        return self.session.run(self.named)


def clipped_adam(gradients, variables):
    clipped, _ = tf.clip_by_global_norm(gradients, 0.1)
    return v1.train.AdamOptimizer(0.02, epsilon=1e-5).apply_gradients(zip(clipped, variables))


ADAM = 'adam { epsilon: 0.001 } learning_rate { constant: 0.05 }'


def adam(gradients, variables):
    return v1.train.AdamOptimizer(0.05, epsilon=0.001).apply_gradients(zip(gradients, variables))


ADAMW = """adamw { epsilon: 0.001 weight_decay_rate: 0.02 exclude_from_weight_decay: "bias" }
learning_rate { constant: 0.05 }"""


def adamw(gradients, variables):
    return reference_optimizers.AdamW(
        0.05, 0.9, 0.999, 0.001, weight_decay_rate=0.02,
        exclude_from_weight_decay=['bias']).apply_gradients(zip(gradients, variables))


LAMB = 'lamb { exclude_from_weight_decay: "bias" } learning_rate { constant: 0.02 }'


def lamb(gradients, variables):
    return reference_optimizers.Lamb(
        0.02, exclude_from_weight_decay=['bias']).apply_gradients(zip(gradients, variables))


class TextParityTest(ZooCase):

    def write_text(self, batches):
        """Letters, some of them frequent, of which others depend on the one before; the windows of
        every batch."""
        draw = np.random.default_rng(1)
        per_stream = batches * TIME + 1
        ids = np.zeros([ROWS, per_stream], np.int32)
        for i in range(1, per_stream):
            following = (3 * ids[:, i - 1] + 1 + draw.integers(0, 6, ROWS)) % len(LETTERS)
            ids[:, i] = np.where(draw.random(ROWS) < 0.6, draw.integers(0, 4, ROWS), following)
        ids[0, :len(LETTERS)] = np.arange(len(LETTERS))  # each is in the vocabulary
        vocabulary = sorted(LETTERS)
        text = ''.join(vocabulary[i] for i in ids.ravel())
        with open(os.path.join(self.directory, 'train.txt'), 'w', encoding='utf-8') as file:
            file.write(text)
        return [(ids[:, at:at + TIME], ids[:, at + 1:at + TIME + 1])
                for at in range(0, batches * TIME, TIME)]

    def compare(self, recurrent, layers, optimizer, fields, steps, batches, tolerance, resets='',
                flags=('--use_tpu=false',)):
        """`resets`: the fields by which the states are reset where the text begins again."""
        example = self.write_example(layers, fields, resets)
        windows = self.write_text(batches)
        model = TextModel(recurrent(), optimizer)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        want = []
        for step in range(steps):
            if resets and step % batches == 0:
                model.reset_states()
            want.append(model.train(*windows[step % batches]))
        example.train(self.model_dir, *flags, '--save_summary_steps=1',
                      '--set', 'tpu_config.iterations_per_loop=1', f'--max_steps={steps}',
                      f'--train_batch_size={ROWS}',
                      '--set', f'warm_start_from={{ ckpt_to_initialize_from: "{initial}" }}')
        got = list(written.scalars(written.read_events(self.model_dir), 'loss').values())
        error = classifier.largest_relative_error(got, want)
        print(f'losses {want[0]:.6f} ... {want[-1]:.6f}, largest relative error {error:.1e}')
        self.assertLess(error, 1e-4)
        self.assertLess(want[-1], 0.95 * want[0])
        values = self.values_at(steps)
        errors = {name: relative_error(values[name], value)
                  for name, value in model.values().items()}
        worst = max(errors, key=errors.get)
        print(f'of {len(errors)} variables the largest error is {errors[worst]:.1e}, of {worst}')
        self.assertLess(errors[worst], tolerance)
        return values, model

    def write_example(self, layers, optimizer, resets):
        for name, text in (('model', MODEL.format(time=TIME, letters=len(LETTERS), layers=layers,
                                                  optimizer=optimizer, resets=resets)),
                           ('run', RUN.format(time=TIME, rows=ROWS))):
            path = os.path.join(self.directory, f'{name}.textproto')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
        return examples.Example(self.directory)

    def compare_stacked(self, *args, **options):
        def recurrent():
            return {name: tf.keras.layers.LSTM(24, return_sequences=True, return_state=True, name=name)
                    for name in ('lstm_1', 'lstm_2')}
        return self.compare(
            recurrent, 'layer { name: "lstm_1" lstm {} } layer { name: "lstm_2" lstm {} }',
            *args, **options)

    def test_stacked_lstm_with_clipping_that_keeps_its_state(self):
        values, model = self.compare_stacked(
            clipped_adam, 'adam { epsilon: 1e-5 } learning_rate { constant: 0.02 } clip_by_global_norm: 0.1',
            STEPS, STEPS, 1e-4)
        for name, state in zip(('lstm_1/h', 'lstm_1/c', 'lstm_2/h', 'lstm_2/c'), model.states):
            self.assertLess(relative_error(values[name], state), 1e-4)

    def test_stacked_lstm_whose_state_is_reset_where_the_text_begins_again(self):
        self.compare_stacked(adam, ADAM, 8, 3, 1e-4, resets='reset_states_at: "start"')

    def test_so_is_that_of_every_core(self):
        self.compare_stacked(adam, ADAM, 8, 3, 1e-4, resets='reset_states_at: "start"',
                             flags=('--set', 'model.matmul_precision=F32'))

    def test_stacked_lstm_whose_state_is_reset_by_number(self):
        self.compare_stacked(adam, ADAM, 8, 3, 1e-4, resets='reset_states_every: 3')

    def test_bidirectional_gru(self):
        self.compare(
            lambda: {'both': tf.keras.layers.Bidirectional(
                tf.keras.layers.GRU(24, return_sequences=True, name='gru'), name='both')},
            'layer { name: "both" bidirectional { layer { gru { units: 24 return_sequences: true } } } }',
            adam, ADAM, STEPS, 5, 1e-4)

    def test_embedding_with_adam(self):
        """Rows that no batch reads decay as TensorFlow's do."""
        self.compare(dict, '', adam, ADAM, 50, 5, 1e-4)

    def test_embedding_with_adamw(self):
        self.compare(dict, '', adamw, ADAMW, 50, 5, 1e-4)

    def test_embedding_with_lamb(self):
        self.compare(dict, '', lamb, LAMB, 50, 5, 1e-4)

    def test_stacked_lstm_with_lamb_on_every_core(self):
        self.compare_stacked(lamb, LAMB, STEPS, 5, 1e-4, resets='reset_states_at: "start"',
                             flags=('--set', 'model.matmul_precision=F32'))


if __name__ == '__main__':
    unittest.main()
