"""models/zoo/bert_tiny/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU:
mixed_bfloat16 or f32, noise in memory.

bert_tiny.py takes the options of windows.py.
"""
import tensorflow as tf

import transformer
import windows

layers = tf.keras.layers
VOCABULARY, LENGTH, MASKED, WIDTH, HEADS, BLOCKS = 64, 128, 20, 128, 2, 2


def norm(x):
    return layers.LayerNormalization(epsilon=1e-12)(x)


def bert_tiny():
    """Gives logits (batch, MASKED, VOCABULARY) of the masked words and (batch, 2) of the next sentence."""
    ids, mask, segments = (tf.keras.Input([LENGTH], dtype=tf.int32) for _ in range(3))
    positions = tf.keras.Input([MASKED], dtype=tf.int32)
    words = transformer.embedding(VOCABULARY, WIDTH, 'words')
    x = words(ids) + transformer.embedding(2, WIDTH, 'types')(segments)
    x = layers.Dropout(transformer.DROPOUT)(norm(transformer.PositionEmbedding(name='position')(x)))
    for _ in range(BLOCKS):
        x = norm(x + transformer.attention(x, HEADS, seen=mask > 0))
        x = norm(x + transformer.feed_forward(x))
    masked = norm(layers.Dense(WIDTH, 'gelu')(tf.gather(x, positions, batch_dims=1)))
    pooled = layers.Dense(WIDTH, 'tanh')(x[:, 0])
    return tf.keras.Model([ids, mask, segments, positions],
                          [transformer.Tied(words, 'masked_logits')(masked), layers.Dense(2)(pooled)])


def both_losses(labels, logits):
    masked_ids, weights, next_sentence = labels
    masked_logits, next_logits = logits
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(masked_ids,
                                                            tf.cast(masked_logits, tf.float32))
    masked_loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
    return masked_loss + windows.cross_entropy(next_sentence, next_logits)


def noise(examples):
    """Inputs and labels with the lengths and masked positions of `convert synthetic sentence_pairs`."""
    integers = lambda shape, low, high: tf.random.uniform(shape, low, high, tf.int32)
    whole = lambda condition: tf.cast(condition, tf.int32)
    lengths = integers([examples, 1], LENGTH // 2 + 2, LENGTH + 1)
    places, masked_places = tf.range(LENGTH)[None], tf.range(MASKED)[None]
    counts = tf.minimum(tf.round(0.15 * tf.cast(lengths, tf.float32)), MASKED)
    inputs = (integers([examples, LENGTH], 0, VOCABULARY), whole(places < lengths),
              whole((places >= lengths // 2) & (places < lengths)), masked_places * lengths // MASKED)
    weights = tf.cast(tf.cast(masked_places, tf.float32) < counts, tf.float32)
    return inputs, (integers([examples, MASKED], 0, VOCABULARY), weights, integers([examples], 0, 2))


def rate(step):
    """100 steps of linear warm-up times a linear decay over 3000."""
    return 0.001 * tf.minimum(step / 100, 1) * (1 - tf.minimum(step, 3000) / 3000)


def decays(variable):
    return 'kernel' in variable.name or 'embeddings' in variable.name


def main():
    args = windows.parse_args()
    inputs, labels = noise(20 * args.batch_size)
    optimizer = tf.keras.optimizers.legacy.Adam(windows.Rate(rate), epsilon=1e-6)
    windows.train(args, bert_tiny(), inputs, labels, optimizer, both_losses, clip_norm=1,
                  weight_decay=0.01, decays=decays)


if __name__ == '__main__':
    main()
