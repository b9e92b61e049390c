"""testdata/iris/model.textproto in Keras, as fast as TensorFlow 2.15 trains it on a CPU: mixed_bfloat16
or f32, noise in memory.

iris.py takes the options of windows.py.
"""
import tensorflow as tf

import windows

layers = tf.keras.layers


def iris():
    return tf.keras.Sequential([
        layers.InputLayer(input_shape=[4]),
        layers.Dense(10, 'relu'),
        layers.Dense(10, 'relu'),
        layers.Dense(3),
    ])


def main():
    args = windows.parse_args()
    count = 20 * args.batch_size
    flowers, species = tf.random.uniform([count, 4]), tf.random.uniform([count], 0, 3, tf.int32)
    optimizer = tf.keras.optimizers.legacy.Adagrad(0.1, initial_accumulator_value=0.1, epsilon=0)
    windows.train(args, iris(), flowers, species, optimizer)


if __name__ == '__main__':
    main()
