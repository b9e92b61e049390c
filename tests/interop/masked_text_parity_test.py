"""Classifiers of padded text train as those of Keras' layers do: same weights, same rows, same masks."""
import os
import unittest

import numpy as np

import classifier
import examples
from classifier import tf, v1
from zoo_models import ZooCase, relative_error

STEPS, STEPS_IN_BUCKETS, BATCHES, ROWS, TIME, WORDS, CLASSES = 10, 30, 2, 16, 12, 30, 3
# Of a loss, and of a tensor's largest value. With the padding counted every model is 1e-2 off and more.
SAME = 1e-5

MODEL = f'''
name: "masked_text"
feature {{ name: "ids" dtype: INT32 shape: {TIME} }}
label {{ name: "class" dtype: INT32 }}
layer {{ name: "embedding" embedding {{ input_dim: {WORDS} output_dim: 8 mask_zero: true }} }}
LAYERS
layer {{ name: "logits" dense {{ units: {CLASSES} }} }}
head {{ classification {{ logits: "logits" label: "class" }} }}
optimizer {{ adam {{ epsilon: 0.001 }} learning_rate {{ constant: 0.05 }} }}
matmul_precision: F32
'''

RUN = f'''
model_file: "model.textproto"
train {{
  input {{
    source {{ tfrecord {{ file: "train.tfrecord" }} }}
    transform {{
      parse_example {{
        feature {{ name: "ids" int64 {{ shape: {TIME} }} }}
        feature {{ name: "class" int64 {{}} }}
        feature {{ name: "length" int64 {{}} }}
      }}
    }}
    transform {{ cast {{ feature: ["ids", "class"] dtype: INT32 }} }}
    transform {{ shuffle {{ buffer_size: 1 }} }}
    transform {{ repeat {{}} }}
    transform {{ batch {{ BATCH }} }}
  }}
}}
'''
# The first length that each bucket but the first has.
BOUNDARIES = [4, 7, 10]
BUCKETS = f'''bucket_by_sequence_length {{
  element_length: "length" feature: "ids" bucket_boundaries: {BOUNDARIES}
}}'''


class MaskedText:
    """Keras' layers from the embedding on: `between(x)` gives (the features of a row, its layers)."""

    def __init__(self, between):
        graph = tf.Graph()
        with graph.as_default():
            v1.set_random_seed(1)
            self.ids = v1.placeholder(tf.int32, [ROWS, None])
            self.classes = v1.placeholder(tf.int32, [ROWS])
            embedding = tf.keras.layers.Embedding(WORDS, 8, mask_zero=True, name='embedding')
            x, layers = between(embedding(self.ids))
            logits = tf.keras.layers.Dense(CLASSES, name='logits')
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=self.classes, logits=logits(x)))
            self.named = {f'{layer.name}/{variable.name.split("/")[-1].split(":")[0]}': variable
                          for layer in (embedding, *layers, logits) for variable in layer.weights}
            variables = list(self.named.values())
            gradients = map(tf.convert_to_tensor, tf.gradients(self.loss, variables))
            self.minimize = v1.train.AdamOptimizer(0.05, epsilon=0.001).apply_gradients(
                zip(gradients, variables))
            self.saver = v1.train.Saver(self.named)
            initialize = v1.global_variables_initializer()
        self.session = v1.Session(graph=graph)
        self.session.run(initialize)

    def save(self, prefix):
        with self.session.graph.as_default():
            return self.saver.save(self.session, prefix, write_meta_graph=False)

    def train(self, ids, classes):
        return self.session.run([self.loss, self.minimize], {self.ids: ids, self.classes: classes})[0]


def mean_of_words(x):
    hidden = tf.keras.layers.Dense(6, 'relu', name='hidden')
    return hidden(tf.keras.layers.GlobalAveragePooling1D()(x)), [hidden]


def largest_of_windows(x):
    """Keras' convolution drops the mask."""
    conv = tf.keras.layers.Conv1D(10, 3, activation='relu', name='conv')
    return tf.keras.layers.GlobalMaxPooling1D()(conv(x)), [conv]


def states_after_convolution(x):
    """The sum has the mask of what is added to the convolution."""
    conv = tf.keras.layers.Conv1D(8, 2, padding='causal', dilation_rate=2, activation='tanh', name='conv')
    lstm = tf.keras.layers.LSTM(6, name='lstm')
    return lstm(tf.keras.layers.Add()([conv(x), x])), [conv, lstm]


class MaskedTextParityTest(ZooCase):

    def write_rows(self, rows):
        """The words, classes and lengths of rows of 1 to TIME words and padding after, some of it
        between the words too. The class is that of most words."""
        draw = np.random.default_rng(1)
        ids = draw.integers(1, WORDS, [rows, TIME])
        lengths = draw.integers(1, TIME + 1, rows)
        ids[np.arange(TIME) >= lengths[:, None]] = 0
        ids[:, 1:][draw.random([rows, TIME - 1]) < 0.1] = 0
        counts = np.stack([((ids % CLASSES == each) & (ids > 0)).sum(1) for each in range(CLASSES)], 1)
        classes = counts.argmax(1)
        with tf.io.TFRecordWriter(self.records) as writer:
            for row, each, length in zip(ids, classes, lengths):
                features = {name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
                            for name, values in (('ids', row), ('class', [each]), ('length', [length]))}
                writer.write(tf.train.Example(
                    features=tf.train.Features(feature=features)).SerializeToString())
        return ids, classes, lengths

    @staticmethod
    def in_buckets(ids, classes, lengths):
        """The batches of tf.data, each padded to the length of its bucket."""
        words = [row[:length] for row, length in zip(ids, lengths)]
        signature = tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)
        rows = tf.data.Dataset.from_generator(lambda: zip(words, classes), output_signature=signature)
        batches = rows.repeat().bucket_by_sequence_length(
            lambda row, _: tf.shape(row)[0], [*BOUNDARIES, TIME + 1], [ROWS] * (len(BOUNDARIES) + 2),
            pad_to_bucket_boundary=True)
        return list(batches.take(STEPS_IN_BUCKETS).as_numpy_iterator())

    def compare(self, between, layers, *flags, buckets=False):
        run = RUN.replace('BATCH', BUCKETS if buckets else 'drop_remainder: true')
        for name, text in (('model', MODEL.replace('LAYERS', layers)), ('run', run)):
            with open(os.path.join(self.directory, f'{name}.textproto'), 'w', encoding='utf-8') as file:
                file.write(text)
        if buckets:
            batches = self.in_buckets(*self.write_rows(5 * ROWS))
            self.assertEqual({ids.shape[1] for ids, _ in batches}, {*(b - 1 for b in BOUNDARIES), TIME})
        else:
            ids, classes, _ = self.write_rows(BATCHES * ROWS)
            batches = [(ids[at:at + ROWS], classes[at:at + ROWS]) for at in range(0, BATCHES * ROWS, ROWS)]
        model = MaskedText(between)
        initial = model.save(os.path.join(self.directory, 'tensorflow'))
        steps = STEPS_IN_BUCKETS if buckets else STEPS
        want = [model.train(*batches[step % len(batches)]) for step in range(steps)]
        got = self.train(examples.Example(self.directory), initial, steps, ROWS, *flags)
        error = classifier.largest_relative_error(got, want)
        print(f'losses {want[0]:.6f} ... {want[-1]:.6f}, largest relative error {error:.1e}')
        values, errors = self.values_at(steps), {}
        for name, value in model.session.run(model.named).items():
            errors[name] = relative_error(values[name], value)
        worst = max(errors, key=errors.get)
        print(f'of {len(errors)} variables the largest error is {errors[worst]:.1e}, of {worst}')
        self.assertLess(error, SAME)
        self.assertLess(want[-1], 0.95 * want[0])
        self.assertLess(errors[worst], SAME)

    MEAN = '''layer { global_average_pooling1d {} }
              layer { name: "hidden" dense { units: 6 activation: RELU } }'''

    def test_mean_of_words(self):
        self.compare(mean_of_words, self.MEAN, '--use_tpu=false')

    def test_mean_of_words_on_every_core(self):
        self.compare(mean_of_words, self.MEAN, '--use_tpu=true')

    WINDOWS = '''layer { name: "conv" drop_mask: true conv1d { filters: 10 kernel_size: 3 activation: RELU } }
                 layer { global_max_pooling1d {} }'''

    def test_convolution_and_the_largest_of_its_windows(self):
        self.compare(largest_of_windows, self.WINDOWS, '--use_tpu=false')

    STATES = '''layer {
                  name: "conv" drop_mask: true
                  conv1d { filters: 8 kernel_size: 2 padding: CAUSAL dilation_rate: 2 activation: TANH }
                }
                layer { name: "sum" add {} input: ["conv", "embedding"] }
                layer { name: "lstm" lstm { units: 6 } }'''

    def test_causal_convolution_and_lstm(self):
        self.compare(states_after_convolution, self.STATES, '--use_tpu=false')

    def test_buckets_of_means(self):
        self.compare(mean_of_words, self.MEAN, '--use_tpu=true', buckets=True)

    def test_buckets_whose_padding_counts(self):
        """A convolution without padding of its own, of sequences that are no shorter than its window."""
        self.compare(largest_of_windows, self.WINDOWS, '--use_tpu=false', buckets=True)

    def test_buckets_of_an_lstm(self):
        self.compare(states_after_convolution, self.STATES, '--use_tpu=true', buckets=True)


if __name__ == '__main__':
    unittest.main()
