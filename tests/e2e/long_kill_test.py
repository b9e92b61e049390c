"""Random kills by the thousand: KILLS in all, their moments by KILL_SEED."""
import os
import re
import unittest

import kill_test
import program
from program import ProgramTest, read
from sweep import LEFTOVER, SweepTest

# A run goes without kills as far as twenty with them.
program.TIMEOUT_SECONDS = 1200
KILLS = int(os.environ.get('KILLS', '1000'))


class LongIrisKillTest(kill_test.IrisKillTest):
    kills = KILLS * 5 // 10


class LongDigitsKillTest(kill_test.DigitsKillTest):
    kills = KILLS * 3 // 10


class MnistKillTest(kill_test.KillTest, SweepTest):
    kills = KILLS // 10
    steps_a_run = 20

    def train(self, model_dir, goal):
        return self.train_mnist(goal, kill_test.SAVE_EVERY, 3, model_dir)


class SecondsKillTest(kill_test.KillTest, ProgramTest):
    """Saves each second: a run that goes on saves at other steps than the one that was killed."""
    kills = KILLS // 10
    steps_a_run = 50000
    kills_a_folder = 5

    def train(self, model_dir, goal):
        return self.iris('train', model_dir, '--keep_checkpoint_max=2', '--save_checkpoints_secs=1',
                         '--train_batch_size=16', f'--max_steps={goal}', '--set',
                         'tpu_config.iterations_per_loop=500')

    def expect_the_same(self, goal):
        self.expect_same_checkpoint(goal)
        listed = re.findall(r'all_model_checkpoint_paths: "(.*)"',
                            read(self.path('killed', 'checkpoint')).decode())
        self.assertLessEqual(len(listed), 2)
        checkpoints = {name.split('.index')[0].split('.data-')[0]
                       for name in self.names('killed') if name.startswith('model.ckpt-')}
        self.assertEqual(checkpoints, set(listed))
        self.assertEqual([name for name in self.names('killed') if LEFTOVER.search(name)], [])


if __name__ == '__main__':
    unittest.main()
