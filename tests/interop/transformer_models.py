"""The transformers of models/zoo, without dropout, of Keras' layers or rounded as a TPU rounds."""
import math

import numpy as np

import attention_in_tf
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
            with v1.variable_scope(f'{name}_{number}'):
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
    """`losses(net, *placeholders)` is the loss of what the placeholders of `shapes` are fed, each a
    type and the dimensions of a row. Of several `replicas` each clips its share of the gradient, and
    the sum of those is applied."""

    def __init__(self, loss_of, shapes, net=None, optimizer=None, clip=None, replicas=1):
        self.loss_of, self.shapes, self.net = loss_of, shapes, net or TransformerNet()
        self.clip, self.replicas = clip, replicas
        super().__init__(optimizer)

    def build(self):
        inputs = [v1.placeholder(dtype, [None, *dims]) for dtype, dims in self.shapes]
        return inputs, self.loss_of(self.net, *inputs)

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


def char_transformer(net, text, following, letters, width, heads, ffn_units, blocks):
    x = net.embedding(text, letters, width, 'embedding')
    x = net.position_embedding(x, 'position')
    x = net.blocks(x, blocks, 'block', heads=heads, ffn_units=ffn_units, epsilon=1e-5, causal=True,
                   pre_norm=True)
    return cross_entropy(following, net.dense(net.layer_norm(x, 1e-5, 'norm'), letters, 'logits'))


# What a record of BERT's pre-training holds, of tokens and of predictions.
PAIRS = {'input_ids': tf.int32, 'input_mask': tf.int32, 'segment_ids': tf.int32,
         'masked_lm_positions': tf.int32, 'masked_lm_ids': tf.int32,
         'masked_lm_weights': tf.float32, 'next_sentence_labels': tf.int32}


def dims_of_pairs(tokens, predictions):
    of_kind = {'input': [tokens], 'segment': [tokens], 'masked': [predictions], 'next': []}
    return {name: of_kind[name.split('_')[0]] for name in PAIRS}


def bert_tiny(net, ids, mask, segments, positions, masked_ids, masked_weights, is_next, words=64,
              width=128, heads=2, ffn_units=512, blocks=2):
    table = net.table(words, width, 'word_embeddings')
    x = tf.gather(table, ids) + net.embedding(segments, 2, width, 'token_type_embeddings')
    x = net.layer_norm(net.position_embedding(x, 'position'), 1e-12, 'embeddings_norm')
    x = net.blocks(x, blocks, 'layer', heads=heads, ffn_units=ffn_units, epsilon=1e-12,
                   mask=tf.cast(mask, tf.float32))
    masked = net.dense(tf.gather(x, positions, batch_dims=1), width, 'transform', tf.nn.gelu)
    masked = net.layer_norm(masked, 1e-12, 'transform_norm')
    pooled = net.dense(x[:, 0], width, 'pooler', tf.tanh)
    return (cross_entropy(masked_ids, net.dense_by_table(masked, table, 'mlm_logits'), masked_weights) +
            cross_entropy(is_next, net.dense(pooled, 2, 'nsp_logits')))


def read_pairs(path, tokens, predictions):
    """The columns of PAIRS."""
    features = {name: tf.io.FixedLenFeature(dims, PAIRS[name] if PAIRS[name].is_floating else tf.int64)
                for name, dims in dims_of_pairs(tokens, predictions).items()}
    records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
    columns = tf.io.parse_example(records, features)
    return [columns[name].numpy().astype(dtype.as_numpy_dtype) for name, dtype in PAIRS.items()]
