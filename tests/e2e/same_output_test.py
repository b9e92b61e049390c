"""What each verb writes and prints is the same every time, but for the time stamps that it is to have:
an event's wall time, the seconds in an event file's name, the time stamps in `checkpoint`, and rates.
"""
import json
import os
import re
import shutil
import struct

from program import ProgramTest, read, write

RUNS = 3


def events(data):
    """The events of a file without their wall times and rates."""
    records, begin = [], 0
    while begin < len(data):
        size, = struct.unpack_from('<Q', data, begin)
        record = data[begin + 12:begin + 12 + size]
        begin += 12 + size + 4
        # Field 1 is the wall time; a value's number follows its tag.
        assert record[0] == 0x09, record
        record = re.sub(rb'(/sec\x15).{4}', rb'\1', record[9:], flags=re.DOTALL)
        if b'_hparams_/session_' in record:  # start_time_secs and end_time_secs
            record = re.sub(rb'([)\x11]).{8}', rb'\1', record, flags=re.DOTALL)
        records.append(record)
    return records


def without_time(path):
    """(name, content) of a file."""
    name, content = os.path.basename(path), read(path)
    if name.startswith('events.'):
        return re.sub(r'\d{10}', 'SECONDS', name), events(content)
    if name == 'checkpoint':
        return name, re.sub(rb'(timestamps?): \S+', rb'\1', content)
    return name, content


def contents(folder):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            name, content = without_time(os.path.join(root, name))
            found[os.path.join(os.path.relpath(root, folder), name)] = content
    return found


class SameOutputTest(ProgramTest):
    """Every run starts in a copy of the folder `start`, under the same name."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path('start'))
        os.rename(self.path('iris'), self.path('start', 'iris'))

    def run_once(self, arguments):
        shutil.rmtree(self.path('run'), ignore_errors=True)
        shutil.copytree(self.path('start'), self.path('run'))
        done = self.succeed(*arguments, cwd=self.path('run'))
        printed = re.sub(r'"(seconds|examples_per_second)":[^,}]+', r'"\1"', done.out)
        return printed, contents(self.path('run'))

    def expect_same(self, written, *arguments):
        """`written` are the new files, as patterns."""
        want = self.run_once(arguments)
        new = sorted(set(want[1]) - set(contents(self.path('start'))))
        self.assertEqual(len(new), len(written), new)
        for name, pattern in zip(new, written):
            self.assertRegex(name, f'^{pattern}$')
        for _ in range(RUNS - 1):
            printed, files = self.run_once(arguments)
            self.assertEqual(printed, want[0])
            self.assertEqual(sorted(files), sorted(want[1]))
            for name in files:
                self.assertEqual(files[name], want[1][name], name)
        return want[0]

    def train(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=20'), cwd=self.path('start'))

    def test_train(self):
        self.expect_same([r'model/checkpoint', r'model/events\.out\.tfevents\.SECONDS\..*',
                          r'model/graph\.pbtxt',
                          r'model/model\.ckpt-0\.data-00000-of-00001', r'model/model\.ckpt-0\.index',
                          r'model/model\.ckpt-250\.data-00000-of-00001',
                          r'model/model\.ckpt-250\.index', r'model/run_config\.pbtxt'],
                         *self.iris('train', 'model', '--max_steps=250'))

    def test_dump_dir(self):
        for verb in ('train', 'evaluate', 'predict'):
            flags = ['--max_steps=5'] if verb == 'train' else ['--allow_untrained']
            dumps = []
            for _ in range(RUNS):
                self.run_once(self.iris(verb, 'new', '--dump_dir=dump', *flags))
                dumps.append(contents(self.path('run', 'dump')))
            self.assertGreater(len(dumps[0]), 3)
            self.assertEqual(dumps, dumps[:1] * RUNS, verb)

    def test_evaluate(self):
        self.train()
        self.expect_same([r'model/eval/events\.out\.tfevents\.SECONDS\..*'],
                         *self.iris('evaluate', 'model'))

    def test_predict(self):
        self.train()
        rows = ('--set', 'predict.input={source{text_line{file:"iris/iris_test.csv" skip_lines:1}} '
                         'transform{apply{transformation_func:"parse"}}}')
        printed = self.expect_same([], *self.iris('predict', 'model', *rows))
        self.assertEqual(printed.count('\n'), 30)
        for name in ('rows.jsonl', 'rows.tfrecord'):
            self.expect_same([fr'\./{name}'],
                             *self.iris('predict', 'model', *rows, f'--output={name}'))

    def test_convert(self):
        features = ','.join(f'{name}:float:{column}' for column, name in enumerate('dacbe'))
        shards = [fr'\./out-0000{shard}-of-00003' for shard in range(3)]
        self.expect_same(shards, 'convert', 'csv', 'iris/iris_training.csv', '--skip_lines=1',
                         f'--features={features}', '--output=out', '--shards=3')
        images, labels = bytes(range(240)), bytes(range(60))
        write(self.path('start', 'images'), struct.pack('>4I', 0x0803, 60, 2, 2) + images)
        write(self.path('start', 'labels'), struct.pack('>2I', 0x0801, 60) + labels)
        for compression in ('NONE', 'GZIP', 'ZLIB'):
            self.expect_same([r'\./out'], 'convert', 'idx', 'images', 'labels', '--output=out',
                             f'--compression={compression}')

    def test_config_and_inspect(self):
        self.train()
        printed = self.expect_same([], 'config', '--config=iris/run.textproto',
                                   '--set', 'train.input.transform.shuffle.buffer_size=10')
        self.assertIn('command line', printed)
        self.succeed(*self.iris('predict', 'model', '--output=rows.tfrecord'),
                     cwd=self.path('start'))
        events_file, = (name for name in os.listdir(self.path('start', 'model'))
                        if name.startswith('events.'))
        for name in ('model', f'model/{events_file}', 'rows.tfrecord'):
            for form in ('text', 'json'):
                printed = self.expect_same([], 'inspect', name, f'--format={form}')
                if form == 'json':
                    self.assertTrue(all(json.loads(line) for line in printed.splitlines()))
