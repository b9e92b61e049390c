"""A line, y = 2 x + 1, for the tests in this folder: the smallest model that trains, and what a run of it
leaves, read from its files."""
import glob
import json
import os
import re
import shutil
import struct
import sys

sys.path.append(os.path.abspath('tests/e2e'))

from program import ProgramTest, read, write

CORES = 8
CONFIG = '''
model_dir: "model"
train_batch_size: 16
eval_batch_size: 16
predict_batch_size: 16
save_checkpoints_steps: 1
keep_checkpoint_max: 0
save_summary_steps: 1
transformation_func { name: "parse" transform {
  decode_csv { column { name: "x" shape: 1 } column { name: "y" shape: 1 } } } }
train { input {
  source { text_line { file: "rows.csv" } } transform { apply { transformation_func: "parse" } }
  transform { repeat {} } transform { batch { drop_remainder: true } } } }
evaluate { input {
  source { text_line { file: "rows.csv" } } transform { apply { transformation_func: "parse" } } } }
predict { input {
  source { text_line { file: "rows.csv" } } transform { apply { transformation_func: "parse" } } } }
model {
  name: "line"
  feature { name: "x" shape: 1 }
  label { name: "y" shape: 1 }
  layer { name: "dense" dense { units: 1 kernel_initializer { zeros {} } } }
  head { regression { logits: "dense" label: "y" } }
  optimizer { gradient_descent {} learning_rate { constant: 0.25 } cross_shard {} }
}
'''
# What evaluates and predicts by a loss and a prediction of the model's own, without a head.
# Of the model's head, and the loss.
HEAD_METRICS = ('loss', 'average_loss', 'label/mean', 'mean_absolute_error', 'prediction/mean',
           'root_mean_squared_error', 'r2_score')
NO_HEAD = ('--unset', 'model.head', '--set', 'model.loss+={ name: "squares" mean_squared_error '
           '{ labels: "y" predictions: "dense" } }', '--set', 'model.prediction+={ name: "dense" }')
TYPES = {'float32': 'f', 'int64': 'q'}


def x_of(row):
    """From -1 to 0.875, of few bits: bf16 does not round it."""
    return row % 16 / 8 - 1


def loops_of(steps):
    """Flags of loops that long: steps, or a time."""
    return ('--set', f'tpu_config.iterations_per_loop="{steps}"')


class LineTest(ProgramTest):
    """run.textproto and rows.csv are in the test's folder."""

    def setUp(self):
        super().setUp()
        write(self.path('run.textproto'), CONFIG)
        self.write_rows(96)

    def write_rows(self, count, x=x_of):
        write(self.path('rows.csv'), ''.join(f'{x(row)},{2 * x(row) + 1}\n' for row in range(count)))

    def arguments(self, verb, *flags):
        return (verb, '--config=run.textproto', *flags)

    def run_verb(self, verb, *flags):
        """The objects that a verb prints."""
        done = self.succeed(*self.arguments(verb, *flags))
        return [json.loads(line) for line in done.out.splitlines()]

    def train(self, *flags):
        [result] = self.run_verb('train', *flags)
        return result

    def evaluate(self, *flags):
        [result] = self.run_verb('evaluate', *flags)
        return result

    def predict(self, *flags, key='predictions'):
        """The one value of `key` in each row."""
        return [row[key][0] for row in self.run_verb('predict', *flags)]

    def refuse(self, verb, *flags, code=2, files=('iris', 'rows.csv', 'run.textproto')):
        """The messages of a call that ends with `code` and leaves nothing but `files`."""
        done = self.call(*self.arguments(verb, *flags))
        self.assertEqual((done.code, done.out), (code, ''), str(done))
        self.assertTrue(done.messages, str(done))
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(files), str(done))
        return done.messages

    def refuse_once(self, pattern, verb, *flags, **options):
        """The same, of one message that has `pattern`."""
        messages = self.refuse(verb, *flags, **options)
        self.assertEqual(len(messages), 1, messages)
        self.assertRegex(messages[0], pattern)

    def effective(self, *flags):
        """{path: (value, origin)} of the scalars that the verb config prints."""
        values, messages = {}, []
        for line in self.succeed(*self.arguments('config', *flags)).out.splitlines():
            words = line.split('  # ')
            field = words[0].strip()
            if field.endswith('{'):
                messages.append(field[:-1].strip())
            elif field == '}':
                messages.pop()
            elif ': ' in field:
                name, value = field.split(': ', 1)
                values['.'.join([*messages, name])] = (value, words[-1])
        return values

    def fed(self, verb, *flags):
        """[{features of the core's batch} for each core] for each step, as --dump_infeed tells; of a batch
        the first four rows. `rows` is how many there are."""
        folder = self.path('fed')
        self.succeed(*self.arguments(verb, f'--dump_infeed={folder}', *flags))
        [name] = os.listdir(folder)
        steps = []
        for line in read(os.path.join(folder, name)).splitlines():
            entry = json.loads(line)
            if entry['core'] == 0:
                steps.append([])
            self.assertEqual((entry['step'] - len(steps), entry['core']), (0, len(steps[-1])), line)
            steps[-1].append({'rows': entry['rows'], **entry['features']})
        shutil.rmtree(folder)
        return steps

    # ---- what a run leaves ----

    def saved(self, model_dir='model'):
        """The steps of the checkpoints in a folder, ascending."""
        found = glob.glob(self.path(model_dir, 'model.ckpt-*.index'))
        return sorted(int(re.search(r'-(\d+)\.index$', path).group(1)) for path in found)

    def listed(self, model_dir='model'):
        """The steps that the file `checkpoint` lists, in its order."""
        with open(self.path(model_dir, 'checkpoint'), encoding='utf-8') as file:
            return [int(step) for step in
                    re.findall(r'^all_model_checkpoint_paths: "model\.ckpt-(\d+)"$', file.read(), re.M)]

    def scalars(self, folder='model'):
        """{tag: [(step, value), ...]} of the event files of a folder, in their order."""
        found = {}
        for path in sorted(glob.glob(self.path(folder, 'events.out.tfevents.*'))):
            for line in self.succeed('inspect', path, '--format=json').out.splitlines():
                event = json.loads(line)
                if event['kind'] == 'scalar':
                    found.setdefault(event['tag'], []).append((event['step'], event['value']))
        return found

    def steps_of(self, tag, folder='model'):
        return [step for step, _ in self.scalars(folder).get(tag, [])]

    def tensors(self, step, model_dir='model'):
        """{name: numbers in row-major order} of a checkpoint: its one shard holds the tensors, of which
        `inspect` shows types and bytes, one behind the other in the order of their names."""
        prefix = self.path(model_dir, f'model.ckpt-{step}')
        with open(prefix + '.data-00000-of-00001', 'rb') as file:
            data = file.read()
        found, offset = {}, 0
        for line in self.succeed('inspect', prefix, '--format=json').out.splitlines():
            tensor = json.loads(line)
            if tensor['dtype'] in TYPES:
                letter = TYPES[tensor['dtype']]
                count = tensor['bytes'] // struct.calcsize(letter)
                found[tensor['name']] = list(struct.unpack_from(f'<{count}{letter}', data, offset))
            offset += tensor['bytes']
        self.assertEqual(offset, len(data))
        return found
