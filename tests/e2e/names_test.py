"""Names from outside: shown on one line without control characters, and never part of a path."""
import json
import os
import shutil
import struct

import records
from program import ProgramTest, read, tree, write

EVIL = 'zz\n\x1b[2Jevil'
ESCAPED = 'zz\\n\\033[2Jevil'
# Of as many bytes, and after every other name.
PLACEHOLDER = 'zzABCDEevil'


def varint(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value
    raise ValueError('no varint')


def rename_in_index(path, old, new):
    """Another name of the same length in a checkpoint's index of one block."""
    data = read(path)
    end = varint(data[-48:]) - 4  # of the block and its type; then comes its checksum
    block = data[:end].replace(old.encode(), new.encode())
    assert block != data[:end] and len(old) == len(new)
    write(path, block + struct.pack('<I', records.masked_crc(block)) + data[end + 4:])


class NamesTest(ProgramTest):

    def check(self, call, code, *messages):
        """The exit code, nothing but printable text and ends of lines, and each message a line."""
        self.assertEqual(call.code, code, str(call))
        for text in (call.out, call.err):
            found = [char for char in text
                     if char != '\n' and (not char.isprintable() or char == '\ufffd')]
            self.assertEqual(found, [], repr(text))
        self.assertEqual(call.messages, list(messages), str(call))

    def rejected(self, *arguments):
        """The one message of a call that gives 2."""
        done = self.call(*arguments)
        self.assertEqual(len(done.messages), 1, str(done))
        self.check(done, 2, done.messages[0])
        return done.messages[0]

    def test_other_alphabets_are_shown_as_they_are(self):
        rows = [f'{row % 7},{("grün", "röt")[row % 3 % 2]},{("süß", "日本")[row % 2]}' for row in range(100)]
        write(self.path('a.csv'), '\n'.join(['größe,farbe,art'] + rows) + '\n')
        self.succeed('init', 'csv', 'a.csv', '--output=model')
        self.succeed('train', '--config=model/run.textproto', '--max_steps=2')
        shown = self.succeed('config', '--config=model/run.textproto').out
        kept = read(self.path('model', 'model', 'run_config.pbtxt')).decode()
        for word in 'größe', 'grün', '日本':
            self.assertIn(f'"{word}"', shown)
            self.assertIn(f'"{word}"', kept)
        done = self.succeed('evaluate', '--config=model/run.textproto', '--set',
                            'transformation_func.0.transform.lookup.vocabulary_list=["gelb", "röt\\001"]')
        self.assertIn('transform lookup "farbe".vocabulary_list: trained with ["grün", "röt"], now ["gelb", '
                      '"röt\\001"]', done.warnings)

    def test_a_variable_of_a_checkpoint(self):
        layer = (f'model.layer+={{ name: "{PLACEHOLDER}" input: "features" trainable: false '
                 'dense { units: 1 } }')
        self.succeed(*self.iris('train', 'model', '--max_steps=1', '--set', layer))
        rename_in_index(self.path('model', 'model.ckpt-1.index'), PLACEHOLDER, EVIL)
        shutil.copytree(self.path('model'), self.path('copy'))
        shown = self.succeed('inspect', 'model')
        self.check(shown, 0)
        self.assertIn(f'\n{ESCAPED}/bias ', shown.out)
        shown = self.succeed('inspect', 'model', '--format=json')
        self.check(shown, 0)
        self.assertIn(f'{EVIL}/bias', [json.loads(line)['name'] for line in shown.out.splitlines()])
        logged = self.succeed(*self.iris('train', 'copy', '--max_steps=2', '--log_format=json'))
        resumed = self.succeed(*self.iris('train', 'model', '--max_steps=2'))
        self.check(resumed, 0)
        self.check(logged, 0)
        messages = [json.loads(line)['message'] for line in logged.err.splitlines()]
        for name, lines in ((ESCAPED, resumed.log), (EVIL, messages)):
            warning = f'the first is "{name}/bias": they are left out'
            self.assertEqual([warning in line for line in lines].count(True), 1, lines)

    def test_a_key_of_a_record(self):
        write(self.path('data.tfrecord'), records.frame(records.example(**{EVIL: [1]})))
        shown = self.succeed('inspect', 'data.tfrecord')
        self.check(shown, 0)
        self.assertEqual(shown.out.count('\n'), 3)
        row = json.loads(self.succeed('inspect', 'data.tfrecord', '--format=json').out)
        self.assertEqual(row['features'], {EVIL: 'int64[1]'})

    def test_words_of_the_command_line(self):
        config = '--config=iris/run.textproto'
        for arguments in ((EVIL,), ('help', EVIL), ('train', f'--{EVIL}=1'), ('train', config, EVIL),
                          ('train', config, f'--max_steps={EVIL}'), ('train', config, '--set', EVIL),
                          ('train', config, '--set', f'{EVIL}=1'),
                          ('train', config, '--set', f'train_batch_size={EVIL}'),
                          ('train', config, '--set', f'model.layer.{EVIL}.dense.units=1'),
                          ('train', config, '--unset', EVIL),
                          ('train', config, f'--log_format={EVIL}'), ('inspect', 'x', f'--format={EVIL}'),
                          ('convert', EVIL, 'x', '--output=o'), ('train', config, f'--v={EVIL}'),
                          ('convert', 'csv', 'x', f'--features={EVIL}', '--output=o'),
                          ('evaluate', config, '--model_dir=model', f'--name={EVIL}')):
            self.assertIn('zz\\n\\033[2', self.rejected(*arguments), arguments)

    def test_names_of_files(self):
        os.mkdir(self.path(EVIL))
        for path in (EVIL + '/x', EVIL + '\udcff\x7f\x9b'):
            for arguments in (('inspect', path), ('train', f'--config={path}'),
                              ('train', '--config=iris/run.textproto', f'--model={path}'),
                              ('convert', 'csv', path, '--features=x:float:0', '--output=o')):
                done = self.call(*arguments)
                self.check(done, 66, done.messages[0])
                self.assertIn(ESCAPED, done.messages[0])
        write(self.path(EVIL, 'run.textproto'), 'train_batch_sise: 1\nsteps: 2\n')
        done = self.call('config', f'--config={EVIL}/run.textproto')
        self.assertEqual([line.split(' in ')[0] for line in done.messages],
                         [f'tpurun: {ESCAPED}/run.textproto:1:1: unknown field "train_batch_sise"',
                          f'tpurun: {ESCAPED}/run.textproto:2:1: unknown field "steps"'])
        write(self.path(EVIL, 'rows.csv'), '1\nx\x1b\x7f\x9b\n')
        convert = ('convert', 'csv', f'{EVIL}/rows.csv', '--features=x:float:0')
        done = self.call(*convert, '--output=o')
        self.check(done, 65, done.messages[0])
        write(self.path('rows.csv'), '1\n')
        for name in (EVIL + '.tfrecord', '\udcff'):
            done = self.succeed('convert', 'csv', 'rows.csv', '--features=x:float:0', f'--output={name}')
            self.check(done, 0)

    def test_a_model_dir(self):
        for log_format in ('text', 'json'):
            model_dir = f'{EVIL}.{log_format}'
            done = self.succeed(*self.iris('train', model_dir, '--max_steps=1',
                                           f'--log_format={log_format}'))
            self.check(done, 0)
            self.assertEqual(self.result(done)['checkpoint'], self.path(model_dir, 'model.ckpt-1'))
        shown = self.succeed(*self.iris('config', EVIL))
        self.check(shown, 0)
        self.assertIn(f'# command line: --model_dir={ESCAPED}\n', shown.out)

    def test_values_of_a_configuration(self):
        text = read(self.path('iris/run.textproto')).decode()
        for old, new in (('name: "parse"', f'name: "{ESCAPED}"'),
                         ('evaluate {', f'evaluate {{ name: "{ESCAPED}"'),
                         ('train_batch_size: 128', 'train_batch_size: "a\nb\x1b"')):
            self.assertIn(old, text)
            write(self.path('iris/evil.textproto'), text.replace(old, new, 1))
            done = self.call('train', '--config=iris/evil.textproto', '--model_dir=model')
            self.assertEqual(done.code, 2, str(done))
            self.assertTrue(all(line.startswith('tpurun: iris/evil.textproto:')
                                for line in done.messages), str(done))
            self.check(done, 2, *done.messages)

    def test_an_evaluation_stays_in_model_dir(self):
        self.succeed(*self.iris('train', 'deep/model', '--max_steps=1'))
        before = tree(self.dir)
        for name in ('../../x', '..', '/x', 'a/b', 'a b', EVIL):
            written = json.dumps(name).replace('\\u001b', '\\033')
            done = self.call(*self.iris('evaluate', 'deep/model', '--set', f'evaluate.0.name={written}'))
            shown = json.dumps(name).replace('\\u001b', '\\033')
            self.assertEqual(len(done.messages), 1, str(done))
            self.check(done, 2, done.messages[0])
            self.assertIn(f'evaluate[0].name: got the name {shown}, want letters, digits and _ . -',
                          done.messages[0])
        self.assertEqual(tree(self.dir), before)
        named = self.succeed(*self.iris('evaluate', 'deep/model', '--set', 'evaluate.0.name=x.1-b_c'))
        self.check(named, 0)
        self.assertIn('eval_x.1-b_c', os.listdir(self.path('deep/model')))
