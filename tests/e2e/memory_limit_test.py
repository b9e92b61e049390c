"""Without enough memory the program says how many bytes it could not have, and for what."""
import os
import shutil

from memory_limit import MemoryLimitTest
from program import DIGITS

# The limits in MiB at which a library was given no memory while it made its kernels, and around. 30 MiB are
# the file of libicudata, which is mapped.
LIMITS = range(100, 124, 2)


class NoMemoryTest(MemoryLimitTest):

    def check_codes(self, verb, model_dir):
        self.assertIn(4, [self.check(mib, 'digits', verb, model_dir) for mib in LIMITS])

    def test_train(self):
        self.assertEqual({self.check(mib, 'digits', 'train', self.path('new')) for mib in LIMITS}, {4})
        self.assertEqual(self.check(400, 'digits', 'train', self.path('new')), 0)

    def test_training_that_goes_on(self):
        self.succeed(*self.digits('train', 'model', '--max_steps=1'))
        self.check_codes('train', self.path('model'))

    def test_evaluate(self):
        self.succeed(*self.digits('train', 'model', '--max_steps=1'))
        self.check_codes('evaluate', self.path('model'))

    def test_predict(self):
        self.succeed(*self.digits('train', 'model', '--max_steps=1'))
        self.check_codes('predict', self.path('model'))

    def test_what_does_not_fit_is_named(self):
        shutil.copyfile(os.path.join(self.path('iris'), 'iris_training.csv'), self.path('data.csv'))
        parse = 'transform { apply { transformation_func: "parse" } }'
        csv = 'source { text_line { file: "data.csv" skip_lines: 1 } } ' + parse
        batch = 'transform { batch { drop_remainder: true } }'
        for flags, message in (
                (['--set', f'train.input={{ {csv} transform {{ repeat {{}} }} '
                           f'transform {{ shuffle {{ buffer_size: 2000000000 }} }} {batch} }}'],
                 r'the shuffle buffer of 2000000000 elements \(--set train.input=.*\) does not fit in '
                 r'memory: 2000000000 of them take 29\.8 GiB, there is 200\.0 MiB; lower its '
                 r'buffer_size'),
                (['--set', f'train.input={{ {csv} transform {{ repeat {{ count: 100000000 }} }} '
                           f'transform {{ cache {{}} }} {batch} }}'],
                 r'the cache of .*; leave cache out, or put it before what makes rows larger or more'),
                (['--train_batch_size=80000000'],
                 r'does not fit in memory: want .* GiB \(.*infeed .*\), there is 200\.0 MiB; lower '
                 r'the batch size or the units'),
        ):
            done = self.limited(200, *self.iris('train', 'model', '--worker_threads=2', *flags))
            self.assertEqual((done.code, len(done.messages)), (4, 1), str(done))
            self.assertRegex(done.messages[0], message)
            self.assertFalse(os.path.exists(self.path('model')))

    def test_the_read_buffers_are_named(self):
        shutil.copyfile(os.path.join(DIGITS, 'train.tfrecord.gz'), self.path('e\x1b[2Jvil.gz'))
        done = self.limited(200, *self.digits(
            'train', 'model', '--worker_threads=2',
            '--set', f'train.input.source.tfrecord.file={self.path("e")}\x1b[2Jvil.gz',
            '--set', 'train.input.source.tfrecord.buffer_size=1000000000'))
        self.assertEqual((done.code, len(done.messages)), (4, 1), str(done))
        self.assertRegex(done.messages[0], r'1000000000 more bytes for the read buffer of .*/e\?\[2Jvil'
                                           r'\.gz; lower buffer_size or num_parallel_reads')

    def test_the_stack_is_there_from_the_start(self):
        process = self.start(*self.iris('train', 'model', '--max_steps=1000000000'))
        self.wait_until(lambda: os.path.exists(self.path('model', 'checkpoint')), process)
        with open(f'/proc/{process.pid}/status', encoding='ascii') as status:
            stack = next(line for line in status if line.startswith('VmStk:'))
        self.assertGreaterEqual(int(stack.split()[1]), 1000)

    def test_a_prediction_in_the_making_is_removed(self):
        self.succeed(*self.digits('train', 'model', '--max_steps=1'))
        os.mkdir(self.path('out'))
        for mib in LIMITS:
            self.limited(mib, *self.digits('predict', 'model', '--output=out/p.jsonl'))
        self.assertEqual([name for name in os.listdir(self.path('out')) if name != 'p.jsonl'], [])
