"""An evaluation says the same of 10,000 images however they are cut into batches and threads."""
import os

from program import ProgramTest

MNIST = os.path.abspath('testdata/mnist')
# The 10,000 test images are too large for the repository; they lie in shared/ beside it.
SHARED = os.path.join(os.path.dirname(os.path.realpath(f'{MNIST}/run.textproto')), '../../../shared')
CONFIG = (f'--config={MNIST}/run.textproto', '--model_dir=model')


class MnistTest(ProgramTest):

    def test_batches_and_workers_give_the_same_evaluation(self):
        idx = [f'{SHARED}/data/mnist/t10k-{name}-ubyte.gz' for name in ('images-idx3', 'labels-idx1')]
        self.succeed('convert', 'idx', *idx, '--output=test.tfrecord')
        self.succeed('train', *CONFIG, '--max_steps=10', '--set',
                     'train.input.source.tfrecord.file=test.tfrecord')
        results = {}
        # Each takes seconds; every number of threads and every batch is compared with the first.
        for batch, workers in ((96, 1), (96, 8), (1000, 2), (1024, 4), (1024, 1)):
            done = self.succeed('evaluate', *CONFIG, f'--eval_batch_size={batch}',
                                f'--worker_threads={workers}', '--set',
                                'evaluate.0.input.source.tfrecord.file=test.tfrecord')
            self.assertEqual(self.result(done)['examples'], 10000)
            results[batch, workers] = done.out
        want = results[96, 1]
        different = {key: out for key, out in results.items() if out != want}
        self.assertEqual(different, {}, f'want {want}')
