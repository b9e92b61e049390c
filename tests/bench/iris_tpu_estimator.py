"""testdata/iris trained by TensorFlow's own TPUEstimator on the CPU, one whole process.

iris_tpu_estimator.py CSV MODEL_DIR --max_steps=N
"""
import argparse

import tensorflow as tf

v1 = tf.compat.v1
tpu = v1.estimator.tpu


def input_fn(csv, batch_size):
    names = ('SepalLength', 'SepalWidth', 'PetalLength', 'PetalWidth')

    def parse(line):
        *features, species = tf.io.decode_csv(line, [[0.0]] * 4 + [[0]])
        return dict(zip(names, features)), species

    return (tf.data.TextLineDataset(csv).skip(1).map(parse).cache().shuffle(1000).repeat()
            .batch(batch_size, drop_remainder=True).prefetch(2))


def model_fn(features, labels, mode, params):
    net = tf.stack([features[name] for name in sorted(features)], axis=1)
    for name in ('hidden_1', 'hidden_2'):
        net = v1.layers.dense(net, 10, tf.nn.relu, name=name)
    logits = v1.layers.dense(net, 3, name='logits')
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = v1.train.AdagradOptimizer(0.1, initial_accumulator_value=0.1)
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('csv')
    parser.add_argument('model_dir')
    parser.add_argument('--max_steps', type=int, required=True)
    args = parser.parse_args()
    config = tpu.RunConfig(model_dir=args.model_dir, save_checkpoints_secs=600,
                           tpu_config=tpu.TPUConfig(iterations_per_loop=500, num_shards=8))
    estimator = tpu.TPUEstimator(model_fn=model_fn, config=config, use_tpu=False,
                                 train_batch_size=128)
    estimator.train(lambda params: input_fn(args.csv, params['batch_size']),
                    max_steps=args.max_steps)


if __name__ == '__main__':
    main()
