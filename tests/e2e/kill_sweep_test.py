"""No call to a file at which the program is killed leaks, loses or changes anything."""
import unittest

from sweep import SweepTest, scenario


class KillSweepTest(SweepTest):

    def test_a_training_from_nothing(self):
        self.kill_everywhere(scenario('iris', self.train_iris(5, 5, 1)))
        self.finish_sweep()

    def test_a_training_that_goes_on_with_another_cadence(self):
        # Only the last checkpoint is kept, whatever the killed run saved.
        self.kill_everywhere(scenario(
            'iris', start=self.train_iris(5, 5, 1), command=self.train_iris(15, 5, 1),
            again=self.train_iris(20, 1000, 1)))
        self.finish_sweep()

    def test_a_training_that_evaluates_and_exports(self):
        self.kill_everywhere(scenario('iris', start=self.train_and_evaluate_iris(5),
                                      command=self.train_and_evaluate_iris(10)))
        self.finish_sweep()

    def test_a_conversion(self):
        self.kill_everywhere(scenario('csv', self.CONVERT_CSV))
        self.finish_sweep()

    def test_predictions(self):
        for name in ('rows.jsonl', 'rows.tfrecord'):
            self.kill_everywhere(scenario(name, self.predict_iris(name)))
        self.finish_sweep()


if __name__ == '__main__':
    unittest.main()
