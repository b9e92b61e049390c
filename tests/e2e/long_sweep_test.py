"""The sweeps over more calls, of more models: thousands of runs. SWEEP_LOOPS says how many loops a
training is long, each with its checkpoint."""
import os
import unittest

from sweep import INTERRUPTED_KINDS, READ_KINDS, SPACE_KINDS, WRITE_KINDS, SweepTest, scenario

LOOPS = int(os.environ.get('SWEEP_LOOPS', '2'))
CHANGE_KINDS = WRITE_KINDS + ['unlink', 'close']


class LongSweepTest(SweepTest):

    def trainings(self, train, loop):
        """From nothing, keeping three checkpoints; and on from the first loop, keeping one."""
        return [scenario(f'{train.__name__} from nothing', train(LOOPS * loop, loop, 3)),
                scenario(f'{train.__name__} that goes on', start=train(loop, loop, 1),
                         command=train((1 + LOOPS) * loop, loop, 1))]

    def outputs(self):
        commands = {'csv': self.CONVERT_CSV, 'rows.jsonl': self.predict_iris('rows.jsonl'),
                    'rows.tfrecord': self.predict_iris('rows.tfrecord')}
        for name, command in commands.items():
            yield scenario(name, command)
            yield scenario(f'{name} over another', start=command, command=command)

    def kill(self, scenarios):
        for what in scenarios:
            self.kill_everywhere(what, ['kill', 'killed'])
        self.finish_sweep()

    def fail_all(self, scenarios):
        for what in scenarios:
            self.fail_everywhere(what, CHANGE_KINDS, ['fail ENOSPC', 'fail EIO'])
            self.fail_everywhere(what, SPACE_KINDS, ['break ENOSPC'])
            self.fail_everywhere(what, READ_KINDS, ['fail EIO'])
            self.fail_everywhere(what, INTERRUPTED_KINDS, ['fail EINTR'])
            self.fail_everywhere(what, ['read', 'write'], ['half', 'short 1'])
        self.finish_sweep()

    def test_kills_of_iris(self):
        self.kill(self.trainings(self.train_iris, 5))

    def test_kills_of_iris_that_goes_on_with_another_cadence(self):
        self.kill([scenario('iris', start=self.train_iris(5, 5, 1),
                            command=self.train_iris(5 * (1 + LOOPS), 5, 1),
                            again=self.train_iris(5 * (2 + LOOPS), 1000, 1))])

    def test_kills_of_digits(self):
        self.kill(self.trainings(self.train_digits, 3))

    def test_kills_of_mnist(self):
        self.kill(self.trainings(self.train_mnist, 2))

    def test_kills_of_outputs(self):
        self.kill(self.outputs())

    def test_faults_of_iris(self):
        self.fail_all(self.trainings(self.train_iris, 5))

    def test_faults_of_digits(self):
        self.fail_all(self.trainings(self.train_digits, 3))

    def test_faults_of_mnist(self):
        self.fail_all(self.trainings(self.train_mnist, 2))

    def test_faults_of_outputs(self):
        self.fail_all(self.outputs())


if __name__ == '__main__':
    unittest.main()
