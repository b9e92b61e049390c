"""The layers that char_transformer.py and bert_tiny.py share."""
import tensorflow as tf

layers = tf.keras.layers
DROPOUT = 0.1


def small():
    return tf.keras.initializers.TruncatedNormal(stddev=0.02)


def embedding(rows, width, name):
    return layers.Embedding(rows, width, embeddings_initializer=small(), name=name)


class PositionEmbedding(layers.Layer):
    """Adds a row of a table to each position."""

    def build(self, shape):
        self.embeddings = self.add_weight('embeddings', shape[1:], initializer=small())

    def call(self, x):
        return x + tf.cast(self.embeddings, x.dtype)


class Tied(layers.Layer):
    """Logits by the transposed table of an embedding, and a bias."""

    def __init__(self, embedding, name):
        super().__init__(name=name)
        self.embedding = embedding

    def build(self, shape):
        self.bias = self.add_weight('bias', [self.embedding.input_dim], initializer='zeros')

    def call(self, x):
        table = tf.cast(self.embedding.embeddings, x.dtype)
        rows = tf.reshape(x, [-1, x.shape[-1]])
        logits = tf.matmul(rows, table, transpose_b=True) + tf.cast(self.bias, x.dtype)
        return tf.reshape(logits, [-1, *x.shape[1:-1], self.embedding.input_dim])


def attention(x, heads, seen=None, causal=False):
    """Of the keys that `seen`, (batch, time), tells; all where it is None."""
    layer = layers.MultiHeadAttention(heads, x.shape[-1] // heads, dropout=DROPOUT)
    mask = None if seen is None else seen[:, None, :]
    return layers.Dropout(DROPOUT)(layer(x, x, attention_mask=mask, use_causal_mask=causal))


def feed_forward(x):
    width = x.shape[-1]
    return layers.Dropout(DROPOUT)(layers.Dense(width)(layers.Dense(4 * width, 'gelu')(x)))
