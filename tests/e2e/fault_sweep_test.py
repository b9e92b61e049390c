"""No call to a file that fails leaks, loses or changes anything; the message and the code tell of it."""
import unittest

from sweep import INTERRUPTED_KINDS, READ_KINDS, SPACE_KINDS, WRITE_KINDS, SweepTest, scenario


class FaultSweepTest(SweepTest):

    def test_a_training_on_a_full_disk(self):
        self.fail_everywhere(scenario('iris', self.train_iris(5, 5, 1)), WRITE_KINDS,
                             ['fail ENOSPC'])
        self.finish_sweep()

    def test_a_training_on_a_failing_disk(self):
        what = scenario('iris', start=self.train_iris(5, 5, 1), command=self.train_iris(10, 5, 1))
        self.fail_everywhere(what, WRITE_KINDS + ['unlink', 'close'] + READ_KINDS, ['fail EIO'])
        self.finish_sweep()

    def test_outputs_on_a_full_disk(self):
        for what in (scenario('csv', self.CONVERT_CSV),
                     scenario('rows.jsonl', self.predict_iris('rows.jsonl')),
                     scenario('rows.tfrecord', self.predict_iris('rows.tfrecord'))):
            self.fail_everywhere(what, WRITE_KINDS, ['fail ENOSPC'])
        self.finish_sweep()

    def test_a_full_disk_stays_full(self):
        self.fail_everywhere(scenario('iris', self.train_iris(5, 5, 1)), SPACE_KINDS,
                             ['break ENOSPC'])
        self.finish_sweep()

    def test_signals_and_short_reads_and_writes_change_nothing(self):
        what = scenario('iris', start=self.train_iris(5, 5, 1), command=self.train_iris(10, 5, 1))
        self.fail_everywhere(what, INTERRUPTED_KINDS, ['fail EINTR'])
        self.fail_everywhere(what, ['read', 'write'], ['half'])
        self.finish_sweep()


if __name__ == '__main__':
    unittest.main()
