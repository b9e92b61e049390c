"""README.md has each case once, and says which file here has it."""
import glob
import os
import re
import unittest

FOLDER = 'tests/contract'
CASES = 178


def read(name):
    with open(os.path.join(FOLDER, name), encoding='utf-8') as file:
        return file.read()


class ReadmeTest(unittest.TestCase):

    def setUp(self):
        rows = re.findall(r'^\| (\d+) \| (A?) ?\| .* \| (.*) \|$', read('README.md'), re.M)
        self.places = {int(case): place for case, _, place in rows}
        self.marked = [int(case) for case, mark, _ in rows if mark]
        self.cases = [int(case) for case, _, _ in rows]

    def test_every_case_has_a_row(self):
        self.assertEqual(self.cases, list(range(1, CASES + 1)))
        self.assertEqual(len(self.marked), 97)

    def test_the_files_named_have_the_cases(self):
        tested = {}
        for path in sorted(glob.glob(f'{FOLDER}/*_test.py')):
            name = os.path.splitext(os.path.basename(path))[0]
            for numbers in re.findall(r'def test_((?:\d{3}_)+)', read(os.path.basename(path))):
                for number in numbers.strip('_').split('_'):
                    tested[int(number)] = name
        named = {case: re.match(r'\w+_test\b', place).group() for case, place in self.places.items()
                 if re.match(r'\w+_test\b', place)}
        self.assertEqual(tested, named)
        self.assertEqual(len([case for case in self.marked if case in tested]), 91)


if __name__ == '__main__':
    unittest.main()
