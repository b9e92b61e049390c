"""tools/bench with tpurun as its own peer and with peers that only look like them: the table, the
JSON and the messages. No time is judged."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, 'tests/bench')
import bench

TPURUN = os.path.abspath('cli/tpurun')
SMALL = ['--rounds=2', '--windows=2', '--window-steps=2', '--iris-steps=20', '--reading-seconds=0.01',
         '--quiet-wait=0', f'--tpurun={TPURUN}',
         f'--read-records={os.path.abspath("tests/bench/read_records")}']


def run_bench(*arguments):
    return subprocess.run(['/usr/bin/python3', 'tests/bench/bench.py', *SMALL, *arguments],
                          capture_output=True, text=True)


def executable(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w') as file:
        file.write('#!/bin/sh\n' + text)
    os.chmod(path, 0o755)
    return path


class BenchTest(unittest.TestCase):

    def rows(self, *arguments):
        done = run_bench('--format=json', *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row['name']: row for row in map(json.loads, done.stdout.splitlines())}

    def assert_spread(self, spread, runs):
        self.assertEqual(len(spread['runs']), runs)
        self.assertEqual([spread['min'], spread['max']],
                         [min(spread['runs']), max(spread['runs'])])
        self.assertGreater(spread['min'], 0)
        self.assertTrue(spread['min'] <= spread['median'] <= spread['max'])

    def test_another_binary_is_a_peer_and_no_ratio_is_wanted(self):
        rows = self.rows('--models=mnist,iris', f'--peer-binary={TPURUN}')
        self.assertEqual(list(rows), ['mnist', 'iris'])
        for row in rows.values():
            self.assertEqual(row['peer']['name'], TPURUN)
            self.assertNotIn('wanted_ratio', row)
            for of in ('tpurun', 'peer', 'ratio'):
                self.assert_spread(row[of], 2)
        mnist, iris = rows['mnist'], rows['iris']
        self.assertAlmostEqual(mnist['ratio']['median'],
                               mnist['tpurun']['median'] / mnist['peer']['median'])
        self.assertAlmostEqual(iris['ratio']['median'],
                               iris['peer']['median'] / iris['tpurun']['median'])

    def test_peers_get_the_same_work(self):
        with tempfile.TemporaryDirectory() as folder:
            calls = os.path.join(folder, 'calls')
            pytorch = executable(folder, 'pytorch', f'echo "$LD_PRELOAD $*" >>{calls}\n'
                                 'echo \'{"examples_per_second": [1, 2, 60]}\'\n')
            tensorflow = executable(folder, 'tensorflow', f'echo "$*" >>{calls}\n')
            rows = self.rows('--models=iris,mnist,mnist_f32,resnet_cifar,lstm_bench,'
                             'char_transformer,bert_tiny', '--rounds=1', f'--pytorch={pytorch}',
                             f'--tensorflow={tensorflow}')
            with open(calls) as file:
                iris, mnist, mnist_f32, *others = file.read().splitlines()
        self.assertEqual(rows['mnist']['peer']['runs'], [2])
        self.assertEqual((rows['mnist']['wanted_ratio'], rows['iris']['wanted_ratio']), (1, 8))
        self.assertRegex(mnist_f32, r' --products=f32 --windows=2')
        names = ('resnet_cifar', 'lstm_bench', 'char_transformer', 'bert_tiny')
        for name, call in zip(names, others, strict=True):
            script = {'lstm_bench': 'lstm'}.get(name, name)
            batch_size = 128 if name == 'resnet_cifar' else 64
            self.assertRegex(call, rf'^libtcmalloc_minimal\.so\.4 .*{script}_pytorch\.py --windows=2 '
                             rf'--window_steps=2 --batch_size={batch_size} --threads=2$')
            self.assertEqual(rows[name]['wanted_ratio'], 0.8)
            self.assertGreater(rows[name]['tpurun']['min'], 0)
        self.assertRegex(iris, r'iris_tpu_estimator\.py .*/iris_training\.csv .* --max_steps=20$')
        self.assertRegex(mnist, r'^libtcmalloc_minimal\.so\.4 .*mnist_pytorch\.py .*/images .*/labels '
                         r'--products=bf16 --windows=2 --window_steps=2 --batch_size=128 --threads=2$')

    def test_reading_as_a_table(self):
        done = run_bench('--models=reading', '--rounds=1')
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [[cell.strip() for cell in line.split('|')] for line in done.stdout.splitlines()]
        self.assertEqual(rows[0], ['', 'unit', 'tpurun', 'peer', 'ratio', 'wanted'])
        self.assertEqual([row[0] for row in rows[1:]], list(bench.Reading.figures))
        for row in rows[1:]:
            self.assertRegex(row[2], r'^[\d.,]+ \([\d.,]+\.\.[\d.,]+\)$')

    def test_a_program_that_fails_is_named_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            peer = executable(folder, 'peer', 'echo no torch here >&2\nexit 3\n')
            done = run_bench('--models=mnist', f'--pytorch={peer}')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn(f'tools/bench: {peer} ', done.stderr)
        # What the loader says of a library that is not installed may come before.
        self.assertRegex(done.stderr, r'exit code 3: (ERROR: ld.so: .*\n)*no torch here')

    def test_wrong_options_are_usage_errors(self):
        models = ', '.join(bench.MODELS)
        for option, message in (('--models=mnist,resnet', f'no "resnet", there are {models}'),
                                ('--rounds=0', 'got 0, want a number of at least 1')):
            done = run_bench(option)
            self.assertEqual((done.returncode, done.stdout), (2, ''))
            self.assertIn(message, done.stderr)

    def test_only_what_is_needed_is_installed(self):
        needs = lambda *arguments: run_bench('--print-needs', *arguments).stdout.split()
        self.assertEqual(needs(), ['pytorch', 'tensorflow', 'read-records'])
        self.assertEqual(needs('--models=iris'), ['tensorflow'])
        for name in ('mnist_f32', 'resnet_cifar', 'lstm_bench', 'char_transformer', 'bert_tiny'):
            self.assertEqual(needs(f'--models={name}'), ['pytorch'])
        self.assertEqual(needs('--peer-binary=x'), ['read-records'])

    def test_a_run_is_seen_with_what_others_took(self):
        runner = bench.Runner(quiet_wait=0)
        self.assertEqual(runner.run(['/bin/sh', '-c', 'echo $GIVEN$OMP_NUM_THREADS'], GIVEN='x'), 'x\n')
        self.assertGreater(runner.seconds, 0)
        self.assertEqual(len(runner.others), 1)
        self.assertGreaterEqual(runner.others[0], 0)


class TablesTest(unittest.TestCase):

    def test_a_ratio_is_of_medians_with_the_spread_of_rounds(self):
        figure = bench.Figure('s', wanted_ratio=8.0, less_is_better=True)
        line = bench.result('iris', figure, {'tpurun': [1, 2, 9], 'peer': [20, 10, 27],
                                             'others': [0, 0.5, 0.1]}, 'TPUEstimator')
        self.assertEqual(line['ratio'], {'median': 10, 'min': 3, 'max': 20, 'runs': [20, 5, 3]})
        self.assertEqual(line['most_others_took'], 0.5)
        self.assertEqual(bench.table([line])[1].split(' | '), [
            'iris', 's   ', '2 (1..9)', 'TPUEstimator: 20 (10..27)', '10 (3..20)', 'ratio >= 8'])

    def test_numbers_have_three_digits_or_more(self):
        self.assertEqual([bench.number(value) for value in (5224.1, 999.6, 12.34, 0.18123)],
                         ['5,224', '1,000', '12.3', '0.181'])


if __name__ == '__main__':
    unittest.main()
