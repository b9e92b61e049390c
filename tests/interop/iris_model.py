"""The iris example: its rows, and its model 4-10-10-3 with relu."""
import numpy as np

from classifier import Classifier, reference_dense, tf, v1

LAYERS = {'hidden_1': (4, 10), 'hidden_2': (10, 10), 'logits': (10, 3)}
VARIABLES = [f'{layer}/{variable}' for layer in LAYERS for variable in ('kernel', 'bias')]


def read_rows(csv):
    """float32 [rows, 4] features and int32 [rows] species."""
    values = np.loadtxt(csv, delimiter=',', skiprows=1, dtype=np.float64)
    return values[:, :4].astype(np.float32), values[:, 4].astype(np.int32)


class Iris(Classifier):
    shape = (4,)

    @staticmethod
    def net(features, initializer):
        net = features
        for name, (_, units) in LAYERS.items():
            relu = None if name == 'logits' else tf.nn.relu
            net = v1.layers.dense(net, units, relu, kernel_initializer=initializer, name=name)
        return net

    @staticmethod
    def reference_logits(values, features, round_operand):
        net = features
        for name in LAYERS:
            net = reference_dense(net, values, name, round_operand)
            if name != 'logits':
                net = np.maximum(net, 0)
        return net


def example_optimizer():
    return v1.train.AdagradOptimizer(0.1, initial_accumulator_value=0.1)
