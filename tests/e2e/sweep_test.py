"""No call to a file that ends the program or fails loses, leaks or changes anything."""
import unittest

from sweep import INTERRUPTED_KINDS, READ_KINDS, SweepTest, scenario


class KillSweepTest(SweepTest):

    def test_training_on_with_another_cadence(self):
        # Only the last checkpoint is kept, whatever the killed run saved.
        self.kill_everywhere(scenario(
            'iris', start=self.train_iris(5, 5, 1), command=self.train_iris(15, 5, 1),
            again=self.train_iris(20, 1000, 1)))
        self.finish_sweep()

    def test_a_training_from_nothing(self):
        self.kill_everywhere(scenario('iris', self.train_iris(10, 5, 1)), acts=['kill'])
        self.finish_sweep()

    def test_a_conversion(self):
        self.kill_everywhere(scenario('csv', self.CONVERT_CSV))
        self.finish_sweep()

    def test_predictions(self):
        for name in ('rows.jsonl', 'rows.tfrecord'):
            self.kill_everywhere(scenario(name, self.predict_iris(name)))
        self.finish_sweep()


class FaultSweepTest(SweepTest):

    def test_a_full_disk(self):
        what = scenario('iris', self.train_iris(10, 5, 1))
        self.fail_everywhere(what, ['create', 'write', 'fsync', 'rename', 'mkdir'], ['fail ENOSPC'])
        self.finish_sweep()

    def test_a_failing_disk(self):
        self.fail_everywhere(scenario('iris', self.train_iris(5, 5, 1)), ['unlink', 'close'],
                             ['fail EIO'])
        for what in (scenario('csv', self.CONVERT_CSV),
                     scenario('rows.jsonl', self.predict_iris('rows.jsonl')),
                     scenario('rows.tfrecord', self.predict_iris('rows.tfrecord'))):
            self.fail_everywhere(what, ['create', 'write', 'fsync', 'rename', 'close'], ['fail EIO'])
        self.finish_sweep()

    def test_a_disk_that_cannot_be_read(self):
        self.fail_everywhere(
            scenario('iris', start=self.train_iris(5, 5, 1), command=self.train_iris(10, 5, 1)),
            READ_KINDS, ['fail EIO'])
        self.finish_sweep()

    def test_signals_and_short_writes_change_nothing(self):
        what = scenario('iris', start=self.train_iris(5, 5, 1), command=self.train_iris(10, 5, 1))
        self.fail_everywhere(what, INTERRUPTED_KINDS, ['fail EINTR'])
        self.fail_everywhere(what, ['read', 'write'], ['half'])
        self.fail_everywhere(what, ['write'], ['short 1'])
        self.finish_sweep()


if __name__ == '__main__':
    unittest.main()
