"""The transformers of models/zoo, without dropout, of Keras' layers or rounded as a TPU rounds."""
import math
import os
from typing import NamedTuple

import numpy as np

import attention_in_tf
import examples
from classifier import tf, v1
from zoo_models import Net, Trained


class TransformerNet(Net):
    """Keras' layers."""

    def embedding(self, ids, rows, width, name):
        return tf.gather(self.table(rows, width, name), ids)

    def position_embedding(self, x, name):
        return x + self.table(*x.shape[1:], name)

    def table(self, rows, width, name):
        with v1.variable_scope(name):
            return v1.get_variable('embeddings', [rows, width])

    def layer_norm(self, x, epsilon, name):
        norm = tf.keras.layers.LayerNormalization(epsilon=epsilon, name=name)
        return self.stored(self.arithmetic.summed(norm(x)))

    def attention(self, x, heads, width, mask, causal, name):
        """`mask`: (batch, time), 0 where a key is not seen; None where all are."""
        layer = tf.keras.layers.MultiHeadAttention(heads, width, name=name)
        seen = None if mask is None else mask[:, None, :] > 0
        return layer(x, x, attention_mask=seen, use_causal_mask=causal)

    def block(self, x, heads, ffn_units, epsilon, mask=None, causal=False, pre_norm=False):
        features = int(x.shape[-1])

        def residual(name, inner):
            with v1.variable_scope(name):
                y = x + inner(self.layer_norm(x, epsilon, 'norm') if pre_norm else x)
            return y if pre_norm else self.layer_norm(y, epsilon, behind[name])

        behind = {'attention': 'attention_norm', 'ffn': 'output_norm'}
        x = residual('attention', lambda h: self.attention(h, heads, features // heads, mask, causal,
                                                           'self'))
        return residual('ffn', lambda h: self.dense(
            self.dense(h, ffn_units, 'intermediate', tf.nn.gelu), features, 'output'))

    def blocks(self, x, count, name, **options):
        for number in range(count):
            with v1.variable_scope(f'{name}_{number}' if count > 1 else name):
                x = self.block(x, **options)
        return x

    def dense_by_table(self, x, table, name):
        """Kernel: the transposed table."""
        with v1.variable_scope(name):
            bias = v1.get_variable('bias', [table.shape[0]])
        return self.arithmetic.product(
            lambda x, table: tf.matmul(x, table, transpose_b=True), x, table) + bias


class RoundedNet(TransformerNet):
    """With the operands of attention's products rounded, and of those of its gradient."""

    def attention(self, x, heads, width, mask, causal, name):
        def projected(part, x, kernel_shape, equation, bias_dims):
            return self.layer(
                lambda x, kernel: self.arithmetic.product(
                    lambda x, kernel: tf.einsum(equation, x, kernel), x, kernel),
                x, kernel_shape, f'{name}/{part}', bias_dims, tf.identity, None)

        features = int(x.shape[-1])
        q, k, v = (projected(part, x, [features, heads, width], 'ntc,chd->nthd', 2)
                   for part in ('query', 'key', 'value'))
        more = [] if mask is None else [mask]
        options = {'precision': 0, 'scale': 1 / math.sqrt(width), 'causal': causal}
        noisy = self.arithmetic.noisy

        @tf.custom_gradient
        def attended(q, k, v):
            y, statistics = attention_in_tf.attention(q, k, v, *more, **options)
            y = noisy(y)

            def gradient(dy):
                return [noisy(dx) for dx in attention_in_tf.attention_grad(
                    dy, q, k, v, y, statistics, *more, **options)]
            return y, gradient

        return projected('attention_output', attended(q, k, v), [heads, width, features],
                         'nthd,hdo->nto', 1)


class Transformer(Trained):
    """`kind` says its `loss(net, *columns)` and the `shapes` of the columns, each a type and the
    dimensions of a row. Of several `replicas` each clips its share of the gradient, and the sum of
    those is applied."""

    def __init__(self, kind, net=None, optimizer=None, clip=None, replicas=1):
        self.kind, self.net = kind, net or TransformerNet()
        self.clip, self.replicas = clip, replicas
        super().__init__(optimizer)

    def build(self):
        inputs = [v1.placeholder(dtype, [None, *dims]) for dtype, dims in self.kind.shapes]
        return inputs, self.kind.loss(self.net, *inputs)

    @staticmethod
    def fan_in(name, size):
        return size[0] if name.endswith(('query/kernel', 'key/kernel', 'value/kernel')) else np.prod(
            size[:-1])

    def minimize(self, optimizer, step):
        self.clipped, _ = tf.clip_by_global_norm(
            [gradient / self.replicas for gradient in self.gradients.values()], self.clip)
        self.summed = [v1.placeholder(gradient.dtype, gradient.shape) for gradient in self.clipped]
        update = optimizer.apply_gradients(zip(self.summed, v1.trainable_variables()))
        with tf.control_dependencies([update]):
            return v1.assign_add(step, 1)

    def train(self, *inputs):
        losses, clipped = zip(*self.of_replicas(inputs, self.replicas, [self.loss, self.clipped]))
        sums = [sum(gradients) for gradients in zip(*clipped)]
        self.session.run(self.minimized, dict(zip(self.summed, sums)))
        return np.mean(losses)


def cross_entropy(labels, logits, weights=1.0):
    return v1.losses.sparse_softmax_cross_entropy(labels, logits, weights)


class CharTransformer(NamedTuple):
    """models/zoo/char_transformer of a size of its own."""
    letters: str
    time: int
    width: int
    heads: int
    ffn_units: int
    blocks: int

    folder = 'models/zoo/char_transformer'

    @property
    def shapes(self):
        return [(tf.int32, [self.time])] * 2

    @property
    def settings(self):
        block, source = 'model.layer.block.transformer_block', 'train.input.source.text'
        return (
            f'model.feature.text.shape={self.time}', f'model.label.next.shape={self.time}',
            f'model.layer.embedding.embedding.input_dim={len(self.letters)}',
            f'model.layer.embedding.embedding.output_dim={self.width}',
            f'model.layer.position.position_embedding.max_length={self.time}',
            'model.layer.dropout.dropout.rate=0', f'{block}.dropout=0',
            f'{block}.num_heads={self.heads}', f'{block}.key_dim={self.width // self.heads}',
            f'{block}.ffn_units={self.ffn_units}', f'{block}.repeat={self.blocks}',
            f'model.layer.logits.dense.units={len(self.letters)}', f'{source}.end=1',
            f'{source}.sequence_length={self.time}', f'{source}.shift={self.time}')

    def loss(self, net, text, following):
        letters = len(self.letters)
        x = net.embedding(text, letters, self.width, 'embedding')
        x = net.position_embedding(x, 'position')
        x = net.blocks(x, self.blocks, 'block', heads=self.heads, ffn_units=self.ffn_units,
                       epsilon=1e-5, causal=True, pre_norm=True)
        logits = net.dense(net.layer_norm(x, 1e-5, 'norm'), letters, 'logits')
        return cross_entropy(following, logits)

    def write(self, directory, rows):
        """A text in which each letter depends on the one before, or on that three before; the
        windows, and what follows each letter of them."""
        draw = np.random.default_rng(1)
        count = len(self.letters)
        ids = list(range(count))  # each is in the vocabulary
        while len(ids) <= rows * self.time:
            ids.append(draw.choice([(3 * ids[-1] + 1) % count, ids[-3], draw.integers(4)]))
        vocabulary = sorted(self.letters)
        with open(os.path.join(directory, 'input.txt'), 'w', encoding='utf-8') as file:
            file.write(''.join(vocabulary[i] for i in ids))
        return [np.reshape(ids[at:at + rows * self.time], [rows, self.time]) for at in (0, 1)]


class BertTiny:
    """models/zoo/bert_tiny."""
    folder = 'models/zoo/bert_tiny'
    words, width, heads, ffn_units, blocks, tokens, predictions = 64, 128, 2, 512, 2, 128, 20
    columns = {'input_ids': (tf.int32, [tokens]), 'input_mask': (tf.int32, [tokens]),
               'segment_ids': (tf.int32, [tokens]), 'masked_lm_positions': (tf.int32, [predictions]),
               'masked_lm_ids': (tf.int32, [predictions]),
               'masked_lm_weights': (tf.float32, [predictions]),
               'next_sentence_labels': (tf.int32, [])}
    shapes = list(columns.values())
    settings = ('model.layer_defaults.dropout.rate=0',
                'model.layer.layer.sequence.layer.attention.residual.layer.self.multi_head_attention'
                '.dropout=0')

    def loss(self, net, ids, mask, segments, positions, masked_ids, masked_weights, is_next):
        table = net.table(self.words, self.width, 'word_embeddings')
        x = tf.gather(table, ids) + net.embedding(segments, 2, self.width, 'token_type_embeddings')
        x = net.layer_norm(net.position_embedding(x, 'position'), 1e-12, 'embeddings_norm')
        x = net.blocks(x, self.blocks, 'layer', heads=self.heads, ffn_units=self.ffn_units,
                       epsilon=1e-12, mask=tf.cast(mask, tf.float32))
        masked = tf.gather(x, positions, batch_dims=1)
        masked = net.dense(masked, self.width, 'transform', tf.nn.gelu)
        masked = net.layer_norm(masked, 1e-12, 'transform_norm')
        masked_loss = cross_entropy(masked_ids, net.dense_by_table(masked, table, 'mlm_logits'),
                                    masked_weights)
        pooled = net.dense(x[:, 0], self.width, 'pooler', tf.tanh)
        return masked_loss + cross_entropy(is_next, net.dense(pooled, 2, 'nsp_logits'))

    def write(self, directory, rows):
        """The columns of records that tpurun draws."""
        path = os.path.join(directory, 'train.tfrecord')
        examples.run('convert', 'synthetic', 'sentence_pairs', f'--examples={rows}', '--seed=1',
                    f'--output={path}')
        features = {name: tf.io.FixedLenFeature(dims, dtype if dtype.is_floating else tf.int64)
                    for name, (dtype, dims) in self.columns.items()}
        records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
        columns = tf.io.parse_example(records, features)
        return [columns[name].numpy().astype(dtype.as_numpy_dtype)
                for name, (dtype, _) in self.columns.items()]
