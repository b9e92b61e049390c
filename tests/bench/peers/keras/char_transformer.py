"""models/zoo/char_transformer/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU:
mixed_bfloat16 or f32, noise in memory.

char_transformer.py takes the options of windows.py.
"""
import tensorflow as tf

import transformer
import windows

layers = tf.keras.layers
CHARACTERS, LENGTH, WIDTH, HEADS, BLOCKS = 65, 128, 256, 4, 4


def norm(x):
    return layers.LayerNormalization(epsilon=1e-5)(x)


def char_transformer():
    ids = tf.keras.Input([LENGTH], dtype=tf.int32)
    x = transformer.embedding(CHARACTERS, WIDTH, 'embedding')(ids)
    x = layers.Dropout(transformer.DROPOUT)(transformer.PositionEmbedding(name='position')(x))
    for _ in range(BLOCKS):
        x = x + transformer.attention(norm(x), HEADS, causal=True)
        x = x + transformer.feed_forward(norm(x))
    return tf.keras.Model(ids, layers.Dense(CHARACTERS)(norm(x)))


def decays(variable):
    return 'kernel' in variable.name


def main():
    args = windows.parse_args()
    text = tf.random.uniform([20 * args.batch_size, LENGTH + 1], 0, CHARACTERS, tf.int32)
    rate = windows.Rate(lambda step: 0.001 * tf.minimum(step / 100, 1))
    optimizer = tf.keras.optimizers.legacy.Adam(rate, beta_2=0.99, epsilon=1e-8)
    windows.train(args, char_transformer(), text[:, :-1], text[:, 1:], optimizer, clip_norm=1,
                  weight_decay=0.1, decays=decays)


if __name__ == '__main__':
    main()
