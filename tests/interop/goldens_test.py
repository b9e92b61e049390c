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
            self.assertGreater(len(made), 10)
            for path in made:
                with self.subTest(path):
                    self.compare(os.path.join(folder, path), os.path.join('testdata', path))

    def compare(self, made, kept):
        with open(made, encoding='utf-8') as file:
            made = file.read()
        with open(kept, encoding='utf-8') as file:
            kept = file.read()
        self.assertEqual(NUMBER.sub('#', made), NUMBER.sub('#', kept))
        # Another processor may round another way.
        np.testing.assert_allclose(np.array(NUMBER.findall(made), float),
                                   np.array(NUMBER.findall(kept), float), rtol=1e-5, atol=1e-6)


if __name__ == '__main__':
    unittest.main()
