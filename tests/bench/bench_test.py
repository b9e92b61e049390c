"""tools/bench with tpurun as its own peer and with peers that only look like them: the rounds, the
results and the messages. No time is judged."""
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, 'tests/bench')
import agreement
import bench
import layers
import machine
import workloads

TPURUN = os.path.abspath('cli/tpurun')
SMALL = ['--rounds=2', '--windows=2', '--window-steps=2', '--process-steps=20', '--quiet-wait=0',
         '--attempts=1', '--no-peaks', f'--tpurun={TPURUN}']


def run_bench(*arguments):
    return subprocess.run(['/usr/bin/python3', 'tests/bench/bench.py', *SMALL, *arguments],
                          capture_output=True, text=True, check=False)


def executable(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\n' + text)
    os.chmod(path, 0o755)
    return path


def sample(value, others=0.0):
    return workloads.Sample(value, machine.Run('', value, 1 << 20, others, 0.0))


class Fake:
    """A workload whose programs take turns; `speeds` of the peers, and of tpurun in each mode."""
    name, unit, less_is_better, flops = 'fake', 'examples/s', False, None

    def __init__(self, ours, peers):
        self.order = []
        program = lambda name, speed: workloads.Program(name, lambda *_: self.run(name, speed))
        self.ours = {mode: program(f'tpurun {mode}', speed) for mode, speed in ours.items()}
        self.peers = [program(name, speed) for name, speed in peers.items()]

    def run(self, name, speed):
        self.order.append(name)
        return sample(speed)

    def programs(self, args, folder):
        del args, folder
        return self.ours, self.peers


class BenchTest(unittest.TestCase):

    def rows(self, *arguments):
        done = run_bench('--format=json', *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {(row['name'], row['mode']): row for row in map(json.loads, done.stdout.splitlines())}

    def assert_spread(self, spread, runs):
        self.assertEqual(len(spread['runs']), runs)
        self.assertEqual([spread['min'], spread['max']],
                         [min(spread['runs']), max(spread['runs'])])
        self.assertGreater(spread['min'], 0)
        self.assertTrue(spread['min'] <= spread['median'] <= spread['max'])

    def test_another_binary_is_a_peer(self):
        rows = self.rows('--workloads=mnist,iris_process', '--modes=bf16', f'--peer-binary={TPURUN}')
        self.assertEqual(list(rows), [('mnist', 'bf16'), ('iris_process', 'bf16')])
        for row in rows.values():
            self.assertEqual(row['best_peer'], f'{TPURUN} bf16')
            for of in (row['tpurun'], row['peers'][row['best_peer']], row['ratio']):
                self.assert_spread(of, 2)
            self.assertGreater(row['tpurun']['peak_bytes'], 1 << 20)
        mnist, process = rows.values()
        ours, theirs = (of['median'] for of in (mnist['tpurun'], mnist['peers'][mnist['best_peer']]))
        self.assertAlmostEqual(mnist['ratio']['median'], ours / theirs)
        ours, theirs = (of['median'] for of in
                        (process['tpurun'], process['peers'][process['best_peer']]))
        self.assertAlmostEqual(process['ratio']['median'], theirs / ours)

    def test_peers_get_the_same_work(self):
        with tempfile.TemporaryDirectory() as folder:
            calls = os.path.join(folder, 'calls')
            pythons = {need: executable(folder, need, f'echo "{need} $LD_PRELOAD $*" >>{calls}\n'
                                        'echo \'{"examples_per_second": [1, 2, 60]}\'\n')
                       for need in ('pytorch', 'tensorflow', 'jax')}
            rows = self.rows('--workloads=mnist_b1024,iris', '--rounds=1',
                             *(f'--{need}={path}' for need, path in pythons.items()))
            with open(calls, encoding='utf-8') as file:
                calls = file.read().splitlines()
        same = '--windows=2 --window_steps=2 --batch_size={} --threads=2 --products={}'
        mnist = [
            f'{environment} -W ignore peers/{script} FILES {same.format(1024, precision)}{more}'
            for environment, script, variants in
            (('pytorch libtcmalloc_minimal.so.4', 'pytorch/mnist.py', ('', ' --compile')),
             ('tensorflow ', 'keras/mnist.py', ('',)), ('jax ', 'jax/mnist.py', ('', ' --devices=8')))
            for more in variants for precision in ('bf16', 'f32')]
        short = lambda word: re.sub(r'.*/(images$|peers/)', r'\1', word).replace('images', 'FILES')
        with_files = lambda call: ' '.join(
            short(word) for word in call.split(' ') if not word.endswith('/labels'))
        self.assertEqual([with_files(call) for call in calls[:10]], mnist)
        self.assertEqual(len(calls), 10 + 11)
        self.assertRegex(calls[-1], r'^tensorflow .*tpu_estimator/iris\.py .*/iris_training\.csv '
                         r'.*/model --windows=2 --window_steps=2 --batch_size=128 --threads=2$')
        self.assertEqual(len(rows), 4)
        for row in rows.values():
            self.assertEqual(row['peers'][row['best_peer']]['runs'], [2])

    def test_a_peer_that_fails_is_left_out_with_its_words(self):
        with tempfile.TemporaryDirectory() as folder:
            peer = executable(folder, 'peer', 'echo no torch here >&2\nexit 3\n')
            done = run_bench('--workloads=iris', '--peers=pytorch', f'--pytorch={peer}',
                             '--format=json')
        self.assertEqual(done.returncode, 0)
        self.assertNotIn('ratio', json.loads(done.stdout.splitlines()[0]))
        self.assertIn('PyTorch bf16 is left out: ', done.stderr)
        # What the loader says of a library that is not installed may come before.
        self.assertRegex(done.stderr, r'exit code 3: (ERROR: ld.so: .*\n)*no torch here')

    def test_a_peer_that_takes_too_long_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            peer = executable(folder, 'peer', 'exec sleep 60\n')
            done = run_bench('--workloads=iris', '--peers=jax', f'--jax={peer}', '--limit=0.5')
        self.assertEqual(done.returncode, 0)
        self.assertIn('takes over 0.5 s', done.stderr)

    def test_tpurun_must_not_fail(self):
        done = run_bench('--workloads=iris', '--peers=', '--threads=100000')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn('tools/bench: ', done.stderr)

    def test_wrong_options_are_usage_errors(self):
        for option, message in (
                ('--workloads=mnist,resnet', f'no "resnet", there are {", ".join(bench.WORKLOADS)}'),
                ('--modes=f16', 'no "f16", there are bf16, f32'),
                ('--rounds=0', 'got 0, want a number of at least 1')):
            done = run_bench(option)
            self.assertEqual((done.returncode, done.stdout), (2, ''))
            self.assertIn(message, done.stderr)

    def test_only_what_is_needed_is_installed(self):
        needs = lambda *arguments: run_bench('--print-needs', *arguments).stdout.split()
        self.assertEqual(needs(), ['pytorch', 'tensorflow', 'jax'])
        self.assertEqual(needs('--workloads=iris_process'), ['tensorflow'])
        self.assertEqual(needs('--peers=jax'), ['jax'])
        self.assertEqual(needs('--peer-binary=x'), [])
        self.assertEqual(needs('--table'), [])

    def test_instruction_sets_limit_all_programs(self):
        self.assertEqual(run_bench('--print-build').stdout, '')
        self.assertEqual(run_bench('--print-build', '--instruction-sets=AVX2').stdout, '--config=avx2\n')
        self.assertEqual(machine.processor('AVX2')['kind'], 'AVX2')
        with tempfile.TemporaryDirectory() as folder:
            calls = os.path.join(folder, 'calls')
            peer = executable(folder, 'peer', f'echo $ONEDNN_MAX_CPU_ISA $XLA_FLAGS >>{calls}\n'
                              'echo \'{"examples_per_second": [1]}\'\n')
            self.rows('--workloads=iris', '--modes=f32', '--peers=jax', f'--jax={peer}',
                      '--instruction-sets=AVX2')
            with open(calls, encoding='utf-8') as file:
                self.assertEqual(set(file), {'AVX2 --xla_cpu_max_isa=AVX2\n'})


class RoundsTest(unittest.TestCase):

    def measure(self, fake, rounds):
        args = bench.parse_args([f'--rounds={rounds}'])
        with tempfile.TemporaryDirectory() as folder, mock.patch('sys.stderr'):
            samples, ours, discarded = bench.measure(fake, args, None, folder)
        return list(bench.results(fake, samples, ours, discarded))

    def test_every_other_round_is_backwards_and_slow_peers_run_once(self):
        fake = Fake({'bf16': 10}, {'a': 5, 'b': 1, 'c': 4})
        (line,) = self.measure(fake, 3)
        first, later = ['tpurun bf16', 'a', 'b', 'c'], ['tpurun bf16', 'a', 'c']
        self.assertEqual(fake.order, [*first, *reversed(later), *later])
        self.assertEqual(len(line['peers']['b']['runs']), 1)

    def test_the_best_peer_of_any_precision_counts_in_each_mode(self):
        lines = self.measure(Fake({'bf16': 10, 'f32': 6}, {'x bf16': 4, 'x f32': 5}), 2)
        self.assertEqual([line['best_peer'] for line in lines], ['x f32', 'x f32'])
        self.assertEqual([line['ratio']['median'] for line in lines], [2, 1.2])

    def test_a_disturbed_run_is_repeated(self):
        answers = [sample(1, others=0.5), sample(2, others=0.01)]
        program = workloads.Program('p', lambda *_: answers.pop(0))
        args = bench.parse_args(['--attempts=3'])
        with tempfile.TemporaryDirectory() as folder, mock.patch('sys.stderr'):
            found, discarded = bench.once(program, args, None, folder)
        self.assertEqual((found.value, discarded), (2, 1))

    def test_a_run_is_seen_with_what_others_took(self):
        run = machine.Runner(quiet_wait=0, settings={'MKL_X': 'y'}).run(
            ['/bin/sh', '-c', 'echo $GIVEN$OMP_NUM_THREADS$MKL_X'], GIVEN='x')
        self.assertEqual(run.output, 'xy\n')
        self.assertGreater(run.seconds, 0)
        self.assertGreater(run.peak_bytes, 1 << 18)
        self.assertGreaterEqual(run.others, 0)


VERBOSE = """\
onednn_verbose,info,oneDNN v2.6.3 (commit N/A)
onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ba:f0,,,800x2048,0.5
onednn_verbose,exec,cpu,matmul,brg:avx512_core,undef,src_f32 wei_f32 dst_f32,,,512x800:800x2048:512x2048,2.5
onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32 wei_f32 dst_f32,,,512x800:800x2048:512x2048,1e+0
onednn_verbose,exec,cpu,convolution,brg:avx512_core,backward_weights,src_f32 dst_f32,,alg:direct,mb16_ic32oc64,4
onednn_verbose,exec,cpu,convolution,brg:avx512_core,forward_training,src_f32 dst_f32,,alg:direct,mb16_ic32oc64,8
"""


class AgreementTest(unittest.TestCase):

    def test_entries(self):
        self.assertEqual(agreement.entry_of('conv2d'), agreement.entry_of('conv2d_input_grad'))
        self.assertEqual(agreement.entry_of('conv2d_filter_grad'), 'conv2d_filter_grad')
        self.assertEqual(agreement.entry_of('transpose'), 'others')

    def test_times_of_primitives(self):
        times = agreement.primitive_times(VERBOSE, 2, False)
        self.assertEqual({entry: round(1e3 * seconds, 6) for entry, seconds in times.items()},
                         {'matmul': 2, 'conv2d_filter_grad': 2, 'conv2d + conv2d_input_grad': 4})
        step = 'onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32,,,8x512:512x2048:8x2048,0.01\n'
        times = agreement.primitive_times(VERBOSE + 400 * step, 2, True)
        self.assertAlmostEqual(times['lstm + lstm_grad'], 2e-3)
        self.assertAlmostEqual(times['matmul'], 2e-3)


class TablesTest(unittest.TestCase):

    def setUp(self):
        spread = lambda *runs: {**bench.spread(list(runs)), 'peak_bytes': int(runs[0]) << 20,
                                'others': 0.0}
        self.line = {'name': 'iris', 'mode': 'bf16', 'unit': 'examples/s',
                     'tpurun': spread(5000, 5200, 5181), 'peers': {'JAX f32': spread(2500, 2467, 2400)},
                     'best_peer': 'JAX f32', 'ratio': bench.spread([2.0, 2.1, 2.2])}

    def test_table(self):
        cells = [cell.strip() for cell in bench.table([self.line])[1].split(' | ')]
        self.assertEqual(cells, ['iris', 'bf16', 'examples/s', '5,181 (5,000..5,200)',
                                 'JAX f32: 2,467 (2,400..2,500)', '2.1 (2..2.2)', '5,000 to 2,500 MiB'])
        del self.line['best_peer']
        self.assertTrue(bench.table([self.line])[1].endswith('| 5,000 MiB'))

    def test_results_are_kept_by_kind_and_read_back_as_markdown(self):
        described = {'model': 'A CPU', 'kind': 'AVX-512 with bf16', 'threads': 2, 'date': '2026-01-02',
                     'commit': 'abc', 'f32_gflops': 200.4, 'bf16_gflops': 400}
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(bench, 'RESULTS', folder):
            bench.keep(described, [self.line])
            bench.keep({**described, 'f32_gflops': 190, 'bf16_gflops': 390},
                       [{**self.line, 'name': 'mnist', 'flops': 4e7}])
            self.assertEqual(os.listdir(folder), ['avx512_bf16.json'])
            ratios, shares = bench.markdown()
            lines = ratios.splitlines()
            self.assertEqual(bench.slowed({**described, 'f32_gflops': 181}), '')
            self.assertIn('reaches 179 GFLOP/s of f32, and reached 200 when',
                          bench.slowed({**described, 'f32_gflops': 179}))
            for other in ({'model': 'B'}, {'threads': 1}, {'kind': 'AMX'}, {'f32_gflops': 0}):
                self.assertEqual(bench.slowed({**described, 'f32_gflops': 9, **other}), '')
        self.assertEqual(lines[0], '|  | AVX-512 with bf16 |')
        cell = '**2.1** (2..2.2): 5,181 to 2,467 examples/s of JAX f32'
        self.assertEqual(lines[2:4], [f'| mnist, bf16 | {cell} |', f'| iris, bf16 | {cell} |'])
        self.assertEqual(lines[5], '- AVX-512 with bf16: A CPU, 2 threads, 2026-01-02, commit abc, '
                                   '190 to 200 GFLOP/s of f32.')
        # 400 GFLOP/s are 10,000 examples/s of 40 MFLOP.
        self.assertEqual(shares.splitlines()[2:], ['| mnist, bf16 | 52 %, JAX f32 25 %; at the peak 4.05 |'])

    def test_the_peak_of_a_mode(self):
        line = {**self.line, 'flops': 1e7, 'machine': {'model': 'A', 'threads': 2, 'f32_gflops': 50, 'bf16_gflops': 0}}
        other = {'machine': {'model': 'A', 'threads': 1, 'f32_gflops': 99, 'bf16_gflops': 0}}
        self.assertEqual(bench.share_of_peak(line, [line, other]), '104 %, JAX f32 49 %; at the peak 2.03')
        line['machine']['bf16_gflops'] = 100
        self.assertEqual(bench.share_of_peak(line, [line, other]), '52 %, JAX f32 25 %; at the peak 4.05')
        self.assertEqual(bench.share_of_peak({**line, 'mode': 'f32'}, [line]), '104 %, JAX f32 49 %; at the peak 2.03')
        self.assertEqual(bench.share_of_peak({**line, 'flops': 9e5}, [line]), '', 'below LEAST_SHARE')
        line['machine'].update(f32_gflops=0, bf16_gflops=0)
        self.assertEqual(bench.share_of_peak(line, [line]), '')

    def test_numbers_have_three_digits_or_more(self):
        self.assertEqual([bench.number(value) for value in (5224.1, 999.6, 12.34, 0.18123)],
                         ['5,224', '1,000', '12.3', '0.181'])


class LayersTest(unittest.TestCase):
    def test_each_layer_is_one_of_tpurun_and_of_pytorch(self):
        with open('tests/bench/peers/pytorch/layers.py', encoding='utf-8') as file:
            peers = next(node.value for node in ast.parse(file.read()).body
                         if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == 'LAYERS')
        self.assertEqual([key.value for key in peers.keys], list(layers.LAYERS))
        for name, (shape, layer) in layers.LAYERS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                layers.write_configuration(folder, shape, layer)
                done = subprocess.run([TPURUN, 'config', f'--config={folder}/run.textproto'],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_table(self):
        with tempfile.TemporaryDirectory() as folder:
            pytorch = executable(folder, 'pytorch', 'echo 1000')
            done = subprocess.run(
                ['/usr/bin/python3', 'tests/bench/layers.py', f'--tpurun={TPURUN}', f'--pytorch={pytorch}',
                 '--rounds=1', 'max pool 2x2', 'conv1d 5'], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [row.split(' | ') for row in done.stdout.splitlines()]
        self.assertEqual([row[0] for row in rows[2:]],
                         ['| max pool 2x2, 32 x 32 x 64', '| conv1d 5, 256 x 64'])
        for row in rows[2:]:
            bf16, f32, pytorch, ratio = (float(cell.strip(' |')) for cell in row[1:])
            self.assertGreater(min(bf16, f32), 0)
            self.assertEqual(pytorch, 1000)
            self.assertGreater(ratio, 1)


if __name__ == '__main__':
    unittest.main()
