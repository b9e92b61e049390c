"""A table of what tpurun reaches beside another program, and what is wrong with it."""
import numpy as np


def spread(scores):
    """The largest one less the smallest one."""
    return max(scores) - min(scores)


def standard_error(share, rows):
    """Of the difference of two such shares of so many rows, as accuracies are; one row at least."""
    return max((2 * share * (1 - share) / rows) ** 0.5, 1 / rows)


class Comparison:
    """A line for each thing compared. A score is worse if its mean over the seeds is so by more than the
    larger spread of the two, and by more than `noise`."""

    def __init__(self, title):
        self.lines = [f'{title:24} {"tpurun":>8} {"spread":>7}   {"":24} {"":8} {"spread":>7}']
        self.failures = []

    def add(self, title, ours, name, theirs, noise=0, higher_is_better=True, only_shown=False):
        sign = 1 if higher_is_better else -1
        worse = sign * (np.mean(theirs) - np.mean(ours))
        allowed = max(spread(ours), spread(theirs), noise)
        self.lines.append(f'{title:24} {np.mean(ours):8.4f} {spread(ours):7.4f}   {name:24} '
                          f'{np.mean(theirs):8.4f} {spread(theirs):7.4f}')
        if worse > allowed and not only_shown:
            self.failures.append(f'{title}: worse than {name} by {worse:.4f}, want {allowed:.4f} at most')

    def finish(self, test):
        print('\n' + '\n'.join(self.lines), flush=True)
        test.assertEqual(self.failures, [])
