"""The flops of a forward pass, as `summary` counts them, and as TensorFlow's profiler does."""
import math
import unittest

import examples
from classifier import tf, v1
from transformer_models import BertTiny, TransformerNet
from zoo_models import Net, mnist, resnet50

CORES = 8
BATCH = 8  # a row a core


class MatmulNet(TransformerNet):
    """Attention of matrix products: the profiler counts no einsum, which Keras' layer has."""

    def attention(self, x, heads, width, mask, causal, name):
        del mask, causal
        batch, time, features = x.shape
        q, k, v = (tf.transpose(tf.reshape(self.dense(x, heads * width, f'{name}/{part}'),
                                           [batch, time, heads, width]), [0, 2, 1, 3])
                   for part in ('query', 'key', 'value'))
        scores = tf.matmul(q, k, transpose_b=True) * (1 / math.sqrt(width))
        y = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        return self.dense(tf.reshape(y, [batch, time, heads * width]), features, f'{name}/output')

    def dense(self, x, units, name, activation=tf.identity):
        """The profiler counts a product of matrices only."""
        rows = tf.reshape(x, [-1, x.shape[-1]])
        return tf.reshape(super().dense(rows, units, name, activation), [*x.shape[:-1], units])


def counted_by_tensorflow(build):
    graph = tf.Graph()
    with graph.as_default():
        build()
        options = v1.profiler.ProfileOptionBuilder.float_operation()
        options['output'] = 'none'
        return v1.profiler.profile(graph, options=options).total_float_ops


def images(*dims):
    return v1.placeholder(tf.float32, [BATCH, *dims])


def bert_tiny():
    kind = BertTiny()
    kind.loss(MatmulNet(), *(v1.placeholder(dtype, [BATCH, *dims]) for dtype, dims in kind.shapes))


class FlopsTest(unittest.TestCase):

    def check(self, folder, build):
        (summary,) = examples.run('summary', f'--config={folder}/run.textproto', '--format=json',
                                  f'--train_batch_size={BATCH}')[-1:]
        want = counted_by_tensorflow(build)
        print(folder, summary['flops'] * CORES / want - 1)
        self.assertLess(abs(summary['flops'] * CORES / want - 1), 0.01, (summary['flops'], want))

    def test_mnist(self):
        self.check('testdata/mnist', lambda: mnist(Net(), images(28, 28, 1)))

    def test_resnet50(self):
        # A fused batch norm has no flops.
        self.check('models/zoo/resnet50', lambda: resnet50(Net(fused=False), images(224, 224, 3)))

    def test_bert_tiny(self):
        self.check('models/zoo/bert_tiny', bert_tiny)


if __name__ == '__main__':
    unittest.main()
