"""What tools/bench measures: trainings, each of tpurun and of its peers, and whole processes."""
import glob
import json
import os
import random
import statistics
import typing

from machine import Failure, output_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(ROOT, 'tests/bench/peers')
IRIS_CSV = os.path.join(ROOT, 'testdata/iris/iris_training.csv')

TCMALLOC = {'LD_PRELOAD': 'libtcmalloc_minimal.so.4'}
QUIET_TENSORFLOW = {'TF_CPP_MIN_LOG_LEVEL': '2'}


class Framework(typing.NamedTuple):
    """`needs` is the Python environment that tools/bench gives it; `variants` are its ways to train, by
    name, with their arguments; each in both precisions unless it `is_f32`."""
    needs: str
    variants: dict
    environment: dict
    is_f32: bool = False


FRAMEWORKS = {
    'pytorch': Framework('pytorch', {'PyTorch': [], 'PyTorch compiled': ['--compile']}, TCMALLOC),
    'keras': Framework('tensorflow', {'Keras': []}, QUIET_TENSORFLOW),
    'jax': Framework('jax', {'JAX': [], 'JAX, 8 devices': ['--devices=8']}, {}),
    'tpu_estimator': Framework('tensorflow', {'TPUEstimator': []}, QUIET_TENSORFLOW, is_f32=True),
}


class Sample(typing.NamedTuple):
    """What one run of a program reached."""
    value: float
    run: object  # machine.Run


class Program(typing.NamedTuple):
    """A program that trains a workload: run(runner, model_dir) gives a Sample."""
    name: str
    run: typing.Callable


class Inputs(typing.NamedTuple):
    """What a workload trains on: tpurun's flags for it, the files that the peers load into memory (none:
    they train on noise of their own), and the files that TPUEstimator reads."""
    flags: list = []
    loaded: list = []
    read: list = []


# --- Functions that make the inputs in a folder ----------------------------------------------------


def records(*convert):
    """Records that `tpurun convert` makes."""
    def make(tpurun, folder):
        path = os.path.join(folder, 'train.tfrecord')
        files = json.loads(output_of([tpurun, 'convert', *convert, f'--output={path}']))['files']
        return Inputs(['--set', f'train.input.source.tfrecord.file={json.dumps(files)}'], read=files)
    return make


def noise_images(tpurun, folder):
    """MNIST's form and size, of noise, which trains as fast; the peers read the idx files."""
    count = 60000
    contents = [((0x803, count, 28, 28), os.urandom(count * 28 * 28)),
                ((0x801, count), bytes(value % 10 for value in os.urandom(count)))]
    paths = [os.path.join(folder, name) for name in ('images', 'labels')]
    for path, (header, values) in zip(paths, contents):
        with open(path, 'wb') as file:
            file.write(b''.join(number.to_bytes(4, 'big') for number in header) + values)
    return records('idx', *paths)(tpurun, folder)._replace(loaded=paths)


def noise_text(characters):
    """Text of so many different characters."""
    def make(tpurun, folder):
        del tpurun
        every = ''.join(map(chr, range(32, 32 + characters)))
        path = os.path.join(folder, 'text')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(every + ''.join(random.Random(1).choices(every, k=20 * 64 * 128)))
        return Inputs(['--set', f'train.input.source.text.file={json.dumps(path)}'])
    return make


def iris_csv(tpurun, folder):
    """The file that the configuration names."""
    del tpurun, folder
    return Inputs(read=[IRIS_CSV])


def script_of(args, framework, name):
    """The start of a command: the Python of a framework with the script of that name."""
    return [getattr(args, FRAMEWORKS[framework].needs), '-W', 'ignore',
            os.path.join(PEERS, framework, f'{name}.py')]


def train_command(args, workload, binary, mode, steps, inputs):
    """tpurun's training of a workload, without its model_dir."""
    return [binary, 'train', f'--config={workload.config}',
            f'--train_batch_size={workload.batch_size}', f'--worker_threads={args.threads}',
            f'--use_tpu={"true" if mode == "bf16" else "false"}', f'--max_steps={steps}',
            *inputs.flags]


def of_binary(args, name, binary, run_of):
    """The programs of a tpurun by mode; run_of(binary, mode) is Program.run."""
    return {mode: Program(f'{name} {mode}', run_of(binary, mode)) for mode in args.modes}


class Training:
    """Training at a steady state, examples a second: the median of windows of steps, without the first.
    tpurun reads files; the peers train from memory, but for TPUEstimator. `flops` are those of an example
    in a step, known when the programs are."""
    unit = 'examples/s'
    less_is_better = False

    def __init__(self, name, config, batch_size, window_steps, frameworks, inputs, script=None):
        self.name, self.batch_size, self.window_steps = name, batch_size, window_steps
        self.config = os.path.join(ROOT, config)
        self.frameworks, self.inputs = frameworks, inputs
        self.script = script or name
        self.flops = None

    def programs(self, args, folder):
        """{mode of tpurun: Program}, and the peers."""
        window = args.window_steps or self.window_steps
        inputs = self.inputs(args.tpurun, folder)
        self.flops = self.flops_of_example(args.tpurun, inputs, folder)

        def tpurun(binary, mode):
            return lambda runner, model_dir: self.tpurun(args, binary, mode, window, inputs, runner,
                                                         model_dir)

        ours = of_binary(args, 'tpurun', args.tpurun, tpurun)
        if args.peer_binary:
            return ours, list(of_binary(args, args.peer_binary, args.peer_binary, tpurun).values())
        return ours, [self.peer(args, window, inputs, framework, variant, precision)
                      for framework in self.frameworks if framework in args.peers
                      for variant in FRAMEWORKS[framework].variants
                      for precision in (['f32'] if FRAMEWORKS[framework].is_f32 else ['bf16', 'f32'])]

    def flops_of_example(self, tpurun, inputs, folder):
        lines = output_of([tpurun, 'summary', f'--config={self.config}', f'--train_batch_size={self.batch_size}',
                           '--set', 'train.max_steps=1', f'--model_dir={folder}/none', *inputs.flags,
                           '--format=json']).splitlines()
        flops = [line['flops'] for line in map(json.loads, lines) if line.get('step') == 'train']
        if len(flops) != 1:
            raise Failure(f'summary of {self.config}: {len(flops)} steps of training, want one')
        return flops[0] / self.batch_size

    def tpurun(self, args, binary, mode, window, inputs, runner, model_dir):
        steps = (args.windows + 1) * window
        run = runner.run([
            *train_command(args, self, binary, mode, steps, inputs), f'--model_dir={model_dir}',
            f'--save_checkpoints_steps={steps}', f'--log_step_count_steps={window}',
            '--set', f'tpu_config.iterations_per_loop="{window}"'])
        (path,) = glob.glob(os.path.join(model_dir, 'events*'))
        lines = output_of([binary, 'inspect', path, '--format=json']).splitlines()
        windows = [event['value'] for event in map(json.loads, lines)
                   if event['tag'] == 'examples/sec']
        if len(windows) != args.windows:
            raise Failure(f'{path}: {len(windows)} values of examples/sec, want {args.windows}')
        return Sample(statistics.median(windows), run)

    def peer(self, args, window, inputs, framework, variant, precision):
        of = FRAMEWORKS[framework]
        options = [f'--windows={args.windows}', f'--window_steps={window}',
                   f'--batch_size={self.batch_size}', f'--threads={args.threads}']

        def run(runner, model_dir):
            given = ([*inputs.read, model_dir, *options] if framework == 'tpu_estimator' else
                     [*inputs.loaded, *options, f'--products={precision}'])
            done = runner.run([*script_of(args, framework, self.script), *given,
                               *of.variants[variant]], limit=args.limit, **of.environment)
            return Sample(statistics.median(json.loads(done.output)['examples_per_second']), done)

        return Program(f'{variant} {precision}', run)


class WholeProcess:
    """From the start of the program to its end, seconds. Beside TPUEstimator, which reads the same files."""
    unit = 's'
    less_is_better = True
    flops = None

    def __init__(self, name, config, steps, script=None, inputs=iris_csv, batch_size=128):
        self.name, self.steps, self.script = name, steps, script
        self.config = os.path.join(ROOT, config)
        self.inputs, self.batch_size = inputs, batch_size
        self.frameworks = ['tpu_estimator'] if script else []

    def programs(self, args, folder):
        inputs = self.inputs(args.tpurun, folder)
        steps = args.process_steps or self.steps

        def tpurun(binary, mode):
            command = train_command(args, self, binary, mode, steps, inputs)

            def run(runner, model_dir):
                done = runner.run(command + [f'--model_dir={model_dir}'])
                return Sample(done.seconds, done)
            return run

        def tpu_estimator(runner, model_dir):
            done = runner.run([*script_of(args, 'tpu_estimator', self.script), *inputs.read, model_dir,
                               '--windows=0', f'--window_steps={steps}',
                               f'--batch_size={self.batch_size}', f'--threads={args.threads}'],
                              limit=args.limit, **QUIET_TENSORFLOW)
            return Sample(done.seconds, done)

        ours = of_binary(args, 'tpurun', args.tpurun, tpurun)
        if args.peer_binary:
            return ours, list(of_binary(args, args.peer_binary, args.peer_binary, tpurun).values())
        if not self.script or 'tpu_estimator' not in args.peers:
            return ours, []
        return ours, [Program('TPUEstimator f32', tpu_estimator)]


ALL = ['pytorch', 'keras', 'jax']

# `window_steps` takes 2 to 4 seconds on 2 cores with AVX2.
WORKLOADS = {workload.name: workload for workload in (
    Training('mnist', 'testdata/mnist/run.textproto', 128, 60, [*ALL, 'tpu_estimator'], noise_images),
    Training('mnist_b1024', 'testdata/mnist/run.textproto', 1024, 8, ALL, noise_images, 'mnist'),
    Training('resnet_cifar', 'models/zoo/resnet_cifar/run.textproto', 128, 8, ALL,
             records('synthetic', 'shapes', '--examples=2048', '--seed=1')),
    Training('lstm_bench', 'tests/bench/lstm_bench/run.textproto', 64, 6, ALL, noise_text(98)),
    Training('char_transformer', 'models/zoo/char_transformer/run.textproto', 64, 4, ALL,
             noise_text(65)),
    Training('bert_tiny', 'models/zoo/bert_tiny/run.textproto', 64, 20, ALL,
             records('synthetic', 'sentence_pairs', '--examples=2560', '--seed=1')),
    Training('resnet50', 'models/zoo/resnet50/run.textproto', 32, 1, ALL,
             records('synthetic', 'shapes', '--size=224', '--examples=64', '--seed=1')),
    Training('iris', 'testdata/iris/run.textproto', 128, 10000, [*ALL, 'tpu_estimator'], iris_csv),
    WholeProcess('iris_process', 'testdata/iris/run.textproto', 1000, 'iris'),
    WholeProcess('iris_first_step', 'testdata/iris/run.textproto', 1, 'iris'),
    WholeProcess('mnist_epoch', 'testdata/mnist/run.textproto', 468, 'mnist',
                 noise_images),
    WholeProcess('resnet50_first_step', 'models/zoo/resnet50/run.textproto', 1, None,
                 records('synthetic', 'shapes', '--size=224', '--examples=64', '--seed=1'), 32),
)}
