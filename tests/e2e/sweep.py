"""A command run again and again, each time with another of its calls to files ending it or failing;
then once more plainly, which must leave what an uninterrupted run leaves."""
import collections
import errno
import os
import re
import shutil
import signal
import struct
import sys

from file_calls import read_log, watched
from program import DIGITS, ProgramTest, latest_step, read, write

# Where a run is killed: between any two calls that change something.
KILL_KINDS = ['create', 'fsync', 'rename', 'unlink', 'rmdir', 'mkdir', 'truncate', 'link']
# An error of these must be told; of the others it may be harmless, such as of a mkdir where there
# is a folder, if all is as it should be.
TOLD_KINDS = ['create', 'write', 'fsync', 'rename']
WRITE_KINDS = TOLD_KINDS + ['mkdir']
# What takes space, so that a full disk refuses it: not a rename, which undoes what was replaced.
SPACE_KINDS = ['create', 'write', 'fsync', 'mkdir']
READ_KINDS = ['open', 'read']
# What POSIX lets a signal interrupt.
INTERRUPTED_KINDS = ['open', 'create', 'read', 'write', 'fsync', 'truncate']
HARMLESS = ('fail EINTR', 'short 1', 'half')
# Of a configuration 2.
READ_CODES = [2, 65, 66, 74]
SECONDS = re.compile(r'/(\d{10})(?=/|$)')
LEFTOVER = re.compile(r'\.tempstate\d+$')
SHOWN = 20
MNIST = os.path.abspath('testdata/mnist')

# `start` is run first, plainly, for the files to begin with; `again` follows the command that is
# killed. Both may be the command itself. `out` is the folder that all of them write to.
Scenario = collections.namedtuple('Scenario', 'name start command again')


def scenario(name, command, start=None, again=None):
    return Scenario(name, start, command, again or command)


def without_seconds(path):
    """The path of what is in an exported model, by how many are older than that one."""
    match = SECONDS.search(path)
    if not match:
        return path
    models = sorted(name for name in os.listdir(path[:match.start()]) if name.isdigit())
    return f'{path[:match.start()]}/{models.index(match.group(1))}{path[match.end(1):]}'


def contents(folder):
    """{path: bytes, None for a folder} of what has to be equal: event files and times are not."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            if name.startswith('events.'):
                continue
            found[os.path.relpath(without_seconds(path), folder)] = None if os.path.isdir(path) else re.sub(
                rb'(timestamps?): \S+', rb'\1', read(path)) if name == 'checkpoint' else read(path)
    return found


def write_idx(prefix, images):
    """`images` images as MNIST has them, with labels, none of them real."""
    pixels = bytes(i * i // 7 % 256 for i in range(images * 784))
    write(f'{prefix}-images', struct.pack('>iiii', 0x803, images, 28, 28) + pixels)
    write(f'{prefix}-labels', struct.pack('>ii', 0x801, images) + bytes(i % 10 for i in range(images)))


class SweepTest(ProgramTest):
    """For tests that begin with iris/ in self.dir and, when they ask for it, digits/ and mnist/."""

    def setUp(self):
        super().setUp()
        self.counts = collections.Counter(
            {name: 0 for name in ('kills', 'faults', 'lost', 'leaked', 'wrong codes', 'not byte-equal')})
        self.wrong = []

    # ---- Commands ----

    @staticmethod
    def train_iris(steps, save, keep, *flags):
        return ('train', '--config=iris/run.textproto', '--model_dir=out/new/model',
                f'--max_steps={steps}', '--train_batch_size=16', f'--keep_checkpoint_max={keep}',
                f'--save_checkpoints_steps={save}', '--set', 'tpu_config.iterations_per_loop=5', *flags)

    def train_digits(self, steps, save, keep):
        if not os.path.exists(self.path('digits')):
            shutil.copytree(DIGITS, self.path('digits'))
        return ('train', '--config=digits/run.textproto', '--model_dir=out/model',
                f'--max_steps={steps}', f'--keep_checkpoint_max={keep}',
                f'--save_checkpoints_steps={save}', '--set',
                f'tpu_config.iterations_per_loop={save}')

    def train_mnist(self, steps, save, keep, model_dir='out/model'):
        images, batch = 256, 16
        if not os.path.exists(self.path('mnist')):
            shutil.copytree(MNIST, self.path('mnist'))
            write_idx(self.path('mnist', 'some'), images)
            self.succeed('convert', 'idx', 'mnist/some-images', 'mnist/some-labels',
                         '--output=mnist/train.tfrecord', '--shards=2')
        return ('train', '--config=mnist/run.textproto', f'--model_dir={model_dir}', '--set',
                f'train.epochs={steps * batch / images}', f'--train_batch_size={batch}',
                f'--keep_checkpoint_max={keep}', f'--save_checkpoints_steps={save}', '--set',
                f'tpu_config.iterations_per_loop={save}')

    def train_and_evaluate_iris(self, steps, *flags):
        verb, *rest = self.train_iris(steps, 1000, 2)
        return ('train_and_evaluate', *rest, '--steps_per_eval=5', '--set',
                'train_and_evaluate.exporter={ best { exports_to_keep: 1 } }', *flags)

    CONVERT_CSV = ('convert', 'csv', 'iris/iris_training.csv', '--skip_lines=1',
                   '--features=measures:float:0-3,label:int64:4', '--output=out/iris.tfrecord',
                   '--shards=2')

    def predict_iris(self, name):
        if not os.path.exists(self.path('model')):
            self.succeed(*self.iris('train', 'model', '--max_steps=5'))
        return self.iris('predict', 'model', f'--output=out/{name}')

    # ---- Runs ----

    def begin(self):
        """out/ as it is before the command."""
        shutil.rmtree(self.path('out'), ignore_errors=True)
        if os.path.exists(self.path('start')):
            shutil.copytree(self.path('start'), self.path('out'))
        else:
            os.mkdir(self.path('out'))

    def prepare(self, what):
        """Runs everything once without faults: self.before, self.done and self.after are what out/
        holds before the command, after it, and after `again`."""
        shutil.rmtree(self.path('start'), ignore_errors=True)
        self.begin()
        if what.start:
            self.succeed(*what.start)
            shutil.copytree(self.path('out'), self.path('start'))
        self.before = contents(self.path('out'))
        self.succeed(*what.command)
        self.done = contents(self.path('out'))
        self.succeed(*what.again)
        self.after = contents(self.path('out'))

    def calls(self, what, kinds):
        """All calls of the command; those of these kinds have their numbers, from 1."""
        self.begin()
        self.succeed(*what.command, env=watched(self.dir, log=self.path('log'), kinds=kinds))
        calls = read_log(self.path('log'))
        os.remove(self.path('log'))
        self.assertTrue(any(call.number > 0 for call in calls))
        return calls

    def step(self):
        """The latest checkpoint's step; -1 without one."""
        for model_dir in ('out/new/model', 'out/model'):
            if os.path.exists(self.path(model_dir)):
                return latest_step(self.path(model_dir))
        return -1

    @staticmethod
    def steps_named(calls, first):
        """[(call, step)] of the calls with a number, and the step that `checkpoint` names before it,
        which was `first` before them all."""
        named = []
        made = step = first
        for call in calls:
            if call.number > 0:
                named.append((call, step))
            saved = re.search(r'model\.ckpt-(\d+)\.index$', call.to or '')
            if call.kind == 'rename' and saved:
                made = int(saved.group(1))
            if call.kind == 'rename' and os.path.basename(call.to) == 'checkpoint':
                step = made
        return named

    def report(self, count, what, call, act, problem):
        self.counts[count] += 1
        path = ' -> '.join(os.path.relpath(path, self.dir) for path in (call.path, call.to) if path)
        self.wrong.append(f'{count}: {what.name}, {act} at {call.kind} {path} '
                          f'(number {call.number}): {problem}')

    @staticmethod
    def end_of(done):
        return f'{done.code} with {done.messages}'

    def compare(self, what, call, act, want):
        """Whether out/ holds what it should."""
        got = contents(self.path('out'))
        lost, leaked = sorted(want.keys() - got.keys()), sorted(got.keys() - want.keys())
        differs = sorted(path for path in want.keys() & got.keys() if want[path] != got[path])
        for count, paths in (('lost', lost), ('leaked', leaked), ('not byte-equal', differs)):
            if paths:
                self.report(count, what, call, act, ', '.join(paths))
        return got == want

    def expect_step(self, what, call, act, least):
        if self.step() < least:
            self.report('lost', what, call, act, f'step {self.step()} after {least}')

    def go_on(self, what, call, act):
        again = self.call(*what.again)
        if again.code != 0:
            self.report('wrong codes', what, call, act, f'the run after it: {self.end_of(again)}')
        self.compare(what, call, act, self.after)

    def finish_sweep(self):
        print(f'{self.id().split(".", 1)[-1]}: '
              + ', '.join(f'{count} {name}' for name, count in self.counts.items()), file=sys.stderr)
        if self.wrong:
            more = len(self.wrong) - SHOWN
            self.fail('\n'.join([f'{len(self.wrong)} wrong', *self.wrong[:SHOWN]]
                                + ([f'and {more} more'] if more > 0 else [])))

    # ---- Kills ----

    def kill_everywhere(self, what, acts=('kill',)):
        """SIGKILL before ('kill') or after ('killed') each call that changes something."""
        self.prepare(what)
        calls = self.calls(what, KILL_KINDS)
        self.begin()
        for call, step in self.steps_named(calls, self.step()):
            for act in acts:
                self.begin()
                done = self.call(*what.command, env=watched(self.dir, kinds=KILL_KINDS,
                                                            at=call.number, act=act))
                self.assertEqual(done.code, -signal.SIGKILL, f'{what.name} {call}: {done}')
                self.counts['kills'] += 1
                self.expect_step(what, call, act, step)
                self.go_on(what, call, act)

    # ---- Faults ----

    def fail_everywhere(self, what, kinds, acts):
        """Each call of these kinds in turn; an act is one of FILE_CALLS_DO, its error by name."""
        self.prepare(what)
        calls = self.calls(what, kinds)
        self.begin()
        start = self.step()
        first_writes = self.first_writes(calls)
        for call, step in self.steps_named(calls, start):
            for act in acts:
                self.begin()
                done = self.call(*what.command, env=watched(
                    self.dir, kinds=kinds, at=call.number, act=self.numbered(act)))
                self.counts['faults'] += 1
                # A run that fails before its first loop leaves everything as it was.
                undone = call.number <= first_writes
                self.judge(what, call, act, done, undone)
                self.expect_step(what, call, act, start if undone else step)
                self.go_on(what, call, act)

    @staticmethod
    def numbered(act):
        """"fail EIO" -> "fail 5"."""
        name = act.split()[-1]
        return act.replace(name, str(getattr(errno, name))) if hasattr(errno, name) else act

    @staticmethod
    def first_writes(calls):
        """How many numbers the calls have with which a training begins: the last is the second
        write to the event file, the start of the session."""
        writes = [at for at, call in enumerate(calls)
                  if call.kind == 'write' and os.path.basename(call.path).startswith('events.')]
        return max((call.number for call in calls[:writes[1] + 1]), default=0) if writes else 0

    def judge(self, what, call, act, done, undone):
        harmless = act in HARMLESS
        if done.code == 0 and (harmless or call.kind not in TOLD_KINDS):
            # What cannot be removed is left to the next start.
            if call.kind != 'unlink':
                self.compare(what, call, act, self.done)
            return
        codes = READ_CODES if call.kind in READ_KINDS else [74]
        if harmless or done.code not in codes or len(done.messages) != 1:
            self.report('wrong codes', what, call, act,
                        f'want {[0] if harmless else codes}, got {self.end_of(done)}')
        got = contents(self.path('out'))
        if undone and got != self.before:
            changed = {path for path in got.keys() | self.before.keys()
                       if path not in got or path not in self.before or got[path] != self.before[path]}
            self.report('leaked', what, call, act, f'changed before the first loop: {sorted(changed)}')
        left = [path for path in got if LEFTOVER.search(path)]
        if left:
            self.report('leaked', what, call, act, ', '.join(left))
