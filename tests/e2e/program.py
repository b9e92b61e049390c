"""Calls of the binary, for the tests in this folder: a fresh folder a test, iris in it; digits."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ.get('TPURUN', 'cli/tpurun'))
IRIS = os.path.abspath('testdata/iris')
DIGITS = os.path.abspath('testdata/digits')
# A training input of digits with all that a position has to say: a shuffle across epochs, of two
# files read in turn and in another order each epoch. The model has dropout.
STREAMED_DIGITS = ('--set', f"""train.input={{
  source {{ tfrecord {{ file: "{DIGITS}/train.tfrecord.gz" file: "{DIGITS}/test.tfrecord.gz"
                      compression: GZIP num_parallel_reads: 2 shuffle_files: true }} }}
  transform {{ apply {{ transformation_func: "parse" }} }}
  transform {{ repeat {{}} }}
  transform {{ shuffle {{ buffer_size: 500 }} }}
  transform {{ batch {{ drop_remainder: true }} }}
}}""")
# A model of iris on 16 cores: groups of replicas of both hosts, with a moving statistic of each
# replica; dropout.
NORMALIZED_IRIS = ('--set', """model.layer=[
  { concat {} input: ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth"] },
  { name: "hidden" dense { units: 10 } },
  { batch_normalization { group_assignment { replica: [0, 2, 4, 6, 8, 10, 12, 14] }
                          group_assignment { replica: [1, 3, 5, 7, 9, 11, 13, 15] } } },
  { dropout { rate: 0.1 } }, { name: "logits" dense { units: 3 } }]""")
MESSAGE = 'tpurun: '
WARNING = 'WARNING: '
# Far more than any call here takes, but under a sanitizer; only a hang reaches it.
TIMEOUT_SECONDS = int(os.environ.get('TPURUN_TIMEOUT', '120'))
# mpirun refuses root without it. Its libraries leak memory at their end, and take locks in more than
# one order.
MPI_ENVIRONMENT = {**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1',
                   'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
                   'ASAN_OPTIONS': f'{os.environ.get("ASAN_OPTIONS", "")}:detect_leaks=0',
                   'TSAN_OPTIONS': f'{os.environ.get("TSAN_OPTIONS", "")}:detect_deadlocks=0'}


class Call:
    """What one call left: code, out, err; of err the messages that end a call, the log besides, and
    the texts of the warnings in that."""

    def __init__(self, arguments, code, out, err):
        self.arguments, self.code, self.out, self.err = arguments, code, out, err

    @property
    def messages(self):
        return [line for line in self.err.splitlines() if line.startswith(MESSAGE)]

    @property
    def log(self):
        return [line for line in self.err.splitlines() if not line.startswith(MESSAGE)]

    @property
    def warnings(self):
        return [line[len(WARNING):] for line in self.log if line.startswith(WARNING)]

    def __str__(self):
        return (f'{" ".join(self.arguments)}\nexit code {self.code}\n'
                f'standard output: {self.out}\nstandard error: {self.err}')


def call(*arguments, **options):
    """A whole call, from the working directory unless options of subprocess.run say otherwise."""
    return finished([BINARY, *arguments], **options)


def call_mpi(size, *arguments, **options):
    """The same by so many processes of mpirun, each with one worker."""
    options.setdefault('env', MPI_ENVIRONMENT)
    return finished([*mpirun(size), BINARY, *arguments, '--worker_threads=1'], **options)


def mpirun(size, *options):
    """mpirun and its options, for a machine of any number of cores."""
    return ['mpirun', '--oversubscribe', '--bind-to', 'none', *options, '-np', str(size)]


def finished(command, **options):
    """A call that has ended."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          **options)
    return Call(command, done.returncode, done.stdout.decode(errors='replace'),
                done.stderr.decode(errors='replace'))


def read(path):
    with open(path, 'rb') as file:
        return file.read()


def sanitizer():
    """'address', 'thread' or None: that of the program's build. Its shadow memory, and what its
    allocator keeps from being used again, count as the program's memory."""
    code = read(BINARY)
    return 'address' if b'__asan_init' in code else 'thread' if b'__tsan_init' in code else None


def write(path, content):
    with open(path, 'wb') as file:
        file.write(content.encode() if isinstance(content, str) else content)


def tree(folder):
    """{path below the folder: (mode, time of change in ns, bytes, link or huge size)} of all that is in it."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            info = os.lstat(path)
            content = None
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                # Of a file that a test makes huge, a change of time or size is enough.
                content = read(path) if info.st_size < 1 << 28 else info.st_size
            # A folder's own time says nothing that its entries do not.
            changed = info.st_mtime_ns if os.path.isfile(path) else None
            found[os.path.relpath(path, folder)] = (info.st_mode, changed, content)
    return found


def checkpoint_files(prefix):
    """{suffix: bytes} of the files of one checkpoint."""
    folder, name = os.path.split(prefix)
    return {entry[len(name):]: read(os.path.join(folder, entry))
            for entry in sorted(os.listdir(folder)) if entry.startswith(name + '.')}


def latest_step(model_dir):
    """The step of the checkpoint that `checkpoint` names; -1 when there is none yet."""
    path = os.path.join(model_dir, 'checkpoint')
    if not os.path.exists(path):
        return -1
    found = re.match(rb'model_checkpoint_path: "model\.ckpt-(\d+)"\n', read(path))
    if not found:
        raise AssertionError(f'{path}: {read(path)}')
    return int(found.group(1))


class RandomKills:
    """Kills runs at random moments up to `reach` times `seconds`, the length of one run. When that
    one was slower than the others, as the first may be, nearly all would end before their moment:
    four in a row that do shorten it.
    """

    def __init__(self, seconds, reach):
        self.longest = reach * seconds
        self.seed = int(os.environ.get('KILL_SEED', '1'))
        self.random = random.Random(self.seed)
        self.count = 0
        self.ended_in_a_row = 0

    def kill(self, process):
        """Waits for the moment; whether the process still ran and is killed."""
        try:
            process.wait(self.random.uniform(0, self.longest))
        except subprocess.TimeoutExpired:
            process.kill()
        killed = process.wait() == -signal.SIGKILL
        self.count += killed
        self.ended_in_a_row = 0 if killed else self.ended_in_a_row + 1
        if self.ended_in_a_row == 4:
            self.longest *= 0.7
            self.ended_in_a_row = 0
        return killed


class ProgramTest(unittest.TestCase):
    """self.dir is the test's own folder and holds iris/, a copy of testdata/iris."""

    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR')))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        iris = self.path('iris')
        os.mkdir(iris)
        for name in os.listdir(IRIS):
            shutil.copyfile(os.path.join(IRIS, name), os.path.join(iris, name))

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def start(self, *arguments, **options):
        """A running call, from self.dir."""
        pipe = subprocess.PIPE
        defaults = {'cwd': self.dir, 'stdin': subprocess.DEVNULL, 'stdout': pipe, 'stderr': pipe}
        process = subprocess.Popen([BINARY, *arguments], **{**defaults, **options})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def finish(self, process, given=None):
        try:
            out, err = process.communicate(given, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f'{process.args} hangs\nstandard error: {err}')
        return Call(process.args, process.returncode, (out or b'').decode(errors='replace'),
                    (err or b'').decode(errors='replace'))

    def call(self, *arguments, given=None, **options):
        if given is not None:
            options['stdin'] = subprocess.PIPE
        return self.finish(self.start(*arguments, **options), given)

    def succeed(self, *arguments, **options):
        done = self.call(*arguments, **options)
        self.assertEqual(done.code, 0, str(done))
        return done

    @staticmethod
    def iris(verb, model_dir, *flags):
        """The arguments of a verb on iris."""
        return (verb, '--config=iris/run.textproto', f'--model_dir={model_dir}', *flags)

    @staticmethod
    def digits(verb, model_dir, *flags):
        """The arguments of a verb on digits; a test that uses it has //testdata/digits in its data."""
        return (verb, f'--config={DIGITS}/run.textproto', f'--model_dir={model_dir}', *flags)

    def result(self, call):
        """The one object on standard output."""
        self.assertEqual(call.out.count('\n'), 1, str(call))
        return json.loads(call.out)

    def wait_until(self, condition, process):
        """Polls until the condition holds; fails when the process ends before."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not condition():
            if process.poll() is not None:
                self.fail(str(self.finish(process)))
            if time.monotonic() > deadline:
                self.fail(f'{process.args} does not get there')
            time.sleep(0.001)
