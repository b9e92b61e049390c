"""tests/bench/lstm_bench/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU:
mixed_bfloat16 or f32, noise in memory.

lstm_bench.py takes the options of windows.py.
"""
import tensorflow as tf

import windows

layers = tf.keras.layers
CHARACTERS, LENGTH = 98, 100


def lstm():
    return tf.keras.Sequential([
        layers.InputLayer(input_shape=[LENGTH], dtype=tf.int32),
        layers.Embedding(CHARACTERS, 128),
        layers.LSTM(512, return_sequences=True),
        layers.Dense(CHARACTERS),
    ])


def main():
    args = windows.parse_args()
    text = tf.random.uniform([20 * args.batch_size, LENGTH + 1], 0, CHARACTERS, tf.int32)
    optimizer = tf.keras.optimizers.legacy.Adam(0.001, epsilon=1e-8)
    windows.train(args, lstm(), text[:, :-1], text[:, 1:], optimizer)


if __name__ == '__main__':
    main()
