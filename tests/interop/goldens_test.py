"""What make_goldens makes here is what testdata has."""
import os
import re
import tempfile
import unittest

import numpy as np

import make_goldens

NUMBER = re.compile(r'(?<![\w.])-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.])')


class GoldensTest(unittest.TestCase):

    def test_testdata_is_what_tensorflow_says(self):
        with tempfile.TemporaryDirectory() as folder:
            make_goldens.main(folder)
            made = [os.path.relpath(os.path.join(root, name), folder)
                    for root, _, names in os.walk(folder) for name in names]
            self.assertGreater(len(made), 100)
            for path in made:
                with self.subTest(path):
                    self.compare(os.path.join(folder, path), os.path.join('testdata', path))

    def compare(self, made, kept):
        with open(made, encoding='utf-8') as file:
            made = file.read()
        with open(kept, encoding='utf-8') as file:
            kept = file.read()
        self.assertEqual(NUMBER.sub('#', made), NUMBER.sub('#', kept))
        for line, want in zip(made.splitlines(), kept.splitlines()):
            if line == want:
                continue
            # The values of a tensor, or a number. Another processor may round another way.
            values, wanted = (np.array(NUMBER.findall(text.rpartition(']')[2]), float)
                              for text in (line, want))
            largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
            np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-5 * largest, err_msg=want)


if __name__ == '__main__':
    unittest.main()
