"""A run that is killed at any moment goes on from its last checkpoint, to the same end."""
import os
import re
import resource
import shutil
import signal
import sys
import time

from program import STREAMED_DIGITS, ProgramTest, RandomKills, checkpoint_files, latest_step, read

SAVE_EVERY = 5
FLAGS = (f'--save_checkpoints_steps={SAVE_EVERY}', '--keep_checkpoint_max=3', '--set',
         'tpu_config.iterations_per_loop=5')
INTERRUPTS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
              signal.SIGUSR2, signal.SIGXCPU)
FOREVER = ('--train_batch_size=16', '--max_steps=1000000000', '--set',
           'tpu_config.iterations_per_loop=1000000')


class KillTest:
    """For a model: self.train are the arguments of a run to a step."""
    # How far one run wants to go; short, so that some runs are killed while they end.
    steps_a_run = 60
    # Few enough for a run without kills to get as far in a moderate time.
    kills_a_folder = 20

    def next_goal(self, step):
        return (max(step, 0) // self.steps_a_run + 1) * self.steps_a_run

    def run_to(self, goal, kills):
        process = self.start(*self.train('killed', goal))
        killed = kills.kill(process)
        done = self.finish(process)
        self.assertEqual(done.code, -signal.SIGKILL if killed else 0, str(done))

    def expect_good_checkpoint(self, step):
        if step < 0:
            return
        shown = self.succeed('inspect', 'killed')
        self.assertRegex(shown.out, rf'model\.ckpt-{step}\b')

    def test_kills_at_random_moments(self):
        start = time.monotonic()
        self.succeed(*self.train('warm_up', self.steps_a_run))
        kills = RandomKills(time.monotonic() - start, reach=1.2)
        print(f'KILL_SEED={kills.seed}', file=sys.stderr)
        while kills.count < self.kills:
            self.kill_on_the_way(kills, min(kills.count + self.kills_a_folder, self.kills))

    def kill_on_the_way(self, kills, wanted):
        for model_dir in ('killed', 'whole'):
            shutil.rmtree(self.path(model_dir), ignore_errors=True)
        step = -1
        while kills.count < wanted:
            self.run_to(self.next_goal(step), kills)
            before, step = step, latest_step(self.path('killed'))
            self.assertGreaterEqual(step, before)
            self.expect_good_checkpoint(step)

        goal = self.next_goal(step)
        self.succeed(*self.train('killed', goal))
        self.succeed(*self.train('whole', goal))
        print(f'{kills.count} kills, the last on the way to step {goal}', file=sys.stderr)
        self.expect_the_same(goal)

    def names(self, model_dir):
        return sorted(name for name in os.listdir(self.path(model_dir))
                      if not name.startswith('events.'))

    def expect_same_checkpoint(self, step):
        name = f'model.ckpt-{step}'
        want = checkpoint_files(self.path('whole', name))
        self.assertEqual(len(want), 2)
        self.assertEqual(checkpoint_files(self.path('killed', name)), want)

    def expect_the_same(self, goal):
        self.assertEqual(self.names('killed'), self.names('whole'))
        for step in range(goal - 2 * SAVE_EVERY, goal + 1, SAVE_EVERY):
            self.expect_same_checkpoint(step)
        state = [re.sub(rb'timestamps: \S+', b'', read(self.path(model_dir, 'checkpoint')))
                 for model_dir in ('killed', 'whole')]
        self.assertEqual(state[0], state[1])


class IrisKillTest(KillTest, ProgramTest):
    kills = 50

    def train(self, model_dir, goal):
        return self.iris('train', model_dir, *FLAGS, '--train_batch_size=16',
                         f'--max_steps={goal}')


class DigitsKillTest(KillTest, ProgramTest):
    kills = 20

    def train(self, model_dir, goal):
        return self.digits('train', model_dir, *FLAGS, *STREAMED_DIGITS, f'--max_steps={goal}')


class SignalTest(ProgramTest):

    def running(self, **options):
        """A training that would take hours, in its first loop."""
        before = self.event_files()
        process = self.start(*self.iris('train', 'model', *FOREVER), **options)
        # The event file of this run is the last thing before the first loop's checkpoint.
        self.wait_until(lambda: self.event_files() > before and latest_step(self.path('model')) >= 0,
                        process)
        return process

    def event_files(self):
        if not os.path.isdir(self.path('model')):
            return 0
        return sum(name.startswith('events.') for name in os.listdir(self.path('model')))

    def test_a_signal_stops_at_the_next_step_and_saves(self):
        for number in INTERRUPTS:
            process = self.running()
            start = time.monotonic()
            process.send_signal(number)
            done = self.finish(process)
            self.assertEqual(done.code, 75, str(done))
            self.assertLess(time.monotonic() - start, 5)
            step = latest_step(self.path('model'))
            self.assertEqual(done.out, '')
            self.assertEqual(done.messages, [
                f'tpurun: interrupted after step {step} of 1000000000; checkpoint saved: '
                f'{self.path("model")}/model.ckpt-{step}; start it again to go on'])
        goal = step + 10
        done = self.succeed(*self.iris('train', 'model', '--train_batch_size=16',
                                       f'--max_steps={goal}'))
        self.assertEqual(self.result(done)['global_step'], goal)

    def test_a_signal_sent_twice_is_one(self):
        for number in (signal.SIGTERM, signal.SIGINT) * 5:
            process = self.running()
            process.send_signal(number)
            process.send_signal(number)
            done = self.finish(process)
            self.assertEqual(done.code, 75, str(done))

    def test_a_second_signal_ends_at_once(self):
        process = self.running()
        # Both are pending when the stopped process goes on.
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGCONT)
        done = self.finish(process)
        self.assertIn(done.code, (130, 143), str(done))
        self.assertEqual(latest_step(self.path('model')), 0)
        self.succeed(*self.iris('train', 'model', '--train_batch_size=16', '--max_steps=10'))

    def test_a_signal_that_is_ignored_at_the_start_stays_so(self):
        # As nohup does, and a shell with its background jobs. One that counted would make the
        # SIGTERM the second signal.
        ignored = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)
        process = self.running(preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN)
                                                   for number in ignored])
        for number in ignored:
            process.send_signal(number)
        process.send_signal(signal.SIGTERM)
        done = self.finish(process)
        self.assertEqual(done.code, 75, str(done))

    def test_a_limit_on_processor_time_leaves_time_to_save(self):
        # Which the system tells of each second from then on.
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (2, 600))
        process = self.running(preexec_fn=limit)
        done = self.finish(process)
        self.assertEqual(done.code, 75, str(done))
        self.assertGreater(latest_step(self.path('model')), 0)

    def test_evaluate_and_predict_end_with_the_signals_code(self):
        endless = ('--set', 'evaluate.0.input.transform+={repeat {}}', '--set',
                   'predict.input.transform+={repeat {}}')
        for verb, number in (('evaluate', signal.SIGINT), ('predict', signal.SIGTERM),
                             ('evaluate', signal.SIGHUP), ('predict', signal.SIGUSR1),
                             ('evaluate', signal.SIGXCPU)):
            process = self.start(*self.iris(verb, 'model', '--allow_untrained', *endless),
                                 *(['--steps=1000000000'] if verb == 'evaluate' else []),
                                 stdout=open(os.devnull, 'wb'))
            time.sleep(0.3)
            process.send_signal(number)
            done = self.finish(process)
            self.assertEqual(done.code, 128 + number, str(done))
            self.assertFalse(os.path.exists(self.path('model')))

    def test_interrupted_while_it_waits_for_input(self):
        config = ('--set', 'train.input={source {text_line {file: "-"}} transform {apply '
                           '{transformation_func: "parse"}} transform {batch {drop_remainder: true}}}')
        # Before training has written anything there is nothing to save: the signal's own code.
        for rows, steps, code, messages in ((0, -1, 128 + signal.SIGTERM, 0), (40, 2, 75, 1)):
            model_dir = f'after{rows}'
            reader, writer = os.pipe()
            process = self.start(*self.iris('train', model_dir, *FOREVER, *config), stdin=reader)
            os.close(reader)
            self.addCleanup(os.close, writer)
            os.write(writer, b'5.1,3.5,1.4,0.2,0\n' * rows)
            if rows:
                self.wait_until(lambda: latest_step(self.path(model_dir)) == 0, process)
            # Nothing tells when it waits.
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            done = self.finish(process)
            self.assertEqual(done.code, code, str(done))
            self.assertEqual(len(done.messages), messages, str(done))
            self.assertEqual(latest_step(self.path(model_dir)), steps)
