"""Functions that are compiled for AVX-512 besides use it: their loops have become vector loops.

A change of flags or of what is compiled with what can undo that without a word: the results stay the
same, and training takes a third longer.
"""
import os
import re
import subprocess
import unittest

CLONE = re.compile(r'[0-9a-f]+ <(.*) \[clone \.arch_x86_64_v4\]>:')
# Its loops end at the first value that does not fit.
SCALAR = re.compile(r'\bCastAll<')


def clones(binary):
    """The name and the instructions of each clone."""
    text = subprocess.run(['objdump', '--disassemble', '--demangle', '--no-show-raw-insn', binary],
                          check=True, capture_output=True, text=True).stdout
    for function in text.split('\n\n'):
        if match := CLONE.match(function):
            yield match.group(1), function


@unittest.skipIf(os.environ.get('TPURUN_NO_AVX512'), 'a build without code for AVX-512')
class VectorLoopsTest(unittest.TestCase):

    def test_a_clone_for_avx512_has_vector_instructions(self):
        found = [(name, '%zmm' in code) for name, code in clones('cli/tpurun')
                 if not SCALAR.search(name)]
        self.assertGreater(len(found), 20)
        self.assertEqual([name for name, good in found if not good], [])


if __name__ == '__main__':
    unittest.main()
