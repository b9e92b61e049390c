"""Every case of bad_input.txt: one clear message, the exit code, and nothing touched.

A case is a title, shell commands, and what the last of them does:

    == TITLE
    $ COMMAND           run in a folder that holds iris/ (testdata/iris), trained/ (its model_dir
    > MORE OF IT        after 5 steps) and stateful/ (STATEFUL, its model_dir too); `tpurun` is the
                        program, `without_permission PATH ...` runs it while nobody may read or
                        write PATH
    exit CODE
    MESSAGE             all of standard error but log lines; the folder is printed as DIR
    changed: PATH...    what differs afterwards, times and host left out; nothing when absent

bazel run //tests/e2e:bad_input_test -- --update_goldens
writes what the program does now; read every line of the difference.
"""
import os
import re
import subprocess
import sys

import program

TABLE = 'tests/e2e/bad_input.txt'
ENVIRONMENT = """
tpurun() { timeout $LIMIT "$TPURUN" "$@"; }
without_permission() {
  local path=$1 mode code
  mode=$(stat -c %a "$path") && chmod 0 "$path"
  timeout $LIMIT $UNPRIVILEGED "$TPURUN" "${@:2}"
  code=$?
  chmod "$mode" "$path" && return $code
}
"""
# Root may read and write everything, but for two capabilities.
UNPRIVILEGED = 'setpriv --bounding-set=-dac_override,-dac_read_search' if os.geteuid() == 0 else ''

# A character model that carries its state.
STATEFUL = {
    'text.txt': 200 * 'abcdefgh',
    'run.textproto': """model_file: "model.textproto"
train_batch_size: 16
eval_batch_size: 16
train {
  max_steps: 5
  input {
    source { text { file: "text.txt" sequence_length: 4 streams: 16 } }
    transform { repeat {} }
    transform { batch { drop_remainder: true } }
  }
}
evaluate { input { source { text { file: "text.txt" sequence_length: 4 streams: 16 } } } }
predict { generate { start_string: "abc" num_generate: 10 } }
""",
    'model.textproto': """feature { name: "text" dtype: INT32 shape: 4 }
label { name: "next" dtype: INT32 shape: 4 }
layer { name: "table" embedding { input_dim: 8 output_dim: 4 } }
layer { name: "lstm" lstm { units: 8 return_sequences: true stateful: true } }
layer { name: "logits" dense { units: 8 } }
head { sequence { logits: "logits" label: "next" } }
optimizer { adam {} learning_rate { constant: 0.01 } }
""",
}


class Case:

    def __init__(self, title):
        self.title = title
        self.commands = []
        self.code = 0
        self.message = []
        self.changed = []

    def text(self):
        lines = [f'== {self.title}']
        for command in self.commands:
            lines.append('$ ' + command.replace('\n', '\n> '))
        lines.append(f'exit {self.code}')
        lines += self.message
        if self.changed:
            lines.append('changed: ' + ' '.join(self.changed))
        return '\n'.join(lines) + '\n'


def parse(text):
    """(what stands before the first case, the cases)."""
    head, cases = [], []
    for line in text.splitlines():
        if line.startswith('== '):
            cases.append(Case(line[3:]))
        elif not cases:
            head.append(line)
        elif line.startswith('$ '):
            cases[-1].commands.append(line[2:])
        elif line.startswith('> '):
            cases[-1].commands[-1] += '\n' + line[2:]
        elif line.startswith('exit '):
            cases[-1].code = int(line[5:])
        elif line.startswith('changed: '):
            cases[-1].changed = line[9:].split()
        elif line:
            cases[-1].message.append(line)
    return head, cases


def without_time(path):
    """The path, with the parts of an event file's name that change from run to run left out."""
    return re.sub(r'events\.out\.tfevents\.\S+', 'events.*', path)


def changes(before, after):
    paths = {path for path in {**before, **after} if before.get(path) != after.get(path)}
    return sorted({without_time(path) for path in paths})


class BadInputTest(program.ProgramTest):
    trained = {}  # model_dir: its files

    def setUp(self):
        super().setUp()
        os.mkdir(self.path('stateful'))
        for name, content in STATEFUL.items():
            program.write(self.path('stateful', name), content)
        self.train('trained', *self.iris('train', 'trained', '--max_steps=5'))
        self.train('stateful/model', 'train', '--config=stateful/run.textproto',
                   '--model_dir=stateful/model')

    def train(self, model_dir, *arguments):
        """Once; later tests get what it has made."""
        if model_dir not in BadInputTest.trained:
            self.succeed(*arguments)
            BadInputTest.trained[model_dir] = {
                name: content for name, (_, _, content) in program.tree(self.path(model_dir)).items()
            }
        os.makedirs(self.path(model_dir), exist_ok=True)
        for name, content in BadInputTest.trained[model_dir].items():
            program.write(self.path(model_dir, name), content)

    def shell(self, commands):
        environment = {**os.environ, 'TPURUN': program.BINARY, 'DIR': self.dir,
                       'UNPRIVILEGED': UNPRIVILEGED, 'LIMIT': str(program.TIMEOUT_SECONDS / 2)}
        return self.finish(
            subprocess.Popen(['bash', '-c', ENVIRONMENT + commands], cwd=self.dir, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE))

    def observe(self, case):
        """The case with what the program does."""
        seen = Case(case.title)
        seen.commands = case.commands
        if case.commands[:-1]:
            prepared = self.shell('set -e\n' + '\n'.join(case.commands[:-1]))
            self.assertEqual(prepared.code, 0, str(prepared))
        before = program.tree(self.dir)
        done = self.shell(case.commands[-1])
        self.assertEqual(done.out, '')
        seen.code = done.code
        seen.message = [line.replace(self.dir, 'DIR') for line in done.messages]
        seen.changed = changes(before, program.tree(self.dir))
        return seen

    def run_case(self, case):
        got, want = self.observe(case).text(), case.text()
        self.assertEqual(got, want, f'\ngot\n{got}\nwant\n{want}\nedit {TABLE}')


def update():
    path = os.path.realpath(TABLE)
    head, cases = parse(program.read(path).decode())
    texts = []
    for case in cases:
        test = BadInputTest()
        test.setUp()
        try:
            texts.append(test.observe(case).text())
        finally:
            test.doCleanups()
    program.write(path, '\n'.join(['\n'.join(head).strip() + '\n'] + texts))


def add_cases():
    titles = set()
    for case in parse(program.read(TABLE).decode())[1]:
        name = 'test_' + re.sub(r'\W+', '_', case.title)
        if name in titles:
            raise ValueError(f'{TABLE}: two cases are called "{case.title}"')
        titles.add(name)
        setattr(BadInputTest, name, lambda self, case=case: self.run_case(case))


if '--update_goldens' in sys.argv:
    update()
add_cases()
