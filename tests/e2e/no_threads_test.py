"""Where the system refuses a thread, each verb says so and ends."""
import os
import re
import unittest

from program import ProgramTest

MESSAGE = re.compile(r'tpurun: cannot start a thread with a stack of \d+ bytes: Resource temporarily '
                     r'unavailable; raise the limits on processes and memory, or lower '
                     r'--worker_threads')


class NoThreadsTest(ProgramTest):

    def test_every_verb_that_computes(self):
        self.succeed(*self.iris('train', 'model', '--max_steps=1'))
        refused = {**os.environ, 'LD_PRELOAD': os.path.abspath('tests/e2e/no_threads.so')}
        for verb, flags in (('train', ['--max_steps=2']), ('evaluate', []), ('predict', [])):
            done = self.call(*self.iris(verb, 'model', *flags), env=refused)
            self.assertEqual((done.code, done.out), (4, ''), str(done))
            self.assertEqual(len(done.messages), 1, str(done))
            self.assertRegex(done.messages[0], MESSAGE)


if __name__ == '__main__':
    unittest.main()
