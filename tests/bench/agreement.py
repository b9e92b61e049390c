"""tpurun's profile of a training beside what others measure of the same steps: perf's samples, or with --library what
oneDNN's verbose mode tells of its primitives.

    python3 tests/bench/agreement.py --tpurun=BINARY --workload=mnist --mode=bf16 --steps=300

Needs perf (Debian's linux-perf)."""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import types

import workloads

# Entries of the profile, and what the stack of their samples has below the device's function that runs an
# instruction. Ops that share a kernel are one entry; the first match counts.
ENTRIES = (
    ('fused_rows', r'RowTiles'),
    ('attention_grad', r'AttentionBackward'),
    ('attention', r'AttentionForward'),
    ('lstm_grad', r'BackwardLoop|StepGrad|LstmGrad'),
    ('lstm', r'ForwardLoop|TanhSigmoidStep'),
    ('conv2d_filter_grad', r'FilterGrad|OneByOne'),
    ('conv2d + conv2d_input_grad', r'MakeConvolution|ConvolutionKernel'),
    ('cross_replica_matmul', r'SumOfProducts'),
    ('matmul', r'MakeGemm|MatMulKernel'),
    ('fused', r'TileSteps|elementwise::|AllFinite|IsFinite'),
    ('sparse_softmax_cross_entropy', r'SparseSoftmaxCrossEntropy'),
    ('sum_of_rows', r'SumOfRows|SumRows'),
    ('batch_norm_grad', r'BatchNormGrad'),
    ('max_pool_grad', r'MaxPoolGrad'),
    ('max_pool', r'MaxPool'),
)
# The functions of the device that run instructions.
DEVICE = re.compile(r'Workers::Run(Instruction|Update|Group)')
# Loops over elements, whose callers perf does not find by dwarf.
LOOPS = re.compile(r'TileLoop|RunBlocks')
# A line of ONEDNN_VERBOSE=1: primitive, kind of propagation, problem, milliseconds.
VERBOSE = re.compile(r'^onednn_verbose,exec,cpu,(\w+),[^,]*,(\w+),.*,([^,]*),([\d.e+-]+)$', re.MULTILINE)
# In a model with an lstm, a product that a step of the training computes more often is one of the lstm's steps.
MOST_CALLS = 99


def run(command, **environment):
    """Standard output of a program."""
    done = subprocess.run(command, env=os.environ | environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode:
        sys.exit(f'{" ".join(command)}\nexit code {done.returncode}: {done.stderr[-2000:]}')
    return done.stdout


def options_of(args, folder):
    """tpurun's options for the workload."""
    workload = workloads.WORKLOADS[args.workload]
    inputs = workload.inputs(args.tpurun, folder)
    threads = types.SimpleNamespace(threads=args.threads)
    options = workloads.train_command(threads, workload, args.tpurun, args.mode, args.steps, inputs)[2:]
    return [*(option for option in options if not option.startswith('--max_steps')), f'--model_dir={folder}/model',
            '--set', f'train.max_steps={args.steps}']


def profile_with_samples(args, folder):
    """The profile that `tpurun profile` prints, and {entry: samples} of it. The begin of calls is entry 'calls'."""
    printed = run(['perf', 'record', '-F', str(args.frequency), '--call-graph', args.call_graph,
                   '-o', f'{folder}/perf.data', args.tpurun, 'profile', *options_of(args, folder),
                   f'--steps={args.steps}', '--format=json'])
    samples = collections.Counter()
    for block in run(['perf', 'script', '-i', f'{folder}/perf.data', '-F', 'tid,ip,sym']).split('\n\n'):
        stack = block.strip().splitlines()[1:]
        below = next((i for i, frame in enumerate(stack) if DEVICE.search(frame)),
                     len(stack) if LOOPS.search(' '.join(stack)) else None)
        if below is None:
            continue
        kernel = ' '.join(stack[:below])
        samples[next((entry for entry, names in ENTRIES if re.search(names, kernel)),
                     'others' if kernel else 'calls')] += 1
    return json.loads(printed.splitlines()[-1]), samples


def profile_with_verbose(args, folder):
    """The profile that a training of the library's kernels writes, and {entry: seconds of a step} of oneDNN."""
    printed = run([args.tpurun, 'train', *options_of(args, folder), f'--profile_steps=1-{args.steps}', '--set',
                   f'tpu_config.iterations_per_loop="{args.steps}"', '--kernels=library'], ONEDNN_VERBOSE='1')
    (path,) = glob.glob(f'{folder}/model/plugins/profile/*/profile.json')
    with open(path, encoding='utf-8') as file:
        profile = json.load(file)
    has_lstm = any(op['name'] == 'lstm' for op in profile['op'])
    return profile, primitive_times(printed, args.steps, has_lstm)


def primitive_times(printed, steps, has_lstm):
    """{entry: seconds of a step} of the lines of oneDNN's verbose mode. What it copies (reorder) counts for the
    primitive that follows."""
    lines = VERBOSE.findall(printed)
    calls = collections.Counter(problem for _, _, problem, _ in lines)
    times, copied = collections.Counter(), 0
    for primitive, propagation, problem, milliseconds in lines:
        seconds = float(milliseconds) / 1e3 / steps
        if primitive == 'reorder':
            copied += seconds
            continue
        recurrent = has_lstm and calls[problem] > MOST_CALLS * steps
        entry = ('conv2d_filter_grad' if propagation == 'backward_weights' else
                 'conv2d + conv2d_input_grad' if primitive == 'convolution' else
                 'lstm + lstm_grad' if recurrent else 'matmul')
        times[entry] += seconds + copied
        copied = 0
    return times


def entry_of(op):
    """The entry of an op of the profile."""
    return next((entry for entry, _ in ENTRIES if op in entry.split(' + ')), 'others')


def entries_of(profile):
    """{entry: seconds of a step, of all workers}, and {entry: calls}."""
    seconds, calls = collections.Counter(), collections.Counter()
    for op in profile['op']:
        seconds[entry_of(op['name'])] += op['seconds']
        calls[entry_of(op['name'])] += op['calls']
    return seconds, calls


def beside_samples(args, folder):
    """Shares of the time in instructions, of the profile and of the samples. Samples of the begin of calls are
    divided among the entries by their calls, because the profile counts them so."""
    profile, samples = profile_with_samples(args, folder)
    seconds, calls = entries_of(profile)
    begun = samples.pop('calls', 0)
    whole = samples.total() + begun
    accounted = 100 * profile['accounted_share']
    print(f'{args.workload}, {args.mode}: {whole} samples; the shares add up to {accounted:.2f} % of the time')
    print(f'{"entry":30}{"profile %":>10}{"samples %":>10}{"ratio":>7}')
    for entry, time in seconds.most_common(args.rows):
        share = time / seconds.total()
        of_samples = (samples[entry] + begun * calls[entry] / calls.total()) / whole
        print(f'{entry:30}{100 * share:10.1f}{100 * of_samples:10.1f}{of_samples / share:7.2f}')


def beside_verbose(args, folder):
    """Milliseconds of a step, of the profile's instructions with kernels of oneDNN and of oneDNN. An lstm has gates
    besides its products, which oneDNN does not compute."""
    profile, times = profile_with_verbose(args, folder)
    seconds = collections.Counter()
    for instruction in profile['instruction']:
        if instruction['library_kernel']:
            entry = entry_of(instruction['op'])
            seconds['lstm + lstm_grad' if 'lstm' in entry else entry] += instruction['seconds']
    print(f'{args.workload}, {args.mode}, --kernels=library')
    print(f'{"entry":30}{"profile ms":>11}{"oneDNN ms":>10}{"ratio":>7}')
    for entry, time in seconds.most_common(args.rows):
        print(f'{entry:30}{1e3 * time:11.3f}{1e3 * times[entry]:10.3f}{times[entry] / time:7.2f}')


def parser_of(doc):
    """The options of options_of, described by the first paragraph of `doc`."""
    parser = argparse.ArgumentParser(description=doc.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--tpurun', required=True)
    parser.add_argument('--workload', required=True)
    parser.add_argument('--mode', choices=['bf16', 'f32'], default='bf16')
    parser.add_argument('--steps', type=int, default=100)
    parser.add_argument('--threads', type=int, default=2)
    return parser


def main():
    parser = parser_of(__doc__)
    parser.add_argument('--frequency', type=int, default=997)
    parser.add_argument('--call_graph', default='fp', help='of perf record; dwarf also sees who has called memmove')
    parser.add_argument('--rows', type=int, default=4)
    parser.add_argument('--library', action='store_true', help='with kernels of oneDNN, and its own times')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (beside_verbose if args.library else beside_samples)(args, folder)


if __name__ == '__main__':
    main()
