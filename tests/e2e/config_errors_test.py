"""Every mistake of testdata/config_errors, as `train` tells it: before it writes anything."""
import os
import re
import shutil
import unittest

import program

CASES = 'testdata/config_errors'


class ConfigErrorsTest(program.ProgramTest):

    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.abspath(CASES), self.path(CASES))

    def run_case(self, name):
        text = program.read(self.path(CASES, name + '.textproto')).decode()
        want = program.read(self.path(CASES, name + '.error')).decode().splitlines()
        arguments = ['train', f'--config={CASES}/{name}.textproto']
        # Where there is none, or a wrong one, that is what the case is about.
        if not any('model_dir' in line for line in want):
            arguments.append('--model_dir=model')
        arguments += re.findall(r'^# flags: (.*)$', text, re.MULTILINE)
        before = program.tree(self.dir)
        done = self.call(*arguments)
        self.assertEqual(f'exit code {done.code}', want[0], str(done))
        self.assertEqual(done.out, '')
        self.assertEqual(program.tree(self.dir), before)
        # The others are of several verbs.
        if not re.search('^# use:', text, re.MULTILINE):
            self.assertEqual(done.err.splitlines(), [program.MESSAGE + line for line in want[1:]])


def add_cases():
    names = sorted(name[:-len('.textproto')] for name in os.listdir(CASES)
                   if name.endswith('.textproto'))
    for name in names:
        setattr(ConfigErrorsTest, 'test_' + name, lambda self, name=name: self.run_case(name))


add_cases()

if __name__ == '__main__':
    unittest.main()
