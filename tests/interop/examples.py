"""The verbs of the program on the examples. Standard library only."""
import json
import os
import shutil
import sys

sys.path.append(os.path.abspath('tests/e2e'))

from program import BINARY, call

TRAINING_CSV = os.path.abspath('testdata/iris/iris_training.csv')
TEST_CSV = os.path.abspath('testdata/iris/iris_test.csv')
MNIST = os.path.abspath('testdata/mnist')
# The 10,000 test images are too large for the repository; they lie in shared/ beside it.
SHARED = os.path.join(os.path.dirname(os.path.realpath(f'{MNIST}/run.textproto')), '../../../shared')
MNIST_IDX = [f'{SHARED}/data/mnist/t10k-{name}-ubyte.gz' for name in ('images-idx3', 'labels-idx1')]


def run(verb, *arguments):
    """The objects that `tpurun VERB ARGUMENT...` prints, one a line."""
    done = call(verb, *arguments)
    if done.code != 0:
        raise AssertionError(str(done))
    return [json.loads(line) for line in done.out.splitlines()]


class Example:
    """The verbs on the RunConfig of a folder."""

    def __init__(self, folder):
        self.config = os.path.abspath(os.path.join(folder, 'run.textproto'))

    def run(self, verb, model_dir, *arguments):
        return run(verb, f'--config={self.config}', f'--model_dir={model_dir}', *arguments)

    def train(self, model_dir, *arguments):
        return self.run('train', model_dir, *arguments)[0]

    def evaluate(self, model_dir, *arguments):
        return self.run('evaluate', model_dir, *arguments)[0]

    def predict(self, model_dir, source, *arguments, transforms=''):
        """A prediction for each row of `source`, after further `transforms`."""
        parse = 'transform { apply { transformation_func: "parse" } }'
        predict_input = f'source {{ {source} }} {parse} {transforms}'
        return self.run('predict', model_dir, '--set', f'predict.input={{ {predict_input} }}',
                        *arguments)


IRIS = Example('testdata/iris')


def csv_rows(path):
    """The source of the rows of an iris file."""
    return f'text_line {{ file: "{path}" skip_lines: 1 }}'


def convert_mnist(folder):
    """The mnist example in `folder`, which trains and tests on the 10,000 test images."""
    for name in ('run.textproto', 'model.textproto'):
        shutil.copyfile(os.path.join(MNIST, name), os.path.join(folder, name))
    for name in ('train', 'test'):
        run('convert', 'idx', *MNIST_IDX, f'--output={os.path.join(folder, name)}.tfrecord')
    return Example(folder)
