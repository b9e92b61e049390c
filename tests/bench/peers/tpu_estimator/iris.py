"""testdata/iris trained by TensorFlow's own TPUEstimator on the CPU, one whole process, of which it prints
the examples a second of each window of steps, as JSON.

iris.py CSV MODEL_DIR and the options of windows.py; a batch is of 128.
"""
import argparse

import windows
from windows import tf, v1


def input_fn(csv, batch_size):
    names = ('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth')

    def parse(line):
        *features, species = tf.io.decode_csv(line, [[0.0]] * 4 + [[0]])
        return dict(zip(names, features)), species

    return (tf.data.TextLineDataset(csv).skip(1).map(parse).cache().shuffle(1000).repeat()
            .batch(batch_size, drop_remainder=True).prefetch(2))


def loss_of(features, labels, training):
    net = tf.stack([features[name] for name in sorted(features)], axis=1)
    for name in ('hidden_1', 'hidden_2'):
        net = v1.layers.dense(net, 10, tf.nn.relu, name=name)
    logits = v1.layers.dense(net, 3, name='logits')
    return v1.losses.sparse_softmax_cross_entropy(labels, logits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('csv')
    args = windows.parse_args(parser)
    windows.train(args, lambda params: input_fn(args.csv, params['batch_size']), loss_of,
                  lambda step: v1.train.AdagradOptimizer(0.1, initial_accumulator_value=0.1))


if __name__ == '__main__':
    main()
