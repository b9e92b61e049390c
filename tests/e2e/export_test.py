"""tpurun export: what it writes where, what it refuses, and that a number is never half a model."""
import os
import re
import signal
import unittest

from file_calls import read_log, watched
from program import ProgramTest, read, tree, write

KILL_KINDS = ['create', 'fsync', 'rename', 'unlink', 'mkdir']
SAVED_MODEL = ['saved_model.pb', 'variables/variables.data-00000-of-00001',
               'variables/variables.index']
BOTH = '--export_format=saved_model,onnx'


class ExportTest(ProgramTest):

    def setUp(self):
        super().setUp()
        self.succeed(*self.iris('train', 'model', '--max_steps=5', '--train_batch_size=16'))

    def export(self, *flags, **options):
        return self.call(*self.iris('export', 'model', '--output=out', *flags), **options)

    def numbers(self, base='out'):
        """{folder below base named by a number: {file: bytes}}."""
        found = {}
        for root, _, files in os.walk(self.path(base)):
            path = os.path.relpath(root, self.path(base))
            number = re.match(r'(?:onnx/)?[0-9]+(?=/|$)', path)
            if number:
                for name in files:
                    inner = os.path.relpath(os.path.join(path, name), number.group())
                    found.setdefault(number.group(), {})[inner] = read(os.path.join(root, name))
        return found

    def temporaries(self, base):
        return [name for root, folders, files in os.walk(self.path(base))
                for name in folders + files if name.startswith(('temp-', '.'))]

    def test_the_result(self):
        result = self.result(self.export(BOTH))
        self.assertEqual(list(result),
                         ['path', 'formats', 'saved_model_path', 'onnx_path', 'signatures', 'global_step'])
        self.assertEqual(result['formats'], ['saved_model', 'onnx'])
        self.assertEqual(result['saved_model_path'], result['path'])
        self.assertEqual(result['signatures'], ['serving_default', 'predict', 'processed'])
        self.assertEqual(result['global_step'], 5)
        self.assertRegex(result['path'], f'^{self.dir}/out/[0-9]{{10}}$')
        self.assertRegex(result['onnx_path'], f'^{self.dir}/out/onnx/[0-9]{{10}}$')
        files = self.numbers()
        self.assertEqual(sorted(files[os.path.relpath(result['path'], self.path('out'))]), SAVED_MODEL)
        self.assertEqual(list(files[os.path.relpath(result['onnx_path'], self.path('out'))]), ['model.onnx'])

    def test_a_cloud_tpu_takes_it(self):
        path = self.result(self.export())['path']
        done = self.succeed('check', f'--saved_model={path}')
        self.assertIn('refused ops: 0; warnings: 0', done.out)

    def test_model_dir_is_where_it_goes_by_default(self):
        done = self.succeed(*self.iris('export', 'model', '--export_format=onnx'))
        self.assertRegex(self.result(done)['path'], f'^{self.dir}/model/export/onnx/[0-9]{{10}}$')
        self.assertEqual(self.result(done)['onnx_path'], self.result(done)['path'])
        self.assertEqual(self.result(done)['signatures'], [])

    def test_without_an_input_to_predict_the_fields_are_those_of_the_other_inputs(self):
        wanted = self.result(self.export())['signatures']
        self.assertIn('processed', wanted)
        for unset in (('--unset', 'predict.input'),
                      ('--unset', 'predict.input', '--unset', 'evaluate')):
            self.assertEqual(self.result(self.export(*unset))['signatures'], wanted)

    def test_equal_exports_are_equal_and_none_replaces_another(self):
        before = tree(self.path('model'))
        for _ in range(3):
            self.assertEqual(self.export(BOTH).code, 0)
        self.assertEqual(tree(self.path('model')), before)
        files = self.numbers()
        self.assertEqual(len(files), 6)
        for kind in ('', 'onnx/'):
            of_kind = [content for name, content in files.items()
                       if name.startswith('onnx/') == bool(kind)]
            self.assertEqual(of_kind, of_kind[:1] * 3)

    def test_no_checkpoint(self):
        done = self.call(*self.iris('export', 'none'))
        self.assertEqual((done.code, done.messages),
                         (66, [f'tpurun: could not find a trained model in {self.dir}/none: train it first, '
                               'or name a --checkpoint']))
        self.assertFalse(os.path.exists(self.path('none')))

    def test_a_model_that_the_format_has_no_words_for_writes_nothing(self):
        done = self.export('--export_format=tflite')
        self.assertEqual(done.code, 2, done)
        self.assertIn('want "saved_model" or "onnx"', done.err)
        done = self.export('--set', 'export.export_to_cpu=false')
        self.assertEqual(done.code, 2, done)
        self.assertFalse(os.path.exists(self.path('out')))

    def test_the_vocabulary_of_a_text_goes_along(self):
        """As it lies beside the checkpoint, whatever the model is."""
        write(self.path('model/vocabulary.txt'), 'a\n\\n\n')
        result = self.result(self.export(BOTH))
        path = os.path.join(result['path'], 'assets')
        self.assertEqual(os.listdir(path), ['vocabulary.txt'])
        self.assertEqual(read(os.path.join(path, 'vocabulary.txt')), b'a\n\\n\n')
        self.assertIn(b'vocabulary\x12\x05a\n\\n\n', read(os.path.join(result['onnx_path'], 'model.onnx')))

    def test_a_vocabulary_that_cannot_be_read_writes_nothing(self):
        os.mkdir(self.path('model/vocabulary.txt'))
        done = self.export(BOTH)
        self.assertEqual((done.code, done.messages), (66, [
            f'tpurun: iris/run.textproto: cannot read {self.dir}/model/vocabulary.txt: Is a directory']))
        self.assertFalse(os.path.exists(self.path('out')))

    def test_a_checkpoint_of_another_model(self):
        done = self.export('--set', 'model.layer.hidden_1.dense.units=7')
        self.assertEqual(done.code, 2, done)
        self.assertIn('is of another model', done.err)
        self.assertFalse(os.path.exists(self.path('out')))

    def test_what_cannot_be_written(self):
        write(self.path('out'), 'a file')
        done = self.export()
        self.assertEqual((done.code, len(done.messages)), (74, 1), done)
        self.assertEqual(read(self.path('out')), b'a file')

    # A folder of its own for each call: a second export within a second would wait.

    def calls(self, kinds):
        os.mkdir(self.path('out'))
        done = self.export(BOTH, '--output=out/0',
                           env=watched(self.path('out'), log=self.path('log'), kinds=kinds))
        self.assertEqual(done.code, 0, done)
        self.whole = self.numbers('out/0')
        return [call for call in read_log(self.path('log')) if call.number > 0]

    def expect_whole(self, base):
        """Every number holds what an uninterrupted export wrote."""
        want = {name.startswith('onnx/'): files for name, files in self.whole.items()}
        for name, files in self.numbers(base).items():
            self.assertEqual(files, want[name.startswith('onnx/')], f'{base}/{name}')

    def test_killed_anywhere_no_number_is_half_a_model(self):
        calls = self.calls(KILL_KINDS)
        self.assertGreater(len(calls), 15)
        for call in calls:
            base = f'out/{call.number}'
            done = self.export(BOTH, f'--output={base}', env=watched(
                self.path('out'), kinds=KILL_KINDS, at=call.number, act='kill'))
            self.assertEqual(done.code, -signal.SIGKILL, f'{call}: {done}')
            self.expect_whole(base)
            # What is left goes with the next one.
            self.assertEqual(self.export(BOTH, f'--output={base}').code, 0)
            self.expect_whole(base)
            self.assertEqual(self.temporaries(base), [], call)

    def test_on_a_full_disk_nothing_is_left(self):
        kinds = ['create', 'write', 'fsync', 'mkdir']
        for call in self.calls(kinds):
            base = f'out/{call.number}'
            done = self.export(BOTH, f'--output={base}', env=watched(
                self.path('out'), kinds=kinds, at=call.number, act='break 28'))
            self.assertEqual((done.code, len(done.messages)), (74, 1), f'{call}: {done}')
            self.assertEqual(self.temporaries(base), [], call)
            self.expect_whole(base)
            # The first format may be whole, the one that failed is not there.
            self.assertFalse([name for name in self.numbers(base) if name.startswith('onnx/')], call)


if __name__ == '__main__':
    unittest.main()
