"""Shell commands of a configuration: when they run, what they are told, and what a failure means."""
import os
import shutil
import signal
import time
import unittest

from program import ProgramTest, latest_step, read, write

FLAGS = ('--train_batch_size=16', '--max_steps=60', '--save_checkpoints_steps=40', '--set',
         'tpu_config.iterations_per_loop=20')
TELL = 'echo "$TPURUN_STEP $(basename "$TPURUN_CHECKPOINT") ${TPURUN_LOSS:-none} $TPURUN_MODEL_DIR" >> told'


def hook(at, command=TELL, more='', kind='training_hook'):
    text = command.replace('\\', '\\\\').replace('"', '\\"')
    return ('--set', f'{kind}+={{ command: "{text}" at: {at} {more} }}')


class HooksTest(ProgramTest):

    def told(self):
        path = self.path('told')
        return read(path).decode().splitlines() if os.path.exists(path) else []

    def steps_told(self):
        return [int(line.split()[0]) for line in self.told()]

    def train(self, *flags):
        return self.call(*self.iris('train', 'model', *FLAGS, *flags))

    def test_after_loops(self):
        done = self.train(*hook('LOOP'))
        self.assertEqual(done.code, 0, str(done))
        told = [line.split() for line in self.told()]
        self.assertEqual([line[0] for line in told], ['20', '40', '60'])
        self.assertEqual([line[1] for line in told],
                         ['model.ckpt-0', 'model.ckpt-40', 'model.ckpt-60'])
        self.assertEqual(told[2][3], self.path('model'))
        self.assertEqual(float(told[2][2]), self.result(done)['loss'])

    def test_after_every_second_loop(self):
        self.train(*hook('LOOP', more='every_n_loops: 2'))
        self.assertEqual(self.steps_told(), [40])

    def test_after_checkpoints_and_at_the_end(self):
        self.train(*hook('CHECKPOINT'), *hook('END', 'echo "1$TPURUN_STEP end end end" >> told'))
        self.assertEqual(self.steps_told(), [0, 40, 60, 160])
        self.assertEqual(self.told()[0].split()[2], 'none')
        # Of a training that goes on, the checkpoint that it goes on from is not new.
        os.remove(self.path('told'))
        self.train(*hook('CHECKPOINT'), '--max_steps=80')
        self.assertEqual(self.steps_told(), [80])

    def test_output_goes_to_standard_error(self):
        done = self.train(*hook('END', 'echo from the hook; cat'))
        self.result(done)
        self.assertIn('from the hook\n', done.err)

    def test_a_failure_is_warned_of(self):
        done = self.train(*hook('LOOP', 'test $TPURUN_STEP != 40'))
        self.assertEqual(done.code, 0, str(done))
        [warning] = [line for line in done.warnings if 'training_hook' in line]
        self.assertIn('training_hook[0] ("test $TPURUN_STEP != 40") failed: exit code 1', warning)

    def test_a_failure_of_a_required_one_ends_the_run(self):
        done = self.train(*hook('LOOP', 'test $TPURUN_STEP != 20', 'required: true'))
        self.assertEqual(done.code, 1, str(done))
        self.assertIn('step 20: training_hook[0]', done.messages[0])
        self.assertEqual(latest_step(self.path('model')), 20)
        again = self.train()
        self.assertEqual(self.result(again)['steps'], 40)

    def test_a_failure_ahead_of_the_first_step_leaves_nothing(self):
        done = self.train(*hook('CHECKPOINT', 'exit 3', 'required: true'))
        self.assertEqual(done.code, 1, str(done))
        self.assertFalse(os.path.exists(self.path('model')))

    def test_beside_the_training(self):
        # The first call ends only once the training has come to its end.
        wait = 'while [ ! -e ended ]; do sleep 0.01; done; ' + TELL
        done = self.train(*hook('LOOP', wait, 'wait: false'), *hook('END', 'touch ended'))
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(self.steps_told(), [20])
        self.assertIn('still runs: left out at step 40', done.err)

    def test_a_failure_beside_the_training(self):
        done = self.train(*hook('LOOP', 'exit 5', 'wait: false required: true'))
        self.assertEqual(done.code, 1, str(done))
        self.assertIn('exit code 5', done.messages[0])

    def test_the_same_bytes_with_hooks(self):
        self.train(*hook('LOOP'))
        plain = self.call(*self.iris('train', 'plain', *FLAGS))
        self.assertEqual(plain.code, 0, str(plain))
        for suffix in ('.index', '.data-00000-of-00001'):
            self.assertEqual(read(self.path('model', 'model.ckpt-60' + suffix)),
                             read(self.path('plain', 'model.ckpt-60' + suffix)))

    def test_an_interrupt_is_passed_on(self):
        process = self.start(*self.iris('train', 'model', *FLAGS, *hook(
            'LOOP', 'touch begun; sleep 600', 'required: true')))
        self.wait_until(lambda: os.path.exists(self.path('begun')), process)
        process.send_signal(signal.SIGTERM)
        start = time.monotonic()
        done = self.finish(process)
        self.assertEqual(done.code, 75, str(done))
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(latest_step(self.path('model')), 20)

    def test_an_interrupt_of_an_evaluation_ends_its_hook(self):
        self.train()
        process = self.start(*self.iris('evaluate', 'model', *hook(
            'EVALUATION', 'touch begun; while [ ! -e ended ]; do sleep 0.05; done; touch survived',
            kind='evaluation_hook')))
        self.wait_until(lambda: os.path.exists(self.path('begun')), process)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)
        with open(self.path('ended'), 'w', encoding='utf-8'):
            pass
        time.sleep(2)  # a hook that still runs needs less
        self.assertFalse(os.path.exists(self.path('survived')))

    def test_where_nobody_waits_for_children(self):
        done = self.call(*self.iris('train', 'model', *FLAGS, *hook('END', 'exit 3', 'required: true')),
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.code, 1, str(done))

    def test_one_that_ignores_the_interrupt_is_killed(self):
        for command in ('trap "" TERM; touch begun; while :; do sleep 1; done',
                        'touch begun; kill -STOP $$'):
            process = self.start(*self.iris('train', 'model', *FLAGS, *hook('LOOP', command)))
            self.wait_until(lambda: os.path.exists(self.path('begun')), process)
            process.send_signal(signal.SIGTERM)
            done = self.finish(process)
            self.assertEqual(done.code, 75, str(done))
            os.remove(self.path('begun'))
            shutil.rmtree(self.path('model'))

    def test_after_evaluations(self):
        flags = (*hook('EVALUATION', kind='evaluation_hook'),
                 *hook('END', 'echo 7 >> told', kind='evaluation_hook'))
        done = self.call(*self.iris('train_and_evaluate', 'model', *FLAGS, '--steps_per_eval=40',
                                    *flags))
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(self.steps_told(), [40, 60, 7])
        os.remove(self.path('told'))
        evaluated = self.result(self.succeed(*self.iris('evaluate', 'model', *flags)))
        self.assertEqual(self.steps_told(), [60, 7])
        self.assertAlmostEqual(float(self.told()[0].split()[2]), evaluated['loss'], places=6)

    def test_those_of_a_model_dir_run_only_when_asked(self):
        self.train(*hook('END'))
        self.assertEqual(self.steps_told(), [60])
        done = self.succeed('train', '--model_dir=model', '--max_steps=80')
        self.assertIn('--run_hooks', '\n'.join(done.warnings))
        self.assertEqual(self.steps_told(), [60])
        self.succeed('train', '--model_dir=model', '--max_steps=100', '--run_hooks')
        self.assertEqual(self.steps_told(), [60, 100])
        # A verb that runs none has nothing to say of them.
        done = self.succeed('profile', '--model_dir=model', '--steps=1')
        self.assertNotIn('--run_hooks', done.err)
        self.assertEqual(self.steps_told(), [60, 100])

    def test_so_do_those_of_its_configuration_by_any_other_name(self):
        self.train(*hook('END'))
        source = self.path('model', 'run_config.pbtxt')
        text = read(source).decode()
        os.symlink(source, self.path('symbolic.textproto'))
        os.symlink(self.path('symbolic.textproto'), self.path('twice.textproto'))
        os.link(source, self.path('hard.textproto'))
        for name, copy in (('copied', text), ('below', '# Mine.\n' + text),
                           ('crlf', text.replace('\n', '\r\n'))):
            write(self.path(f'{name}.textproto'), copy)
        # One of an older training, which has no such line.
        mark, rest = text.split('\n', 1)
        self.assertIn('--run_hooks', mark)
        os.mkdir(self.path('old'))
        write(self.path('old', 'run_config.pbtxt'), rest)
        os.symlink(self.path('old', 'run_config.pbtxt'), self.path('old.textproto'))
        steps = 80
        for name in ('symbolic', 'twice', 'hard', 'copied', 'below', 'crlf', 'old'):
            done = self.succeed('train', f'--config={name}.textproto', f'--max_steps={steps}')
            self.assertIn(f'The hooks of {name}.textproto, which a training has written, are not run',
                          '\n'.join(done.warnings))
            self.assertEqual(self.steps_told(), [60], name)
            steps += 20
        # The file in a folder that comes from elsewhere may be a link to one of any name.
        write(self.path('other'), rest)
        os.remove(source)
        os.symlink(self.path('other'), source)
        for arguments in (('--model_dir=model',), ('--config=model/run_config.pbtxt',)):
            done = self.succeed('train', *arguments, f'--max_steps={steps}')
            self.assertIn('which a training has written, are not run', '\n'.join(done.warnings))
            self.assertEqual(self.steps_told(), [60])
            steps += 20
        write(self.path('mine.textproto'), rest)
        self.succeed('train', '--config=mine.textproto', f'--max_steps={steps}')
        self.assertEqual(self.steps_told(), [60, steps])

    def test_open_files_are_not_handed_on(self):
        # The lock of the model_dir would outlive the training.
        self.train(*hook('END', 'ls -l /proc/self/fd > fds'))
        self.assertNotIn('/model', read(self.path('fds')).decode())


if __name__ == '__main__':
    unittest.main()
