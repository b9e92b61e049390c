"""A power cut at any moment leaves what was reported or named: data is synced before it has a name
that counts, and the name before anything relies on it."""
import os
import re
import shutil
import unittest

from file_calls import CHANGES, read_log, watched
from program import ProgramTest

DATA = '.data-00000-of-00001'
TEMPORARY = re.compile(r'\.tempstate\d+$')


class File:
    """What is in a file, and whether all of it survives."""

    def __init__(self):
        self.bytes, self.synced = b'', False


class Disk:
    """A folder as a power cut may leave it: of a name that was given, changed or removed since its
    folder's last fsync, any of the states in between may be found; of a file written to since its
    last fsync, any content."""

    def __init__(self, root):
        self.root = root
        self.states = {}  # {path: [File, None for no file, or a str for a folder; the last is now's]}

    def now(self, path):
        return self.states.get(path, [None])[-1]

    def files(self):
        return {path for path in self.states if isinstance(self.now(path), File)}

    def survives(self, path):
        """Whether the file is certain to be found, as it is now."""
        states = self.states.get(path, [None])
        if len(states) > 1 or not isinstance(states[0], File) or not states[0].synced:
            return False
        return self.folder_survives(os.path.dirname(path))

    def folder_survives(self, path):
        return path == self.root or (len(self.states.get(path, [None, None])) == 1 and
                                     self.folder_survives(os.path.dirname(path)))

    def change(self, path, state):
        self.states.setdefault(path, [None]).append(state)

    def apply(self, call):
        if call.result < 0:
            return
        if call.kind == 'create':
            self.create(call)
        elif call.kind == 'write':
            file = self.now(call.path)
            file.bytes, file.synced = file.bytes + call.bytes, False
        elif call.kind == 'fsync':
            self.fsync(call.path)
        elif call.kind in ('rename', 'link'):
            self.change(call.to, self.now(call.path))
            if call.kind == 'rename':
                self.change(call.path, None)
        elif call.kind in ('unlink', 'rmdir'):
            self.change(call.path, None)
        elif call.kind == 'mkdir':
            self.change(call.path, 'folder')
        else:
            raise AssertionError(f'no rule for {call}')

    def create(self, call):
        file = self.now(call.path)
        if file is None:
            self.change(call.path, File())
        elif call.detail & os.O_TRUNC:
            file.bytes, file.synced = b'', False
        elif not call.detail & os.O_APPEND:
            raise AssertionError(f'no rule for writing into the middle: {call}')

    def fsync(self, path):
        if isinstance(self.now(path), File):
            self.now(path).synced = True
            return
        for name, states in self.states.items():
            if os.path.dirname(name) == path:
                del states[:-1]


class DurabilityTest(ProgramTest):

    def start_empty(self):
        shutil.rmtree(self.path('out'), ignore_errors=True)
        os.mkdir(self.path('out'))

    def calls(self, *arguments):
        """Runs the program; its calls that change files below out/, its standard output there too."""
        with open(self.path('out', 'stdout'), 'wb') as stdout:
            self.succeed(*arguments, stdout=stdout,
                         env=watched(self.path('out'), log=self.path('log')))
        calls = [call for call in read_log(self.path('log')) if call.kind in CHANGES]
        os.remove(self.path('log'))
        return calls

    def replay(self, calls, after_each):
        """Applies the calls; after_each(disk, call) says what is wrong. Returns the disk at the end."""
        disk = Disk(self.path('out'))
        disk.change(self.path('out', 'stdout'), File())
        for at, call in enumerate(calls):
            disk.apply(call)
            for wrong in after_each(disk, call):
                shown = [f'{done.kind} {done.path} {done.to or ""}' for done in calls[:at + 1]]
                self.fail('\n'.join([wrong, 'after', *shown]))
        return disk

    def unsafe_names(self, disk, call):
        """A name is given only to what is synced, and written under only by the event file."""
        if call.kind == 'rename' and not disk.now(call.to).synced:
            yield f'{call.to} renamed before its fsync'
        name = os.path.basename(call.path)
        if (call.kind in ('create', 'write') and not TEMPORARY.search(name) and
                not name.startswith('events.') and name != 'stdout'):
            yield f'{call.path} written under its final name'

    def reported_early(self, disk, call):
        """What standard output says was done is done."""
        if call.path != self.path('out', 'stdout'):
            return
        for path in disk.files():
            if path != call.path and not disk.survives(path):
                yield f'{path} reported before it is durable'

    def checkpoint_file(self, prefix, suffix=''):
        return os.path.join(self.path('out', 'model'), prefix + suffix)

    def torn_checkpoints(self, disk, call):
        """Whichever `checkpoint` a power cut leaves, both files of the latest in it are there."""
        if call.kind == 'rename' and call.to.endswith('.index'):
            if not disk.survives(call.to[:-len('.index')] + DATA):
                yield f'{call.to} before its data is durable'
        for state in disk.states.get(self.checkpoint_file('checkpoint'), []):
            if state is None:
                continue
            latest = re.match(rb'model_checkpoint_path: "(.*)"\n', state.bytes).group(1).decode()
            for suffix in ('.index', DATA):
                if not disk.survives(self.checkpoint_file(latest, suffix)):
                    yield f'`checkpoint` may name {latest}, and {suffix} may be gone'

    def unrecorded(self, disk, call):
        """Which checkpoint is written or deleted is on the disk before it happens."""
        written = call.to if call.kind == 'rename' else None
        deleted = call.path if call.kind == 'unlink' and call.result == 0 else None
        checkpoint = re.search(r'(model\.ckpt-\d+)\.(index|data-)[^.]*$', written or deleted or '')
        if not checkpoint:
            return
        pending = self.checkpoint_file('checkpoint.pending')
        key = 'model_checkpoint_path' if written else 'all_model_checkpoint_paths'
        if (not disk.survives(pending) or
                f'{key}: "{checkpoint.group(1)}"\n'.encode() not in disk.now(pending).bytes):
            yield f'{checkpoint.group(0)} before it is recorded'

    def expect_durable(self, calls, *more):
        rules = (self.unsafe_names, self.reported_early, *more)
        disk = self.replay(calls, lambda disk, call: (
            wrong for rule in rules for wrong in rule(disk, call)))
        # The log has seen all that is there.
        found = {os.path.join(root, name) for root, _, names in os.walk(self.path('out'))
                 for name in names}
        self.assertEqual(disk.files(), found)
        return disk

    def reports(self, calls):
        return sum(call.kind == 'write' and call.path == self.path('out', 'stdout')
                   for call in calls)

    def train(self, keep, steps):
        return self.calls(*self.iris('train', 'out/model', f'--keep_checkpoint_max={keep}',
                                     f'--max_steps={steps}', '--save_checkpoints_steps=5', '--set',
                                     'tpu_config.iterations_per_loop=5'))

    def test_checkpoints(self):
        for keep in (1, 2):
            with self.subTest(keep=keep):
                self.start_empty()
                calls = self.train(keep, 20) + self.train(keep, 30)
                self.expect_durable(calls, self.torn_checkpoints, self.unrecorded)
                self.assertEqual(self.reports(calls), 2)
                saved = [call.to for call in calls if call.kind == 'rename'
                         and call.to == self.checkpoint_file('checkpoint')]
                self.assertEqual(len(saved), 7)
                deleted = [call for call in calls if call.kind == 'unlink' and call.result == 0
                           and call.path.endswith('.index')]
                self.assertEqual(len(deleted), 7 - keep)

    def test_a_conversion(self):
        self.start_empty()
        calls = self.calls('convert', 'csv', 'iris/iris_training.csv', '--skip_lines=1',
                           '--features=measures:float:0-3,label:int64:4',
                           '--output=out/iris.tfrecord', '--shards=2')
        self.assertEqual(self.reports(calls), 1)
        disk = self.expect_durable(calls)
        for shard in range(2):
            self.assertTrue(disk.survives(self.path('out', f'iris.tfrecord-0000{shard}-of-00002')))

    def test_predictions(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=1'))
        for name in ('rows.jsonl', 'rows.tfrecord'):
            with self.subTest(name):
                self.start_empty()
                disk = self.expect_durable(
                    self.calls(*self.iris('predict', 'model', f'--output=out/{name}')))
                self.assertTrue(disk.survives(self.path('out', name)))


if __name__ == '__main__':
    unittest.main()
