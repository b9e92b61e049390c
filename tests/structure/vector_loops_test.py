"""Functions that are compiled for AVX2 and for AVX-512 besides use them: their loops have become vector
loops.

A change of flags or of what is compiled with what can undo that without a word: the results stay the
same, and training takes a third longer.
"""
import os
import re
import subprocess
import unittest

CLONE = re.compile(r'[0-9a-f]+ <(.*) \[clone \.arch_x86_64_(v[34])\]>:')
REGISTERS = {'v3': '%ymm', 'v4': '%zmm'}
# Its loops end at the first value that does not fit. AVX2 cannot make floats of 64-bit integers.
SCALAR = {'v3': re.compile(r'\bCastAll<|<long>\('), 'v4': re.compile(r'\bCastAll<')}


def clones(binary):
    """The name, the level and the instructions of each clone."""
    text = subprocess.run(['objdump', '--disassemble', '--demangle', '--no-show-raw-insn', binary],
                          check=True, capture_output=True, text=True).stdout
    for function in text.split('\n\n'):
        if match := CLONE.match(function):
            yield *match.groups(), function


@unittest.skipIf(os.environ.get('TPURUN_NO_AVX512'), 'a build without code for AVX-512')
class VectorLoopsTest(unittest.TestCase):

    def test_a_clone_has_the_vectors_of_its_level(self):
        found = [(name, level, REGISTERS[level] in code) for name, level, code in clones('cli/tpurun')
                 if not SCALAR[level].search(name)]
        for level in REGISTERS:
            self.assertGreater(sum(of == level for _, of, _ in found), 20)
        self.assertEqual([(name, level) for name, level, good in found if not good], [])


if __name__ == '__main__':
    unittest.main()
