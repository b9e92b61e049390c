"""The same for RUN_SECONDS, an hour, with a save a second."""
import os
import time
import unittest

from resources_test import ResourcesTest

RUN_SECONDS = int(os.environ.get('RUN_SECONDS', '3600'))


class LongResourcesTest(ResourcesTest):
    PERIOD_SECONDS = 1

    def test_a_save_a_second(self):
        end = time.monotonic() + RUN_SECONDS
        self.check(self.watch(self.path('model'), lambda: time.monotonic() > end, '--max_steps=1000000000',
                              '--save_checkpoints_secs=1', '--keep_checkpoint_max=5',
                              '--set', 'tpu_config.iterations_per_loop=500'))


if __name__ == '__main__':
    unittest.main()
