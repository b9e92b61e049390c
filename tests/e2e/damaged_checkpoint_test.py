"""A checkpoint with one damaged byte, or cut short, never passes for whole, and is never touched.

Each byte of each file, one bit of it flipped, and each length. tests/io/table_test and
tensor_bundle_test take every bit, without a process for each.
"""
import itertools
import os
import shutil
import signal
import tempfile
import unittest
from concurrent import futures

from program import ProgramTest, latest_step, read, tree, write

MODEL = '''
feature { name: "x" dtype: FLOAT32 shape: 1 }
label { name: "y" dtype: INT32 }
layer { name: "logits" dense { units: 2 } }
head { classification { logits: "logits" label: "y" } }
optimizer { gradient_descent {} learning_rate { constant: 0.1 } }
'''
ROWS = '''source {
      from_tensor_slices {
        feature { name: "x" float { value: [1, 2, 3, 4] shape: 1 } }
        feature { name: "y" int64 { value: [0, 1, 0, 1] } }
      }
    }
    transform { cast { feature: "y" dtype: INT32 } }'''
RUN = f'''
model_file: "model.textproto"
use_tpu: false
train_batch_size: 4
eval_batch_size: 4
train {{
  max_steps: 3
  input {{
    {ROWS}
    transform {{ repeat {{}} }}
  }}
}}
evaluate {{
  input {{
    {ROWS}
  }}
}}
'''
# Processes at a time: most of a call is waiting for the program to be loaded.
CALLS_AT_A_TIME = 4


class DamagedCheckpointTest(ProgramTest):

    def setUp(self):
        super().setUp()
        write(self.path('model.textproto'), MODEL)
        write(self.path('run.textproto'), RUN)
        self.succeed('train', '--config=run.textproto', '--model_dir=good')
        self.whole = self.succeed(*self.evaluation('good')).out.replace('/good/', '/*/')
        shutil.rmtree(self.path('good', 'eval'))
        self.folders = [f'copy{i}' for i in range(CALLS_AT_A_TIME)]
        for folder in self.folders:
            shutil.copytree(self.path('good'), self.path(folder))

    @staticmethod
    def evaluation(model_dir):
        return ('evaluate', '--config=run.textproto', f'--model_dir={model_dir}',
                '--worker_threads=1')

    def check(self, folder, name, damaged, what, may_work):
        """One damage: a file of the copy gets these bytes for one call."""
        path = self.path(folder, name)
        good = read(path)
        write(path, damaged)
        before = tree(self.path(folder))
        done = self.call(*self.evaluation(folder))
        after = tree(self.path(folder))
        write(path, good)
        if done.code == 0:
            self.assertTrue(may_work, f'{what} passes for whole\n{done}')
            self.assertEqual(done.out.replace(f'/{folder}/', '/*/'), self.whole, what)
            shutil.rmtree(self.path(folder, 'eval'))
            return 1
        self.assertEqual((done.code, done.out), (65, ''), f'{what}\n{done}')
        self.assertEqual(len(done.messages), 1, f'{what}\n{done}')
        self.assertIn(self.path(folder), done.messages[0], what)
        self.assertEqual(after, before, what)
        return 0

    def sweep(self, name, damages, may_work=False):
        """Runs (bytes, what was done) through the copies; how many passed for whole."""
        free = list(self.folders)

        def one(damage):
            folder = free.pop()
            try:
                return self.check(folder, name, *damage, may_work)
            finally:
                free.append(folder)

        with futures.ThreadPoolExecutor(CALLS_AT_A_TIME) as pool:
            return sum(pool.map(one, damages))

    def flips(self, name):
        good = read(self.path('good', name))
        for at in range(len(good)):
            damaged = bytearray(good)
            damaged[at] ^= 1 << at % 8
            yield bytes(damaged), f'{name}: byte {at} flipped'

    def cuts(self, name):
        good = read(self.path('good', name))
        for size in range(len(good)):
            yield good[:size], f'{name}: cut at {size}'

    def test_index(self):
        name = 'model.ckpt-3.index'
        self.sweep(name, itertools.chain(self.flips(name), self.cuts(name)))

    def test_data(self):
        name = 'model.ckpt-3.data-00000-of-00001'
        self.sweep(name, itertools.chain(self.flips(name), self.cuts(name)))

    def test_state(self):
        # No checksum guards this text, but nothing is lost where the latest checkpoint is still
        # named: an older one or a time says something else.
        name = 'checkpoint'
        first_line = read(self.path('good', name)).index(b'\n')
        flips = list(self.flips(name))
        self.assertEqual(self.sweep(name, flips[:first_line]), 0)
        self.sweep(name, flips[first_line:], may_work=True)
        cuts = list(self.cuts(name))
        self.assertEqual(self.sweep(name, cuts[:first_line]), 0)
        self.sweep(name, cuts[first_line:], may_work=True)

    def test_train_does_not_go_on_from_a_damaged_checkpoint(self):
        for name in ('model.ckpt-3.index', 'model.ckpt-3.data-00000-of-00001', 'checkpoint'):
            good = read(self.path('good', name))
            for damaged in (good[:len(good) // 2], good[:9] + b'~' + good[10:], b''):
                write(self.path('good', name), damaged)
                before = tree(self.path('good'))
                done = self.call('train', '--config=run.textproto', '--model_dir=good',
                                 '--max_steps=6')
                self.assertEqual((done.code, done.out), (65, ''), str(done))
                self.assertEqual(len(done.messages), 1, str(done))
                self.assertEqual(tree(self.path('good')), before)
            write(self.path('good', name), good)
        self.succeed('train', '--config=run.textproto', '--model_dir=good', '--max_steps=6')

    def test_missing_files(self):
        for name in ('model.ckpt-3.index', 'model.ckpt-3.data-00000-of-00001'):
            away = self.path('away')
            os.rename(self.path('good', name), away)
            before = tree(self.path('good'))
            for verb in ('train', 'evaluate'):
                done = self.call(verb, '--config=run.textproto', '--model_dir=good',
                                 *(['--max_steps=6'] if verb == 'train' else []))
                self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
            self.assertEqual(tree(self.path('good')), before)
            os.rename(away, self.path('good', name))


class BesideTrainingTest(ProgramTest):
    """A training saves each step and keeps one checkpoint: what others begin to read is deleted."""

    CALLS = 100

    def setUp(self):
        super().setUp()
        # In memory a save takes no longer than a step.
        memory = '/dev/shm'
        self.model_dir = tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else self.dir)
        self.addCleanup(shutil.rmtree, self.model_dir, ignore_errors=True)
        self.training = self.start(*self.iris(
            'train', self.model_dir, '--max_steps=1000000000', '--save_checkpoints_steps=1',
            '--keep_checkpoint_max=1', '--train_batch_size=16', '--set',
            'tpu_config.iterations_per_loop=1', '--quiet'))
        self.wait_until(lambda: latest_step(self.model_dir) > 0, self.training)

    def tearDown(self):
        self.training.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(self.training).code, 75)

    def test_the_newest_is_read(self):
        commands = (('inspect', self.model_dir), self.iris('evaluate', self.model_dir),
                    self.iris('predict', self.model_dir),
                    self.iris('export', self.model_dir, f'--output={self.path("exported")}'))
        for command in commands:
            for _ in range(self.CALLS // len(commands) if command[0] == 'export' else self.CALLS):
                self.succeed(*command)

    def test_a_named_one_is_not_said_to_be_damaged(self):
        for _ in range(self.CALLS):
            prefix = os.path.join(self.model_dir, f'model.ckpt-{latest_step(self.model_dir)}')
            done = self.call(*self.iris('evaluate', self.model_dir, f'--checkpoint={prefix}'))
            self.assertIn(done.code, (0, 66), str(done))
            self.assertNotIn('damaged', done.err)

    def test_a_watch_ends_with_who_reads_it(self):
        watch = self.start(*self.iris('evaluate', self.model_dir, '--watch'))
        watch.stdout.readline()
        watch.stdout.close()
        watch.stdout = None
        self.assertEqual(self.finish(watch).code, 0)


if __name__ == '__main__':
    unittest.main()
