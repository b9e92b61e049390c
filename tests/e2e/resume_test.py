"""A run goes on where it was, however its configuration and its files are named by then."""
import json
import os
import re
import shutil

from program import ProgramTest, checkpoint_files, latest_step, read, write

OLD = os.path.abspath('testdata/old_checkpoint')
HALF, END = 20, 45
FLAGS = ('--train_batch_size=16', '--set', 'tpu_config.iterations_per_loop=7')


class ResumeTest(ProgramTest):

    def train(self, *arguments, **options):
        return self.succeed('train', *arguments, *FLAGS, **options)

    def final(self, model_dir, step=END):
        self.assertEqual(latest_step(self.path(model_dir)), step)
        files = checkpoint_files(self.path(model_dir, f'model.ckpt-{step}'))
        self.assertEqual(len(files), 2)
        return files

    def whole(self, *flags, config='--config=iris/run.textproto'):
        """The checkpoint of a run that nothing breaks off."""
        self.train(config, '--model_dir=whole', f'--max_steps={END}', *flags)
        return self.final('whole')

    def half(self, *flags):
        self.train('--config=iris/run.textproto', '--model_dir=model', f'--max_steps={HALF}', *flags)


class SpellingTest(ResumeTest):

    def expect_the_same(self, *arguments, half=(), whole=None, **options):
        """A run with those arguments goes on with one of iris/run.textproto."""
        want = whole or self.whole(*half)
        self.half(*half)
        done = self.train(*arguments, f'--max_steps={END}', **options)
        self.assertEqual(self.result(done)['steps'], END - HALF)
        self.assertEqual(self.final('model'), want)

    def test_the_absolute_path(self):
        self.expect_the_same(f'--config={self.path("iris/run.textproto")}', '--model_dir=model')

    def test_another_spelling(self):
        self.expect_the_same('--config=./iris/../iris//run.textproto', '--model_dir=./model/')

    def test_another_folder(self):
        self.expect_the_same('--config=run.textproto', '--model_dir=../model',
                             cwd=self.path('iris'))

    def test_the_effective_configuration(self):
        self.expect_the_same('--config=model/run_config.pbtxt')

    def test_the_effective_configuration_from_elsewhere(self):
        self.expect_the_same(f'--config={self.path("model/run_config.pbtxt")}', cwd='/')

    def test_the_folder_alone(self):
        self.expect_the_same('--model_dir=model')

    def test_the_folder_alone_from_elsewhere(self):
        self.expect_the_same(f'--model_dir={self.path("model")}', cwd='/')

    def test_a_run_that_was_moved(self):
        want = self.whole()
        self.half()
        os.rename(self.path('model'), self.path('moved'))
        self.train('--model_dir=moved', f'--max_steps={END}')
        self.assertEqual(self.final('moved'), want)
        self.assertFalse(os.path.exists(self.path('model')))

    def test_data_that_was_moved_with_its_configuration(self):
        want = self.whole()
        self.half()
        os.rename(self.path('iris'), self.path('moved'))
        self.train('--config=moved/run.textproto', '--model_dir=model', f'--max_steps={END}')
        self.assertEqual(self.final('model'), want)

    def test_data_that_was_moved(self):
        want = self.whole()
        self.half()
        os.rename(self.path('iris', 'iris_training.csv'), self.path('moved.csv'))
        self.train('--model_dir=model', f'--max_steps={END}', '--set',
                   'train.input.source.text_line.file=moved.csv')
        self.assertEqual(self.final('model'), want)

    def test_files_named_one_by_one_instead_of_by_a_glob(self):
        self.split()
        glob = ('--set', 'train.input.source.text_line.file=part_*.csv')
        self.expect_the_same('--config=iris/run.textproto', '--model_dir=model', '--set',
                             'train.input.source.text_line.file=[./part_1.csv, part_2.csv]',
                             half=glob)

    def split(self):
        head, *rows = read(self.path('iris', 'iris_training.csv')).splitlines(keepends=True)
        write(self.path('part_1.csv'), head + b''.join(rows[:50]))
        write(self.path('part_2.csv'), head + b''.join(rows[50:]))


class ChangedInputTest(ResumeTest):

    def expect_refused(self, *wanted, flags=()):
        before = checkpoint_files(self.path('model', f'model.ckpt-{HALF}'))
        done = self.call('train', '--config=iris/run.textproto', '--model_dir=model',
                         f'--max_steps={END}', *FLAGS, *flags)
        self.assertEqual(done.code, 2, str(done))
        self.assertEqual(len(done.messages), 1, str(done))
        for text in (*wanted, f'{self.path("model")}/model.ckpt-{HALF}', '--allow_changed_input'):
            self.assertIn(text, done.messages[0])
        self.assertEqual(self.final('model', HALF), before)

    def change_a_byte(self, path, at):
        content = bytearray(read(path))
        content[at] = ord('7') if content[at] != ord('7') else ord('6')
        write(path, bytes(content))

    def test_a_changed_file_is_named_and_the_run_is_not_lost(self):
        self.half()
        path = self.path('iris', 'iris_training.csv')
        original = read(path)
        write(path, original + b'5.0,3.3,1.4,0.2,0\n')
        self.expect_refused('iris/iris_training.csv is not the file that was trained on',
                            f'got length and checksums {len(original) + 18} ',
                            f'want {len(original)} ')
        # With the file as it was the run goes on as if nothing had been.
        write(path, original)
        want = self.whole()
        self.train('--model_dir=model', f'--max_steps={END}')
        self.assertEqual(self.final('model'), want)

    def test_a_changed_byte_shows_at_both_ends(self):
        # More than twice 64 KiB.
        rows = b''.join(b'%d.%d,3.3,1.4,0.2,0\n' % (row % 8, row % 10) for row in range(9000))
        path = self.path('iris', 'iris_training.csv')
        for at in (2, -18):
            write(path, b'header\n' + rows)
            self.half()
            self.change_a_byte(path, 7 + at if at > 0 else at)
            self.expect_refused('iris/iris_training.csv')

    def test_a_file_more_or_less(self):
        self.half()
        write(self.path('more.csv'), read(self.path('iris', 'iris_test.csv')))
        self.expect_refused('the input has 2 files, it had 1', flags=(
            '--set', 'train.input.source.text_line.file+=more.csv'))

    def test_another_order(self):
        write(self.path('iris', 'b.csv'), read(self.path('iris', 'iris_test.csv')))
        order = 'train.input.source.text_line.file='
        self.half('--set', f'{order}[iris/iris_training.csv, iris/b.csv]')
        self.expect_refused('iris/b.csv was file 2 of 2', flags=(
            '--set', f'{order}[iris/b.csv, iris/iris_training.csv]'))

    def test_other_transforms(self):
        self.half()
        self.expect_refused('another input', flags=(
            '--set', 'train.input.transform.shuffle.buffer_size=7'))

    def test_another_seed_of_the_order(self):
        self.half()
        self.expect_refused('got tf_random_seed 77, want 1', flags=('--tf_random_seed=77',))

    def test_a_mended_file_goes_on_where_it_was(self):
        # Rows in the order of the file: the last is in step 8.
        streamed = ('--set', 'train.input.transform=[{ apply { transformation_func: "parse" } }]')
        want = self.whole(*streamed)
        path = self.path('iris', 'iris_training.csv')
        good = read(path)
        self.change_a_byte(path, -5)
        arguments = ('--config=iris/run.textproto', '--model_dir=model', *streamed)
        self.train(*arguments, '--max_steps=3')
        write(path, good)
        self.assertEqual(self.call('train', *arguments, f'--max_steps={END}', *FLAGS).code, 2)
        done = self.train(*arguments, f'--max_steps={END}', '--allow_changed_input')
        self.assertRegex(done.err, r'iris_training\.csv is not .*: going on where it was')
        self.assertEqual(self.final('model'), want)

    def test_a_changed_input_that_is_allowed_starts_from_its_beginning(self):
        self.half()
        path = self.path('iris', 'iris_training.csv')
        write(path, read(path) + b'5.0,3.3,1.4,0.2,0\n')
        arguments = ('--config=iris/run.textproto', '--model_dir=model', '--allow_changed_input')
        done = self.train(*arguments, f'--max_steps={END}')
        self.assertEqual(self.result(done)['steps'], END - HALF)
        self.assertRegex(done.err, r'belongs to another input.*: the input starts from its beginning')
        # The same command goes on from there: the file is now the checkpoint's.
        again = self.train(*arguments, f'--max_steps={END + 10}')
        self.assertNotIn('beginning', again.err)
        parts = self.final('model', END + 10)
        self.succeed(*self.iris('train', 'other', '--max_steps=1', *FLAGS))
        for suffix in ('index', 'data-00000-of-00001'):
            write(self.path(f'other/model.ckpt-{HALF}.{suffix}'),
                  read(self.path(f'model/model.ckpt-{HALF}.{suffix}')))
        write(self.path('other/checkpoint'), f'model_checkpoint_path: "model.ckpt-{HALF}"\n'
              f'all_model_checkpoint_paths: "model.ckpt-{HALF}"\n')
        self.train('--config=iris/run.textproto', '--model_dir=other', '--allow_changed_input',
                   f'--max_steps={END + 10}')
        self.assertEqual(self.final('other', END + 10), parts)


class FolderAloneTest(ResumeTest):
    """run_config.pbtxt of a model_dir is its configuration where no other is named."""

    def test_every_verb_takes_it(self):
        self.half()
        for verb in ('evaluate', 'predict', 'config'):
            want = self.succeed(verb, '--config=iris/run.textproto', '--model_dir=model', *FLAGS)
            got = self.succeed(verb, '--model_dir=model')
            if verb != 'config':
                self.assertEqual(got.out, want.out)
        exported = self.result(self.succeed('export', '--model_dir=model'))
        self.assertEqual(exported['global_step'], HALF)
        self.assertTrue(exported['path'].startswith(self.path('model', 'export')), exported)

    def test_the_file_that_is_missing_is_named(self):
        for verb in ('train', 'evaluate', 'predict', 'export'):
            done = self.call(verb, '--model_dir=nothing')
            self.assertEqual(done.code, 2, str(done))
            self.assertEqual(done.messages, [
                f'tpurun: {verb} needs --config=FILE, there is no nothing/run_config.pbtxt to take '
                f'instead; see tpurun help {verb}'])


class LengthTest(ResumeTest):
    """steps, max_steps and epochs are interchangeable."""

    def setUp(self):
        super().setUp()
        path = self.path('iris', 'run.textproto')
        text = read(path).decode()
        text = re.sub(r'max_steps: \d+', 'epochs: 2', text)
        # Nothing says what becomes of the rows that make no whole batch.
        text = re.sub(r' *transform \{ (repeat|batch) .*\n', '', text)
        write(path, text)
        self.assertNotIn('repeat', text)

    def test_each_follows_another(self):
        want = self.whole()
        iris = ('--config=iris/run.textproto', '--model_dir=model')
        # 2 epochs of 120 examples in batches of 16.
        self.assertEqual(self.result(self.train(*iris))['global_step'], 15)
        self.assertEqual(self.result(self.train(*iris, '--steps=5'))['global_step'], 20)
        self.assertEqual(self.result(self.train(*iris, '--max_steps=27'))['global_step'], 27)
        self.assertEqual(self.result(self.train(*iris, '--epochs=4'))['global_step'], 30)
        self.train('--model_dir=model', f'--max_steps={END}')
        self.assertEqual(self.final('model'), want)

    def test_each_comes_first(self):
        want = self.whole()
        for number, first in enumerate(('--steps=20', '--max_steps=20', '--epochs=2.7')):
            iris = ('--config=iris/run.textproto', f'--model_dir=model_{number}')
            self.assertEqual(self.result(self.train(*iris, first))['global_step'], 20)
            self.train(*iris, f'--steps={END - 20}')
            self.assertEqual(self.final(f'model_{number}'), want)

    def test_standard_input_is_read_once(self):
        rows = read(self.path('iris', 'iris_training.csv'))
        arguments = ('train', '--config=iris/run.textproto', '--model_dir=model', *FLAGS, '--set',
                     'train.input.source.text_line.file="-"', '--set',
                     'train.input.transform+={ batch { drop_remainder: true } }')
        # Not from a cache, which could be read again.
        streamed = ('--unset', 'train.input.transform.1')
        done = self.call(*arguments, *streamed, '--max_steps=5', given=rows)
        self.assertEqual(done.code, 0, str(done))
        done = self.call(*arguments, *streamed, '--model_dir=ends', '--max_steps=9', given=rows)
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('ended after step 7 of 9', done.messages[0])
        done = self.call(*arguments, *streamed, '--model_dir=epochs', '--epochs=2', given=rows)
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('standard input can be read only once', done.messages[0])
        done = self.call(*arguments, '--model_dir=cached', '--max_steps=30', given=rows)
        self.assertEqual(json.loads(done.out)['global_step'], 30)



class OldCheckpointTest(ResumeTest):
    """One whose position names its files and not the streams of its shuffles, and that has no
    identities of files."""

    def test_it_goes_on_when_it_is_told_that_the_order_is_another(self):
        shutil.copytree(OLD, self.path('model'))
        os.rename(self.path('iris'), self.path('moved'))
        arguments = ('train', '--config=moved/run.textproto', '--model_dir=model', '--max_steps=20')
        refused = self.call(*arguments)
        self.assertEqual((refused.code, len(refused.messages)), (2, 1), str(refused))
        self.assertIn('--allow_changed_input', refused.messages[0])
        done = self.succeed(*arguments, '--allow_changed_input')
        self.assertEqual(self.result(done)['steps'], 15)
        again = self.succeed('train', '--model_dir=model', '--max_steps=25')
        self.assertEqual(self.result(again)['steps'], 5)
