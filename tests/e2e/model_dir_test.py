"""The folder that a training began in: moved, deleted, taken by another, out of space."""
import os
import re
import shutil
import signal
import subprocess
import time

from file_size_limit import file_size_limit
from program import ProgramTest, latest_step

FOREVER = ('--train_batch_size=16', '--max_steps=1000000000', '--set',
           'tpu_config.iterations_per_loop=100', '--save_checkpoints_steps=100')


class ModelDirTest(ProgramTest):

    def running(self, *flags):
        """A training that has gone through loops and would take days."""
        process = self.start(*self.iris('train', 'model', *FOREVER, *flags))
        self.wait_until(lambda: latest_step(self.path('model')) > 0, process)
        return process

    def expect_refused(self, process, *wanted):
        done = self.finish(process)
        self.assertEqual(done.code, 74, str(done))
        self.assertEqual(len(done.messages), 1, str(done))
        for text in (self.path('model'), *wanted):
            self.assertIn(text, done.messages[0])
        return done.messages[0]

    def test_a_folder_that_is_moved_gets_its_last_steps_and_nothing_takes_its_place(self):
        process = self.running()
        os.rename(self.path('model'), self.path('moved'))
        message = self.expect_refused(process, self.path('moved'), 'nothing is in its place')
        self.assertFalse(os.path.exists(self.path('model')))
        step = int(re.search(r'step (\d+) is saved there', message).group(1))
        self.assertEqual(latest_step(self.path('moved')), step)
        done = self.succeed(*self.iris('train', 'moved', '--train_batch_size=16',
                                       f'--max_steps={step + 10}'))
        self.assertEqual(self.result(done)['steps'], 10)

    def test_another_folder_in_its_place_is_not_written_to(self):
        process = self.running()
        # It sees neither of the two moments alone.
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        os.rename(self.path('model'), self.path('moved'))
        os.mkdir(self.path('model'))
        process.send_signal(signal.SIGCONT)
        self.expect_refused(process, self.path('moved'), 'another one is in its place')
        self.assertEqual(os.listdir(self.path('model')), [])

    def test_a_deleted_folder_is_not_made_anew(self):
        process = self.running()
        # The training writes while this deletes.
        while os.path.exists(self.path('model')):
            shutil.rmtree(self.path('model'), ignore_errors=True)
        self.expect_refused(process)
        self.assertFalse(os.path.exists(self.path('model')))

    def test_without_checkpoints_the_end_tells_that_it_moved(self):
        flags = ('--train_batch_size=16', '--max_steps=20000', '--save_checkpoints_secs=0', '--set',
                 'tpu_config.iterations_per_loop=1')
        process = self.start(*self.iris('train', 'model', *flags))
        self.wait_until(lambda: os.path.exists(self.path('model', 'run_config.pbtxt')), process)
        os.rename(self.path('model'), self.path('moved'))
        self.expect_refused(process, self.path('moved'))
        self.assertFalse(os.path.exists(self.path('model')))


class LockTest(ProgramTest):

    def test_a_start_waits_for_the_one_that_is_ending(self):
        process = self.start(*self.iris('train', 'model', *FOREVER))
        self.wait_until(lambda: latest_step(self.path('model')) > 0, process)
        waiting = self.start(*self.iris('train', 'model', '--train_batch_size=16', '--steps=10'))
        time.sleep(1.5)
        process.send_signal(signal.SIGKILL)
        done = self.finish(waiting)
        self.assertEqual(done.code, 0, str(done))
        self.assertTrue(any('Waiting for another tpurun that trains in' in line for line in done.log),
                        str(done))


class ManyAtOnceTest(ProgramTest):
    """Trainings that begin at the same moment, in a folder that is not there yet."""

    def at_once(self, count, *flags):
        command = self.iris('train', 'new/model', '--train_batch_size=16', *flags)
        return [self.finish(process) for process in [self.start(*command) for _ in range(count)]]

    def test_one_trains_and_the_others_find_it_trained(self):
        for _ in range(5):
            all_done = self.at_once(24, '--max_steps=10')
            self.assertEqual([done.code for done in all_done], [0] * 24,
                             '\n'.join(map(str, all_done)))
            results = [self.result(done) for done in all_done]
            self.assertEqual([result['steps'] for result in results if 'skipped' not in result], [10])
            self.assertEqual({result['global_step'] for result in results}, {10})
            shutil.rmtree(self.path('new'))

    def test_each_goes_on_where_the_one_before_has_ended(self):
        all_done = self.at_once(6, '--steps=5')
        self.assertEqual([done.code for done in all_done], [0] * 6, '\n'.join(map(str, all_done)))
        self.assertEqual(sorted(self.result(done)['global_step'] for done in all_done),
                         [5, 10, 15, 20, 25, 30])

    def test_those_that_fail_take_nothing_from_each_other(self):
        for _ in range(5):
            all_done = self.at_once(8, '--max_steps=10', '--set', 'tpu_config.iterations_per_loop=10',
                                    '--set', 'model.optimizer.0.learning_rate.constant=1e38')
            self.assertEqual([done.code for done in all_done], [1] * 8, '\n'.join(map(str, all_done)))
            # One that made its folder while another removed the one above leaves that.
            self.assertFalse(os.path.exists(self.path('new', 'model')))

    def test_a_pipe_cannot_be_read_by_the_one_that_comes_too_late(self):
        config = ('--set', 'train.input={source {text_line {file: "-"}} transform {apply '
                           '{transformation_func: "parse"}} transform {batch {drop_remainder: true}}}')
        # Neither has its first batch when it looks for the folder.
        both = [self.start(*self.iris('train', 'model', '--train_batch_size=16', '--max_steps=10',
                                      *config), stdin=subprocess.PIPE) for _ in range(2)]
        time.sleep(1)
        rows = b'5.1,3.5,1.4,0.2,0\n' * 160
        both[0].stdin.write(rows)
        both[0].stdin.close()
        both[0].stdin = None
        self.assertEqual(self.finish(both[0]).code, 0)
        done = self.finish(both[1], rows)
        self.assertEqual(done.code, 75, str(done))
        self.assertIn('the input is a pipe, whose first batches are read', done.messages[0])


class FirstWritesTest(ProgramTest):

    def test_a_message_that_cannot_be_written_does_not_change_the_code(self):
        with open(self.path('message'), 'w') as message:
            done = self.call('trian', stderr=message, **file_size_limit(0))
        self.assertEqual(done.code, 2, str(done))

    def test_a_full_disk_leaves_nothing(self):
        # The size of a file is limited instead: no write of more than so many bytes succeeds.
        for limit in (0, 1, 40, 1000):
            done = self.call(*self.iris('train', 'model', '--max_steps=10'), **file_size_limit(limit))
            self.assertEqual(done.code, 74, str(done))
            self.assertEqual(len(done.messages), 1, str(done))
            self.assertFalse(os.path.exists(self.path('model')), os.listdir(self.dir))

    def test_what_was_there_is_there_again_on_a_full_disk(self):
        os.mkdir(self.path('model'))
        path = self.path('model', 'run_config.pbtxt')
        with open(path, 'w') as file:
            file.write('# mine\n')
        for limit in (0, 1, 40, 1000):
            done = self.call(*self.iris('train', 'model', '--max_steps=10'), **file_size_limit(limit))
            self.assertEqual(done.code, 74, str(done))
            self.assertEqual(os.listdir(self.path('model')), ['run_config.pbtxt'])
            with open(path) as file:
                self.assertEqual(file.read(), '# mine\n')
