"""testdata/mnist trained by TensorFlow's own TPUEstimator on the CPU, in f32, from TFRecord files that
`tpurun convert idx` writes, of which it prints the examples a second of each window of steps, as JSON.

mnist.py RECORDS MODEL_DIR and the options of windows.py; RECORDS may be a pattern of files.
"""
import argparse

import windows
from windows import tf, v1


def input_fn(records, batch_size):
    columns = {'image_raw': tf.io.FixedLenFeature([], tf.string),
               'label': tf.io.FixedLenFeature([], tf.int64)}

    def parse(record):
        example = tf.io.parse_single_example(record, columns)
        image = tf.reshape(tf.io.decode_raw(example['image_raw'], tf.uint8), [28, 28, 1])
        return tf.cast(image, tf.float32) / 255 - 0.5, tf.cast(example['label'], tf.int32)

    files = tf.data.Dataset.list_files(records, shuffle=False)
    return (tf.data.TFRecordDataset(files, buffer_size=8388608).map(parse, tf.data.AUTOTUNE).cache()
            .shuffle(10000).repeat().batch(batch_size, drop_remainder=True).prefetch(2))


def loss_of(net, labels, training):
    for name, filters in (('conv2d', 32), ('conv2d_1', 64)):
        net = v1.layers.conv2d(net, filters, 5, padding='same', activation=tf.nn.relu, name=name)
        net = v1.layers.max_pooling2d(net, 2, 2)
    net = v1.layers.dense(v1.layers.flatten(net), 128, tf.nn.relu, name='dense')
    net = v1.layers.dropout(net, 0.4, training=training)
    logits = v1.layers.dense(net, 10, name='logits')
    return v1.losses.sparse_softmax_cross_entropy(labels, logits)


def optimizer_of(step):
    return v1.train.MomentumOptimizer(v1.train.exponential_decay(0.05, step, 100000, 0.96), 0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('records')
    args = windows.parse_args(parser)
    windows.train(args, lambda params: input_fn(args.records, params['batch_size']), loss_of,
                  optimizer_of)


if __name__ == '__main__':
    main()
