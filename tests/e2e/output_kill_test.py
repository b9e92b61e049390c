"""convert and predict that are killed: what stands under the final names is of one run, and the next
run removes what the killed ones left, but nothing of one that still runs.
"""
import os
import signal
import struct
import subprocess
import sys
import time

from program import ProgramTest, RandomKills, read, write

SHARDS = 4


class OutputKillTest(ProgramTest):

    def setUp(self):
        super().setUp()
        os.mkdir(self.path('out'))

    def names(self):
        return sorted(os.listdir(self.path('out')))

    def contents(self):
        """Of what a glob finds."""
        return {name: read(self.path('out', name)) for name in self.names() if name[0] != '.'}

    def waiting(self, arguments, files=1):
        """A run that has begun its files and waits for input; and the names of those."""
        process = self.start(*arguments, stdin=subprocess.PIPE)

        def begun():
            return [name for name in self.names() if name.endswith(f'.tempstate{process.pid}')]

        self.wait_until(lambda: len(begun()) == files, process)
        return process, begun()

    def kill(self, process):
        process.kill()
        done = self.finish(process)
        self.assertEqual(done.code, -signal.SIGKILL, str(done))


class ConvertKillTest(OutputKillTest):
    final = [f'rows-{shard:05}-of-{SHARDS:05}' for shard in range(SHARDS)]

    def convert(self, feature, source='iris/iris_training.csv', shards=SHARDS):
        return ('convert', 'csv', source, '--skip_lines=1', f'--features={feature}:float:0-3',
                '--output=out/rows', f'--shards={shards}')

    def set_of(self, feature):
        self.succeed(*self.convert(feature))
        return self.contents()

    def test_killed_at_random_moments_over_an_older_set(self):
        new, old = self.set_of('new'), self.set_of('old')
        self.assertEqual(sorted(old), self.final)
        start = time.monotonic()
        self.set_of('old')
        kills = RandomKills(time.monotonic() - start, reach=1.2)
        print(f'KILL_SEED={kills.seed}', file=sys.stderr)
        while kills.count < 20:
            kills.kill(self.start(*self.convert('new')))
            found = self.contents()
            self.assertTrue(found.items() <= old.items() or found.items() <= new.items(),
                            f'a mix: {[(name, found[name] == new[name]) for name in found]}')
            self.succeed(*self.convert('old'))
            self.assertEqual(self.names(), self.final)
            self.assertEqual(self.contents(), old)

    def test_the_next_run_of_any_number_of_shards_removes_what_was_left(self):
        for shards in (1, 3, 2):
            process, unfinished = self.waiting(self.convert('x', '-', shards), shards)
            self.kill(process)
            self.assertEqual(self.names(), unfinished)
        self.succeed(*self.convert('x'))
        self.assertEqual(self.names(), self.final)

    def test_a_run_beside_it_keeps_its_files(self):
        process, unfinished = self.waiting(self.convert('x', '-'), SHARDS)
        self.succeed(*self.convert('y'))
        self.assertEqual(self.names(), sorted(unfinished + self.final))
        done = self.finish(process, read(self.path('iris', 'iris_training.csv')))
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(self.names(), self.final)
        self.assertEqual(self.contents(), self.set_of('x'))

    def test_a_part_of_a_set_is_not_trained_on(self):
        write(self.path('images'), struct.pack('>4I', 0x0803, 200, 8, 8) + bytes(200 * 64))
        write(self.path('labels'), struct.pack('>2I', 0x0801, 200) + bytes(200))
        self.succeed('convert', 'idx', 'images', 'labels', '--output=out/rows', '--shards=4')
        train = self.digits(
            'train', 'model', '--max_steps=3', '--set',
            f'train.input.source.tfrecord={{file: "{self.path("out", "rows*")}"}}')
        lost = self.path('out', self.final[2])
        os.rename(lost, self.path('kept'))
        done = self.call(*train)
        self.assertEqual(done.code, 66, str(done))
        self.assertEqual(len(done.messages), 1, str(done))
        self.assertIn(f'finds an incomplete set: got 3 of the 4 files that their names speak of, '
                      f'want {lost} too; run tpurun convert again', done.messages[0])
        self.assertFalse(os.path.exists(self.path('model')))
        os.rename(self.path('kept'), lost)
        self.succeed(*train)


class PredictKillTest(OutputKillTest):
    rows = ('--set', 'predict.input={source{text_line{file:"-"}} '
                     'transform{apply{transformation_func:"parse"}}}')
    row = b'5.1,3.5,1.4,0.2,0\n'

    def predict(self, name):
        return self.iris('predict', 'model', '--allow_untrained', *self.rows,
                         f'--output=out/{name}')

    def test_the_next_run_removes_what_was_left(self):
        for name in ('rows.jsonl', 'rows.tfrecord'):
            for _ in range(2):
                process, unfinished = self.waiting(self.predict(name))
                self.kill(process)
                self.assertEqual(self.names(), unfinished)
            done = self.call(*self.predict(name), given=self.row)
            self.assertEqual((done.code, self.names()), (0, [name]), str(done))
            os.remove(self.path('out', name))

    def test_a_run_beside_it_keeps_its_file(self):
        process, unfinished = self.waiting(self.predict('rows.jsonl'))
        done = self.call(*self.predict('rows.jsonl'), given=self.row)
        self.assertEqual((done.code, self.names()), (0, [*unfinished, 'rows.jsonl']), str(done))
        done = self.finish(process, self.row * 2)
        self.assertEqual((done.code, self.names()), (0, ['rows.jsonl']), str(done))
        self.assertEqual(read(self.path('out', 'rows.jsonl')).count(b'\n'), 2)
