"""tools/bench: tpurun beside PyTorch and TensorFlow, or beside another tpurun.

One program runs at a time, in turn, each started when the machine is quiet or the wait for that is
over, which is reported. Figures are medians over the rounds (smallest..largest); a ratio above 1 says
how many times as fast as the peer tpurun is, of the medians and (smallest..largest) of a round.
"""
import argparse
import collections
import glob
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import typing

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MNIST_CONFIG = os.path.join(ROOT, 'testdata/mnist/run.textproto')
MNIST_PEER = os.path.join(ROOT, 'tests/bench/mnist_pytorch.py')
RESNET_CIFAR_CONFIG = os.path.join(ROOT, 'models/zoo/resnet_cifar/run.textproto')
RESNET_CIFAR_PEER = os.path.join(ROOT, 'tests/bench/resnet_cifar_pytorch.py')
LSTM_CONFIG = os.path.join(ROOT, 'tests/bench/lstm_bench/run.textproto')
LSTM_PEER = os.path.join(ROOT, 'tests/bench/lstm_pytorch.py')
CHAR_TRANSFORMER_CONFIG = os.path.join(ROOT, 'models/zoo/char_transformer/run.textproto')
CHAR_TRANSFORMER_PEER = os.path.join(ROOT, 'tests/bench/char_transformer_pytorch.py')
BERT_TINY_CONFIG = os.path.join(ROOT, 'models/zoo/bert_tiny/run.textproto')
BERT_TINY_PEER = os.path.join(ROOT, 'tests/bench/bert_tiny_pytorch.py')
IRIS_CONFIG = os.path.join(ROOT, 'testdata/iris/run.textproto')
IRIS_CSV = os.path.join(ROOT, 'testdata/iris/iris_training.csv')
IRIS_PEER = os.path.join(ROOT, 'tests/bench/iris_tpu_estimator.py')

# A machine is quiet, and a program undisturbed, when all others together take less than this part of
# its processors.
QUIET_SHARE = 0.03


class Failure(Exception):
    """A program did not do its part; the message is for the user."""


def busy_seconds():
    """Processor seconds that anybody used since the machine started, stolen ones included."""
    with open('/proc/stat') as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')


def wait_until_quiet(seconds):
    """Waits for one quiet second, but no longer than the seconds given, at least one."""
    end = time.monotonic() + seconds
    while True:
        busy, start = busy_seconds(), time.monotonic()
        time.sleep(1)
        busy, elapsed = busy_seconds() - busy, time.monotonic() - start
        if busy < QUIET_SHARE * os.cpu_count() * elapsed or time.monotonic() >= end:
            return


def output_of(command):
    """What a program prints whose time does not matter."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f'{" ".join(command)}\nexit code {done.returncode}: {done.stderr}')
    return done.stdout


class Runner:
    """Runs what is measured, and sees who else is at work meanwhile."""

    def __init__(self, quiet_wait):
        self.quiet_wait = quiet_wait
        self.seconds = 0.0  # of the last program, from its start to its end
        self.others = []  # of each program: the part of the processors that others took meanwhile

    def run(self, command, **environment):
        """What the command prints. It sees no settings of threads or allocators but those given."""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(('OMP_', 'GOMP_', 'KMP_', 'MKL_', 'OPENBLAS_', 'LD_PRELOAD'))}
        wait_until_quiet(self.quiet_wait)
        with tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err:
            busy, start = busy_seconds(), time.monotonic()
            child = subprocess.Popen(command, env=env | environment, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err)
            _, status, usage = os.wait4(child.pid, 0)
            self.seconds = time.monotonic() - start
            busy = busy_seconds() - busy - usage.ru_utime - usage.ru_stime
            self.others.append(max(0, busy / (self.seconds * os.cpu_count())))
            child.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            out.seek(0)
            if child.returncode:
                raise Failure(f'{" ".join(command)}\nexit code {child.returncode}: '
                              f'{err.read()[-4000:]}')
            return out.read()


# --- What is measured. tpurun() and peer() run one program and return {figure's name: value}. ------


class Figure(typing.NamedTuple):
    unit: str
    wanted: float | None = None
    wanted_ratio: float | None = None
    less_is_better: bool = False


class Training:
    """Training at a steady state, examples a second. A model says its CONFIG and PEER, how the length of
    a run is said, and which records there are."""
    peer_name = 'PyTorch'
    window_steps = 100  # without --window-steps
    batch_size = 128
    flags = []  # of tpurun

    def __init__(self, args, convert):
        self.args = args
        self.steps_of_window = args.window_steps or self.window_steps
        self.records = json.loads(output_of([args.tpurun, 'convert', *convert]))
        self.files = ('tfrecord', self.records['files'])

    def tpurun(self, binary, runner, model_dir):
        """From files; the median of the event file's examples/sec, of each window of steps but the
        first."""
        args, window = self.args, self.steps_of_window
        steps = (args.windows + 1) * window
        runner.run([
            binary, 'train', f'--config={self.config}', f'--model_dir={model_dir}',
            f'--train_batch_size={self.batch_size}', f'--worker_threads={args.threads}',
            f'--save_checkpoints_steps={steps}', f'--log_step_count_steps={window}',
            *self.flags, *self.length(steps),
            '--set', f'tpu_config.iterations_per_loop="{window}"',
            '--set', f'train.input.source.{self.files[0]}.file={json.dumps(self.files[1])}'])
        (path,) = glob.glob(os.path.join(model_dir, 'events*'))
        lines = output_of([binary, 'inspect', path, '--format=json']).splitlines()
        windows = [event['value'] for event in map(json.loads, lines)
                   if event['tag'] == 'examples/sec']
        if len(windows) != args.windows:
            raise Failure(f'{path}: {len(windows)} values of examples/sec, want {args.windows}')
        return dict.fromkeys(self.figures, statistics.median(windows))

    def peer(self, runner, model_dir):
        """From memory; the median of the windows but the first."""
        args = self.args
        output = runner.run([
            args.pytorch, '-W', 'ignore', *self.peer_command, f'--windows={args.windows}',
            f'--window_steps={self.steps_of_window}', f'--batch_size={self.batch_size}',
            f'--threads={args.threads}'],
            LD_PRELOAD='libtcmalloc_minimal.so.4')
        return dict.fromkeys(self.figures,
                             statistics.median(json.loads(output)['examples_per_second']))


class Mnist(Training):
    """testdata/mnist, products in bf16."""
    figures = {'mnist': Figure('examples/s', wanted_ratio=1.0)}
    config = MNIST_CONFIG
    flags = ['--use_tpu=true']
    products = 'bf16'

    def __init__(self, args, folder):
        idx = self.idx_files(args.mnist_data, folder)
        super().__init__(args, ['idx', *idx, f'--output={os.path.join(folder, "train.tfrecord")}'])
        self.peer_command = [MNIST_PEER, *idx, f'--products={self.products}']

    def idx_files(self, data, folder):
        """Images and labels, in the folder `data` or else of noise, which trains as fast."""
        if data:
            return [os.path.join(data, f'train-{kind}-ubyte.gz')
                    for kind in ('images-idx3', 'labels-idx1')]
        count = 60000
        contents = [((0x803, count, 28, 28), os.urandom(count * 28 * 28)),
                    ((0x801, count), bytes(value % 10 for value in os.urandom(count)))]
        paths = [os.path.join(folder, name) for name in ('images', 'labels')]
        for path, (header, values) in zip(paths, contents):
            with open(path, 'wb') as file:
                file.write(b''.join(number.to_bytes(4, 'big') for number in header) + values)
        return paths

    def length(self, steps):
        return [f'--epochs={(steps + 0.5) * self.batch_size / self.records["records"]}']


class MnistF32(Mnist):
    """The same without the emulated TPU, in float32."""
    figures = {'mnist_f32': Figure('examples/s', wanted_ratio=1.0)}
    flags = ['--use_tpu=false']
    products = 'f32'


class ResnetCifar(Training):
    """models/zoo/resnet_cifar, a ResNet-20 with values stored in bf16, on drawn shapes; its peer, on
    noise."""
    figures = {'resnet_cifar': Figure('examples/s', wanted_ratio=0.8)}
    config = RESNET_CIFAR_CONFIG
    window_steps = 20

    def __init__(self, args, folder):
        super().__init__(args, ['synthetic', 'shapes', '--examples=2048', '--seed=1',
                                f'--output={os.path.join(folder, "shapes.tfrecord")}'])
        self.peer_command = [RESNET_CIFAR_PEER]

    def length(self, steps):
        return [f'--max_steps={steps}']


class Text(Training):
    """A model of text, products in bf16, on noise of so many different CHARACTERS."""
    batch_size = 64
    window_steps = 20
    flags = ['--use_tpu=true']

    def __init__(self, args, folder):
        self.args = args
        self.steps_of_window = args.window_steps or self.window_steps
        characters = ''.join(map(chr, range(32, 32 + self.characters)))
        text = os.path.join(folder, 'text')
        with open(text, 'w', encoding='utf-8') as file:
            file.write(characters + ''.join(random.Random(1).choices(characters, k=20 * 64 * 128)))
        self.files = ('text', [text])
        self.peer_command = [self.peer_script]

    def length(self, steps):
        return [f'--max_steps={steps}']


class Lstm(Text):
    """tests/bench/lstm_bench."""
    figures = {'lstm_bench': Figure('examples/s', wanted_ratio=0.8)}
    config = LSTM_CONFIG
    peer_script = LSTM_PEER
    characters = 98


class CharTransformer(Text):
    """models/zoo/char_transformer."""
    figures = {'char_transformer': Figure('examples/s', wanted_ratio=0.8)}
    config = CHAR_TRANSFORMER_CONFIG
    peer_script = CHAR_TRANSFORMER_PEER
    characters = 65


class BertTiny(Training):
    """models/zoo/bert_tiny, products in bf16, on drawn sentences; its peer, on noise."""
    figures = {'bert_tiny': Figure('examples/s', wanted_ratio=0.8)}
    config = BERT_TINY_CONFIG
    batch_size = 64
    window_steps = 40
    flags = ['--use_tpu=true']

    def __init__(self, args, folder):
        super().__init__(args, ['synthetic', 'sentence_pairs', '--examples=2560', '--seed=1',
                                f'--output={os.path.join(folder, "pairs.tfrecord")}'])
        self.peer_command = [BERT_TINY_PEER]

    def length(self, steps):
        return [f'--max_steps={steps}']


class Iris:
    """Training of testdata/iris as a whole process, from its start to its end."""
    peer_name = 'TPUEstimator'
    figures = {'iris': Figure('s', wanted_ratio=8, less_is_better=True)}

    def __init__(self, args, folder):
        self.args = args

    def tpurun(self, binary, runner, model_dir):
        runner.run([binary, 'train', f'--config={IRIS_CONFIG}', f'--model_dir={model_dir}',
                    f'--max_steps={self.args.iris_steps}', f'--worker_threads={self.args.threads}'])
        return {'iris': runner.seconds}

    def peer(self, runner, model_dir):
        runner.run([self.args.tensorflow, IRIS_PEER, IRIS_CSV, model_dir,
                    f'--max_steps={self.args.iris_steps}'], TF_CPP_MIN_LOG_LEVEL='2')
        return {'iris': runner.seconds}


class Reading:
    """TFRecord files into batches on one core, per second of processor time: //tests/bench:read_records."""
    peer_name = None
    figures = {
        'reading Framing': Figure('M records/s'),
        'reading ReadBatches/u8': Figure('M records/s', wanted=2.5),
        'reading ReadBatches/f32': Figure('M records/s', wanted=2.5),
        'reading ReadBatches/bf16': Figure('M records/s', wanted=2.5),
    }

    def __init__(self, args, folder):
        self.args = args

    def tpurun(self, binary, runner, model_dir):
        output = runner.run([self.args.read_records, '--benchmark_format=json',
                             f'--benchmark_min_time={self.args.reading_seconds}'])
        return {f'reading {result["name"]}': result['items_per_second'] / 1e6
                for result in json.loads(output)['benchmarks']}


MODELS = {'mnist': Mnist, 'mnist_f32': MnistF32, 'resnet_cifar': ResnetCifar, 'lstm_bench': Lstm,
          'char_transformer': CharTransformer, 'bert_tiny': BertTiny, 'iris': Iris, 'reading': Reading}


# --- Rounds and their table ------------------------------------------------------------------------


def measure(model, args, runner, folder):
    """Runs all rounds; returns {figure's name: {'tpurun': [value], 'peer': [value], 'others': [part of
    the machine]}}. Every other round starts with the peer, so that a machine that drifts favours
    nobody."""
    programs = [('tpurun', lambda model_dir: model.tpurun(args.tpurun, runner, model_dir))]
    if model.peer_name and args.peer_binary:
        programs.append(('peer', lambda model_dir: model.tpurun(args.peer_binary, runner, model_dir)))
    elif model.peer_name:
        programs.append(('peer', lambda model_dir: model.peer(runner, model_dir)))
    values = {name: collections.defaultdict(list) for name in model.figures}
    for index in range(args.rounds):
        for who, run in programs if index % 2 == 0 else reversed(programs):
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                figures = run(os.path.join(scratch, 'model'))
            for name, value in figures.items():
                values[name][who].append(value)
                values[name]['others'].append(runner.others[-1])
                peer = args.peer_binary or model.peer_name
                print(f'round {index + 1}: {name}: {peer if who == "peer" else who}: '
                      f'{number(value)} {model.figures[name].unit}, '
                      f'others took {runner.others[-1]:.0%} of the machine', file=sys.stderr)
    return values


def spread(runs):
    return {'median': statistics.median(runs), 'min': min(runs), 'max': max(runs), 'runs': runs}


def result(name, figure, values, peer_name):
    """A line of the JSON output."""
    line = {'name': name, 'unit': figure.unit, 'most_others_took': max(values['others']),
            'tpurun': spread(values['tpurun'])}
    if figure.wanted is not None:
        line['wanted'] = figure.wanted
    if values['peer']:
        line['peer'] = {'name': peer_name, **spread(values['peer'])}
        faster = lambda tpurun, peer: peer / tpurun if figure.less_is_better else tpurun / peer
        line['ratio'] = spread([faster(*pair) for pair in zip(values['tpurun'], values['peer'])])
        line['ratio']['median'] = faster(line['tpurun']['median'], line['peer']['median'])
        if figure.wanted_ratio is not None:
            line['wanted_ratio'] = figure.wanted_ratio
    return line


def number(value):
    """Three digits or more."""
    return f'{value:,.0f}' if value >= 100 else f'{value:.3g}'


def table(lines):
    """The same for people."""
    show = lambda of: f'{number(of["median"])} ({number(of["min"])}..{number(of["max"])})'
    rows = [('', 'unit', 'tpurun', 'peer', 'ratio', 'wanted')]
    for line in lines:
        wanted = [f'{of} >= {number(line[key])}' for of, key in
                  (('tpurun', 'wanted'), ('ratio', 'wanted_ratio')) if key in line]
        peer = f'{line["peer"]["name"]}: {show(line["peer"])}' if 'peer' in line else ''
        rows.append((line['name'], line['unit'], show(line['tpurun']), peer,
                     show(line['ratio']) if 'ratio' in line else '', ', '.join(wanted)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [' | '.join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in rows]


def parse_args(arguments):
    parser = argparse.ArgumentParser(
        prog='tools/bench', formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        description='Measures tpurun beside PyTorch (mnist, resnet_cifar, lstm_bench, char_transformer, '
        'bert_tiny) and TensorFlow (iris), and reading alone.')

    def count(text):
        if not text.isdigit() or int(text) < 1:
            raise argparse.ArgumentTypeError(f'got {text}, want a number of at least 1')
        return int(text)

    def models(text):
        names = text.split(',')
        if unknown := [name for name in names if name not in MODELS]:
            raise argparse.ArgumentTypeError(f'no "{unknown[0]}", there are {", ".join(MODELS)}')
        return names

    add = parser.add_argument
    add('--models', type=models, default=','.join(MODELS), help='which of them, in this order')
    add('--rounds', type=count, default=5, help='times that each program runs')
    add('--peer-binary', metavar='TPURUN', help='another tpurun to compare with, instead of the '
        'peers: what a change gained')
    add('--mnist-data', metavar='FOLDER', help='where train-images-idx3-ubyte.gz and '
        'train-labels-idx1-ubyte.gz are; without, mnist trains on noise')
    add('--threads', type=count, default=2, help='threads that compute, in every program')
    add('--windows', type=count, default=4, help='windows of each training with PyTorch as the '
        'peer, after one to warm up')
    add('--window-steps', type=count, help='steps of a window; without, 100, 40 of '
        'bert_tiny, or 20 of resnet_cifar and of models of text')
    add('--iris-steps', type=count, default=1000, help='steps of iris')
    add('--reading-seconds', type=float, default=1, help='seconds of each case of reading')
    add('--quiet-wait', type=float, default=60, metavar='SECONDS', help='how long to wait for a '
        'quiet machine before each program')
    add('--format', choices=('text', 'json'), default='text', help='a table, or an object a line')
    for option in ('--tpurun', '--read-records', '--pytorch', '--tensorflow'):
        add(option, help=argparse.SUPPRESS)  # set by tools/bench
    add('--print-needs', action='store_true', help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def needs(args):
    """Which of the last options' programs a run needs."""
    programs = {'PyTorch': 'pytorch', 'TPUEstimator': 'tensorflow', None: 'read-records'}
    peers = [MODELS[name].peer_name for name in args.models]
    return list(dict.fromkeys(programs[peer] for peer in peers
                              if peer is None or not args.peer_binary))


def main():
    args = parse_args(sys.argv[1:])
    if args.print_needs:
        print(*needs(args))
        return 0
    lines = []
    runner = Runner(args.quiet_wait)
    with tempfile.TemporaryDirectory(prefix='tpurun_bench_') as folder:
        for name in args.models:
            model = MODELS[name](args, folder)
            for figure, values in measure(model, args, runner, folder).items():
                line = result(figure, model.figures[figure], values,
                              args.peer_binary or model.peer_name)
                if args.peer_binary:  # what is wanted is against the peers
                    line.pop('wanted_ratio', None)
                lines.append(line)
    print(*(map(json.dumps, lines) if args.format == 'json' else table(lines)), sep='\n')
    if disturbed := [share for share in runner.others if share > QUIET_SHARE]:
        print(f'tools/bench: while {len(disturbed)} of {len(runner.others)} programs ran, others took '
              f'more than {QUIET_SHARE:.0%} of the machine, at most {max(disturbed):.0%}; do not trust '
              'the figures', file=sys.stderr)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f'tools/bench: {failure}')
