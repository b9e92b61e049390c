"""What is logged and drawn while a verb runs, and that --quiet leaves out all but warnings."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

from program import BINARY, ProgramTest, checkpoint_files, write

NUMBER = r'[0-9.e+-]+'
RATES = rf' \({NUMBER} sec, {NUMBER} steps/sec, {NUMBER} examples/sec\)'
GLOG = re.compile(r'[IW]\d{8} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\] ')


class LogTest(ProgramTest):

    def short_loops(self, *flags):
        return self.iris('train', 'model', '--save_summary_steps=10', '--log_step_count_steps=10',
                         '--set', 'tpu_config.iterations_per_loop=10', '--max_steps=30', *flags)

    def on_a_terminal(self, *arguments, out=subprocess.DEVNULL, columns=0):
        """What the program writes to standard error when that is a terminal; 0 columns: unknown."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        process = subprocess.Popen([BINARY, *arguments], cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=theirs if out is None else out, stderr=theirs)
        os.close(theirs)
        shown = b''
        while select.select([ours], [], [], 60)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
        os.close(ours)
        self.assertEqual(process.wait(), 0, shown)
        return shown.decode()

    def test_a_report_is_one_line_without_files_and_line_numbers(self):
        done = self.succeed(*self.short_loops())
        reports = [line for line in done.log if 'loss = ' in line]
        self.assertEqual(len(reports), 3, str(done))
        for step, rates, line in zip((10, 20, 30), ('', RATES, RATES), reports):
            self.assertRegex(line, rf'^loss = {NUMBER}, step = {step}, learning_rate = 0.1{rates}$')
        self.assertNotIn('Instruction parts', done.err)
        self.assertEqual([line for line in done.log if GLOG.match(line)], [])
        detailed = self.succeed(*self.iris('train', 'detailed', '--max_steps=5', '--v=1'))
        self.assertIn('Instruction parts', detailed.err)
        self.assertEqual([line for line in detailed.log if not GLOG.match(line)], [])

    # What begins a line, in the order of the lines; `*` stands before those of --v=1.
    TRAIN = '''Configuration: iris/run.textproto, model_dir: model.
Found TPU system: 8 cores, 1 host.
*Calling the model function for train with 16 rows a core.
Model "iris": 193 trainable values in 6 variables.
*Compiled "iris" for
*Initialized 13 variables by seed 1.
Infeed started: batches of 128 rows, up to 256 ahead.
*Waiting for the first batch.
*The first batch is there.
Saving checkpoints for 0 into model/model.ckpt-0.
Training from step 0 to 20 in loops of 20 steps.
Saving checkpoints for 20 into model/model.ckpt-20.
loss =
*Instruction parts:
Loss for final step:'''

    def expect_lines(self, done, want, detailed):
        log = [GLOG.sub('', line) for line in done.log]
        begins = [line.lstrip('*').replace('model/', self.path('model') + '/').replace(
            'model_dir: model', f'model_dir: {self.path("model")}')
                  for line in want.splitlines() if detailed or not line.startswith('*')]
        self.assertEqual(len(log), len(begins), str(done))
        for line, begin in zip(log, begins):
            self.assertEqual(line[:len(begin)], begin, str(done))

    def test_what_a_training_does_in_order(self):
        model_dir = self.path('model')
        loops = ('--set', 'tpu_config.iterations_per_loop=20')
        for detailed in (False, True):
            done = self.succeed(*self.iris('train', model_dir, '--max_steps=20', *loops,
                                           *(['--v=1'] if detailed else [])))
            self.expect_lines(done, self.TRAIN, detailed)
            if not detailed:
                shutil.rmtree(model_dir)
        resumed = self.succeed(*self.iris('train', model_dir, '--steps=10', *loops))
        self.expect_lines(resumed, self.TRAIN.replace('*Initialized 13 variables by seed 1.', (
            'Restoring parameters from model/model.ckpt-20, step 20')).replace(
                'Saving checkpoints for 0 into model/model.ckpt-0.\n', '').replace(
                    'from step 0 to 20', 'from step 20 to 30').replace(
                        'checkpoints for 20 into model/model.ckpt-20',
                        'checkpoints for 30 into model/model.ckpt-30'), False)

    def test_summaries_start_an_outfeed(self):
        done = self.succeed(*self.iris('train', self.path('model'), '--max_steps=2', '--set',
                                       'model.summary+={ histogram { name: "logits" } }'))
        self.assertTrue(any(re.match(r'Outfeed started: \d+ values, up to \d+ steps behind\.$', line)
                            for line in done.log), str(done))

    def test_evaluation_says_where_it_runs(self):
        self.succeed(*self.iris('train', self.path('model'), '--max_steps=20', '--use_tpu=false'))
        done = self.succeed(*self.iris('evaluate', self.path('model'), '--use_tpu=false'))
        self.expect_lines(done, """Configuration: iris/run.textproto, model_dir: model.
Running evaluate on the CPU.
Restoring parameters from model/model.ckpt-20, step 20
Starting evaluation.
Saving dict for global step 20:""", False)

    def test_placement_is_a_line_an_op(self):
        place = re.compile(r'(\S+): \((\w+)\): (\w+)')
        for verb in ('train', 'evaluate', 'predict'):
            flags = ['--max_steps=2'] if verb == 'train' else []
            plain = self.succeed(*self.iris(verb, 'model', *flags))
            self.assertFalse(any(place.fullmatch(line) for line in plain.log), str(plain))
        for use_tpu, places in (('true', {'core', 'shared', 'host'}), ('false', {'host'})):
            done = self.succeed(*self.iris('train', 'placed' + use_tpu, '--log_device_placement',
                                           f'--use_tpu={use_tpu}', '--max_steps=2'))
            lines = [match.groups() for match in map(place.fullmatch, done.log) if match]
            self.assertEqual({where for _, _, where in lines}, places)
            of_all = 'shared' if use_tpu == 'true' else 'host'
            of_core = 'core' if use_tpu == 'true' else 'host'
            for line in (('logits/kernel', 'variable', of_all), ('Species', 'infeed', 'host'),
                         ('logits/BiasAdd', 'matmul', of_core)):
                self.assertIn(line, lines)
        for verb in ('evaluate', 'predict'):
            done = self.succeed(*self.iris(verb, 'placedtrue', '--log_device_placement'))
            self.assertIn('SepalWidth: (infeed): host', done.log)
            self.assertTrue(any(line.endswith(': (outfeed): host') for line in done.log), str(done))

    def test_quiet_leaves_warnings_and_the_result(self):
        done = self.succeed(*self.iris('train', 'model', '--max_steps=5', '--quiet'))
        self.assertEqual((done.err, self.result(done)['global_step']), ('', 5))
        for verb in ('evaluate', 'predict', 'export'):
            self.assertEqual(self.succeed(*self.iris(verb, 'model', '--quiet')).err, '')
        done = self.succeed(*self.iris('evaluate', 'fresh', '--allow_untrained', '--quiet'))
        self.assertEqual(len(done.warnings), 1)
        self.assertEqual(len(done.log), 1)

    def test_periods_that_loops_cannot_keep_are_named_once(self):
        done = self.succeed(*self.iris('train', 'model', '--save_summary_steps=10',
                                       '--log_step_count_steps=150', '--max_steps=400', '--set',
                                       'tpu_config.iterations_per_loop=100'))
        self.assertEqual(done.warnings, [
            '--save_summary_steps=10: save_summary_steps is 10, but loops of 100 steps '
            '(tpu_config.iterations_per_loop) make it 100; want loops that divide it, such as 10, or '
            'save_summary_steps: 100',
            '--log_step_count_steps=150: log_step_count_steps is 150, but loops of 100 steps '
            '(tpu_config.iterations_per_loop) make it 200; want loops that divide it, such as 50, or '
            'log_step_count_steps: 200'])
        self.assertEqual(self.succeed(*self.short_loops('--max_steps=410')).warnings, [])
        done = self.succeed(*self.iris('train', 'other', '--save_checkpoints_steps=10',
                                       '--max_steps=200', '--set',
                                       'tpu_config.iterations_per_loop=100'))
        self.assertEqual(done.warnings, [
            '--save_checkpoints_steps=10: save_checkpoints_steps is 10, but loops of 100 steps '
            '(tpu_config.iterations_per_loop) make it 100; want loops that divide it, such as 10, or '
            'save_checkpoints_steps: 100'])
        saved = [line for line in done.log if line.startswith('Saving checkpoints for')]
        self.assertEqual([line.split()[3] for line in saved], ['0', '100', '200'])

    def test_with_loops_of_a_time_lines_go_by_it(self):
        # After the first loop, of one step, all others are in one.
        done = self.succeed(*self.short_loops('--max_steps=400', '--set',
                                              'tpu_config.iterations_per_loop=1h'))
        self.assertIn('Training from step 0 to 400 in loops of about 3600 s.', done.log)
        reports = [line for line in done.log if line.startswith('loss = ')]
        self.assertEqual(len(reports), 1, str(done))
        self.assertRegex(reports[0], r', step = 1, ')
        self.assertEqual(done.warnings, [])

    def test_each_verb_shows_how_far_it_is(self):
        rows = self.path('rows.csv')
        write(rows, '5.1,3.5,1.4,0.2,0\n' * 3000)
        data = (f'={{ source {{ text_line {{ file: "{rows}" }} }} '
                'transform { apply { transformation_func: "parse" } } }')
        train = self.short_loops()
        evaluate = self.iris('evaluate', 'model', '--set', 'evaluate.0.input' + data)
        predict = self.iris('predict', 'model', '--set', 'predict.input' + data)
        convert = ('convert', 'csv', rows, '--features=x:float:0-3', '--output=rows.tfrecord')
        for arguments, text in ((train, r'step \d+/30  loss '), (evaluate, r'\d+ examples, \d+ examples/s'),
                                (predict, r'\d+ examples, '), (convert, r'\d+ records, ')):
            shown = self.on_a_terminal(*arguments)
            self.assertRegex(shown, r'\r\x1b\[K' + text, arguments)
            self.assertTrue(arguments == train or shown.endswith('\r\x1b[K'), shown)
            quiet = self.on_a_terminal(*arguments, '--quiet')
            self.assertEqual(quiet, '', arguments)
            self.assertNotIn('\x1b', self.succeed(*arguments).err)

    def test_the_line_of_a_training_moves_within_a_loop(self):
        endless = self.iris('train', 'model', '--max_steps=4000000000', '--set',
                            'tpu_config.iterations_per_loop=4000000000')
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))
        process = subprocess.Popen([BINARY, *endless], cwd=self.dir, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=theirs)
        self.addCleanup(process.kill)
        os.close(theirs)
        shown = b''
        line = re.compile(rb'\r\x1b\[Kstep (\d+)/4000000000  (\d+) examples/s  ETA ([0-9hms]+)\r')
        deadline = time.monotonic() + 120
        while len(line.findall(shown)) < 3 and time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65536)
        process.send_signal(signal.SIGTERM)
        while select.select([ours], [], [], 60)[0]:
            try:
                shown += os.read(ours, 65536)
            except OSError:
                break
        os.close(ours)
        self.assertEqual(process.wait(), 75, shown)
        drawn = [tuple(map(int, found[:2])) for found in line.findall(shown)]
        self.assertGreaterEqual(len(drawn), 3, shown)
        steps = [step for step, _ in drawn]
        self.assertEqual(steps, sorted(set(steps)), shown)
        for step, rate in drawn:
            self.assertGreater(step, 0)
            self.assertGreater(rate, 0)
        # It saves the step that it has come to.
        interrupted = re.search(rb'interrupted after step (\d+) of', shown)
        self.assertGreaterEqual(int(interrupted.group(1)), steps[-1])

    def test_the_line_does_not_change_what_is_trained(self):
        flags = ('--max_steps=60', '--set', 'tpu_config.iterations_per_loop=30')
        self.on_a_terminal(*self.iris('train', 'drawn', *flags))
        self.succeed(*self.iris('train', 'plain', *flags))
        self.assertEqual(checkpoint_files(self.path('drawn', 'model.ckpt-60')),
                         checkpoint_files(self.path('plain', 'model.ckpt-60')))

    def test_a_narrow_terminal_does_not_wrap_the_line(self):
        shown = self.on_a_terminal(*self.short_loops(), columns=20)
        lines = re.findall(r'\r\x1b\[K(step [^\r]*)\r', shown)
        self.assertTrue(lines, shown)
        self.assertLessEqual(max(map(len, lines)), 19)

    def test_evaluations_on_the_same_terminal_are_not_drawn_over(self):
        shown = self.on_a_terminal(
            *self.iris('train_and_evaluate', 'model', '--max_steps=400', '--steps_per_eval=200',
                       '--set', 'tpu_config.iterations_per_loop=100'), out=None, columns=100)
        self.assertRegex(shown, r'\r\x1b\[Kstep \d+/400 ')
        # Each begins on a line of its own.
        results = re.findall(r'(?:\n|\r\x1b\[K)(\{"[^\r\n]*\})\r?\n', shown)
        self.assertEqual(shown.count('{"global_step"'), len(results), shown)
        self.assertEqual([json.loads(result)['global_step'] for result in results], [200, 400, 400])

    def test_predictions_on_the_same_terminal_are_not_drawn_over(self):
        self.succeed(*self.short_loops())
        shown = self.on_a_terminal(*self.iris('predict', 'model', '--quiet'), out=None)
        rows = [json.loads(line) for line in shown.splitlines()]
        self.assertEqual(len(rows), 3)
        shown = self.on_a_terminal(*self.iris('predict', 'model'), out=None)
        self.assertNotIn(' examples/s', shown)


if __name__ == '__main__':
    unittest.main()
