"""An evaluation says the same of 10,000 images however they are cut into batches and threads, and
whichever verb asks."""
import json
import os

from program import ProgramTest

MNIST = os.path.abspath('testdata/mnist')
# The 10,000 test images are too large for the repository; they may lie in shared/ beside it.
SHARED = os.path.join(os.path.dirname(os.path.realpath(f'{MNIST}/run.textproto')), '../../../shared')
IDX = [f'{SHARED}/data/mnist/t10k-{name}-ubyte.gz' for name in ('images-idx3', 'labels-idx1')]
CONFIG = (f'--config={MNIST}/run.textproto', '--set', 'train.input.source.tfrecord.file=test.tfrecord',
          '--set', 'evaluate.0.input.source.tfrecord.file=test.tfrecord')
WORKERS = (1, 2, 8)


class MnistTest(ProgramTest):

    def setUp(self):
        super().setUp()
        if all(map(os.path.exists, IDX)):
            self.succeed('convert', 'idx', *IDX, '--output=test.tfrecord')
        else:
            self.succeed('convert', 'synthetic', 'digits', '--examples=10000', '--output=test.tfrecord')

    def evaluate(self, batch, workers, *flags):
        """The line of output."""
        done = self.succeed('evaluate', *CONFIG, '--model_dir=model', f'--eval_batch_size={batch}',
                            f'--worker_threads={workers}', *flags)
        return done.out

    def expect_one(self, cuts, *flags):
        """What all evaluations of these batches and workers say, to the last digit. Only loss_shard_0, which
        is of the rows that the batch gives to core 0, is another for another batch."""
        found = {}
        for batch, workers in cuts:
            line = self.evaluate(batch, workers, *flags)
            self.assertEqual(found.setdefault(batch, line), line, f'{batch}, {workers} workers')
        results = {batch: json.loads(line) for batch, line in found.items()}
        for result in results.values():
            self.assertEqual(result.pop('examples'), 10000)
            result.pop('loss_shard_0')
        want = results[cuts[0][0]]
        self.assertEqual({batch: result for batch, result in results.items() if result != want}, {},
                         f'want {want}')
        return want

    def train(self):
        self.succeed('train', *CONFIG, '--model_dir=model', '--max_steps=10')

    def test_batches_and_workers_give_the_same_evaluation(self):
        self.train()
        on_tpu = self.expect_one([(batch, workers) for batch in (96, 1000, 1024) for workers in WORKERS])
        # 10 classes; what all batches gave could be nothing.
        self.assertGreater(on_tpu['accuracy'], 0.1)
        self.expect_one([(7, 2), (96, 8), (1000, 1), (1000, 2), (1024, 2)], '--use_tpu=false')

    def test_training_with_evaluations_gives_the_same_too(self):
        self.train()
        want = json.loads(self.evaluate(1024, 2))
        for batch, workers in ((96, 2), (1000, 1)):
            done = self.succeed('train_and_evaluate', *CONFIG, f'--model_dir=both_{batch}',
                                '--max_steps=20', f'--eval_batch_size={batch}',
                                f'--worker_threads={workers}', '--set',
                                'train_and_evaluate={ steps_per_eval: 10 }')
            *evaluations, trained = [json.loads(line) for line in done.out.splitlines()]
            self.assertEqual([line['global_step'] for line in evaluations], [10, 20], str(done))
            self.assertEqual(trained['global_step'], 20)
            for name in ('examples', 'loss', 'accuracy'):
                self.assertEqual(evaluations[0][name], want[name])
