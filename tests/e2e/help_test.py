"""help on the configuration: what it says can be typed, and the manual page is sound roff."""
import re
import shlex
import shutil
import subprocess
import unittest

import program
from program import ProgramTest


class HelpTest(ProgramTest):

    def page(self, *arguments):
        done = self.succeed('help', *arguments)
        self.assertEqual(done.err, '')
        return done.out

    def test_what_set_shows_can_be_typed(self):
        examples = re.findall(r"^  .*?(--(?:un)?set (?:'.*'|\S+))$", self.page('set'),
                              flags=re.MULTILINE)
        self.assertGreaterEqual(len(examples), 12)
        for example in examples:
            flag, edit = shlex.split(example)
            done = self.succeed('config', '--config=iris/run.textproto', flag, edit)
            if flag == '--set':
                self.assertIn('# command line: --set ', done.out)

    def test_paths_of_fields_can_be_set(self):
        """Those of numbers outside of lists: each is taken or refused as a value, not as a path."""
        tried = 0
        for path in re.findall(r'^([a-z_.]+): (?:u?int\d+|float|double)\b', self.page('fields'),
                               flags=re.MULTILINE):
            done = self.call('config', '--config=iris/run.textproto', '--set', f'{path}=1')
            self.assertEqual(done.code, 0, str(done))
            tried += 1
            if tried == 25:
                break
        self.assertEqual(tried, 25)

    def test_names(self):
        self.assertIn('\ntpurun help Train shows what train { ... }', self.page('train'))
        self.assertIn('What `train` does.\n', self.page('Train'))
        self.assertIn('a field of Layer\n  dense: Dense\n', self.page('dense'))
        self.assertIn('max_steps: int64', self.page('train.max_steps'))
        self.assertIn('\n  adam ', self.page('optimizers'))
        self.assertIn('\n75    a signal (SIGINT, SIGTERM, ', self.page('exit_codes'))
        for name, found in (('timeout', 'tpurun evaluate\n  --timeout=SECONDS'),
                            ('dump-infeed', 'tpurun train\n  --dump_infeed=DIR'),
                            ('tf_config', 'eval_session_master'), ('sliced', 'SLICED')):
            self.assertIn(found, self.page(name), name)
        for name, near in (('denze', 'dense'), ('layer', 'layers'), ('trian', 'train')):
            done = self.call('help', name)
            if name == 'layer':  # a field of the ModelSpec
                self.assertEqual(done.code, 0, str(done))
                continue
            self.assertEqual((done.code, done.out), (2, ''), str(done))
            self.assertIn(f'did you mean "{near}"?', done.messages[0])
        self.assertEqual(self.call('help', 'zzzzzz').messages,
                         ['tpurun: no verb, page, topic or name of the configuration is called "zzzzzz"; '
                          'see tpurun help'])

    def test_other_words_lead_to_pages(self):
        for words, found in ((['loss'], 'a field of ModelSpec\n  loss: repeated Loss'),
                             (['loss'], '\nsee also: tpurun help losses\n'),
                             (['metric'], '\nsee also: tpurun help metrics\n'),
                             (['lr'], 'see tpurun help schedules, tpurun help learning_rate\n\nSchedule\n'),
                             (['csv'], 'see tpurun help decode_csv, tpurun help text_line'),
                             (['gpu'], 'There is no GPU'), (['cuda'], 'tpurun help use_tpu'),
                             (['learning', 'rate'], 'a field of Optimizer\n  learning_rate: Schedule'),
                             (['batch norm'], 'tpurun help batch_normalization'),
                             (['Datasets'], 'see tpurun help sources, tpurun help transforms'),
                             (['checkpoint'], 'tpurun help keep_checkpoint_max'),
                             (['tf.keras.layers.LSTM'], 'a field of Layer\n  lstm: Lstm'),
                             (['BatchNormalization'], 'tf.layers.batch_normalization over'),
                             (['embeddings'], 'a field of Layer\n  embedding: Embedding'),
                             (['reduce_max'], 'an op (tpurun help op)\nreduce_max  (operands: 1)'),
                             (['unsupported ops'], 'see tpurun help tpu_ops'),
                             (['tpu ops'], '\nAddN  (yes)\n      T=number; here: layer add of all'),
                             (['ReduceMax'], 'an op (tpurun help op)\nreduce_max  (operands: 1)')):
            with self.subTest(words):
                self.assertIn(found, self.page(*words))

    def test_names_of_python_are_found_in_the_tables(self):
        for name, found in (
                ('DepthwiseConv1D', 'in tpurun help migrating_from_keras:\n'
                                    '  `DepthwiseConv1D`, `SeparableConv1D`\n      here: a `conv1d` with'),
                ('tf.keras.layers.MaxPool2D', '\n      here: `max_pooling1d`, `max_pooling2d`\n'),
                ('tf.keras.callbacks.ReduceLROnPlateau', 'a schedule, which depends on the step alone'),
                ('sklearn.metrics.accuracy_score', '\n      `accuracy`\n'), ('clipvalue', '`clip_by_value`'),
                ('sample_weight', '`weights` of the head'), ('params', '`--set PATH=VALUE`'),
                ('model.fit', '`train --epochs=3`, '), ('tf.data.TFRecordDataset', 'the sources `tfrecord`'),
                ('train_test_split', '`init` holds out every tenth example'),
                # A page and a row.
                ('Linear', '  `Dense`\n      here: `dense`\n'), ('nn.Linear', '\n\nActivation\n'),
                ('Precision', '`Precision`, `Recall`\n      `precision`, `recall`; with'),
                # A paragraph.
                ('PReLU', '`GaussianNoise`, `PReLU`, `Dot`'),
                ('Nadam', '`Nadam` and `Ftrl` do not exist.\n'),
                ('tf.train.AdamOptimizer', '\n      `adam`, `adamw`, `lamb`\n'),
                # A page alone.
                ('tf.layers.dense', 'a field of Layer\n  dense: Dense\n'),
                ('tf.keras.layers.Dense', 'Dense\ntf.layers.dense. '),
                ('keras.callbacks.EarlyStopping', 'EarlyStopping\nEnds a training when'),
                ('tf.data.Dataset.shuffle', 'a field of Transform\n  shuffle: Shuffle\n')):
            self.assertIn(found, self.page(name), name)
        for name in 'tf.layers.dense', 'Dense', 'EarlyStopping', 'shuffle':
            self.assertNotIn('in tpurun help', self.page(name))
        self.assertEqual(self.call('help', 'model.layr').code, 2)

    def test_search(self):
        page = self.page('--search=batch norm')
        self.assertRegex(page, r'(?m)^layer +batch_normalization +Mean 0 and variance 1 over the batch\.$')
        self.assertRegex(page, r'(?m)^op +batch_norm +\(x, mean')
        self.assertRegex(self.page('--search=StridedSliceGrad'), r'(?m)^topic +tpu_ops ')
        for word in ('zzzzzz', ''):
            done = self.call('help', f'--search={word}')
            self.assertEqual((done.code, done.messages), (2, [
                f'tpurun: --search: nothing has "{word}" in its name or text; see tpurun help']))
        self.assertEqual(self.call('help', 'qqq of').messages, [
            'tpurun: no verb, page, topic or name of the configuration is called "qqq_of"; '
            'see tpurun help'])
        self.assertEqual(self.call('help', 'variance').messages, [
            'tpurun: no verb, page, topic or name of the configuration is called "variance"; '
            'tpurun help --search=variance lists where it stands'])

    def test_exit_codes_are_those_of_the_program(self):
        codes = {int(code) for code in re.findall(r'^(\d+) ', self.page('exit_codes'),
                                                  flags=re.MULTILINE)}
        for code, arguments in ((2, ['trian']), (66, ['config', '--config=none']),
                                (66, self.iris('evaluate', 'm', '--checkpoint=none')),
                                (65, ['inspect', 'iris/iris_test.csv'])):
            self.assertEqual(self.call(*arguments).code, code, arguments)
            self.assertIn(code, codes)

    @unittest.skipUnless(shutil.which('groff'), 'there is no groff')
    def test_the_manual_page(self):
        roff = self.page('--man')
        done = subprocess.run(['groff', '-man', '-ww', '-Tutf8', '-P-c', '-rLL=200n'],
                              input=roff.encode(), capture_output=True,
                              timeout=program.TIMEOUT_SECONDS)
        self.assertEqual((done.returncode, done.stderr), (0, b''), done.stderr)
        # Bold and the like are overstrikes.
        text = re.sub('.\b', '', done.stdout.decode())
        for want in ('TPURUN(1)', 'NAME\n', 'EXIT STATUS', '--worker_threads=N', '--set PATH=VALUE',
                     "--set 'predict.keys=[\"class_ids\", \"logits\"]'", 'evaluate', 'exit_codes'):
            self.assertIn(want, text)
        for line in self.page('set').splitlines():
            self.assertIn(line.strip(), text)


if __name__ == '__main__':
    unittest.main()
