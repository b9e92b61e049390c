"""Recipes of the manual that need Python: each block ends well, in the order of the page.

A section is run in a folder of its own with testdata/iris and testdata/digits: `python` blocks by this
Python, `text` blocks by bash. What they have of /tmp/tpurun and tools/tpurun is there too."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import examples

PAGE = 'cli/manual/cookbook.md'


def sections(text):
    """{title: text} of the numbered ones."""
    parts = re.split(r'^## \d+\. (.+)\n', text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def blocks(text):
    """(language, code) of those to run."""
    return re.findall(r'^```(python|text)\n(.*?)^```$', text, flags=re.MULTILINE | re.DOTALL)


class CookbookTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        for name in 'tools', 'tmp':
            os.mkdir(self.path(name))
        os.symlink(os.path.realpath(examples.BINARY), self.path('tools/tpurun'))
        for example in 'testdata/digits', 'testdata/iris':
            shutil.copytree(example, self.path(example), copy_function=shutil.copyfile)
            self.move_paths(self.path(example, 'run.textproto'))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def moved(self, text):
        """What is written below /tmp/tpurun lies in the folder of the test."""
        return text.replace('/tmp/tpurun', self.path('tmp'))

    def move_paths(self, path):
        with open(path, encoding='utf-8') as file:
            text = file.read()
        with open(path, 'w', encoding='utf-8') as file:
            file.write(self.moved(text))

    def output_of(self, title):
        """What the blocks of a section print."""
        with open(PAGE, encoding='utf-8') as file:
            found = sections(file.read())
        self.assertIn(title, found)
        languages, output = set(), ''
        for language, code in blocks(found[title]):
            command = [sys.executable, '-c'] if language == 'python' else ['bash', '-eu', '-c']
            done = subprocess.run([*command, self.moved(code)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False, timeout=240,
                                  env={**os.environ, 'TF_CPP_MIN_LOG_LEVEL': '3'})
            self.assertEqual(done.returncode, 0, code + done.stdout + done.stderr)
            languages.add(language)
            output += done.stdout
        self.assertEqual(languages, {'python', 'text'})
        return output

    def test_keras_weights(self):
        output = self.output_of('Keras weights')
        keras, = re.findall(r'^Keras: accuracy (\S+)$', output, re.MULTILINE)
        lines = [json.loads(line) for line in output.splitlines() if line.startswith('{')]
        self.assertEqual([line['global_step'] for line in lines], [0, 200, 200])
        self.assertGreater(float(keras), 0.9)
        # Rounding to bf16 may move a flower over the border.
        self.assertAlmostEqual(lines[0]['accuracy'], float(keras), delta=1.5 / 30)
        self.assertGreater(lines[2]['accuracy'], 0.9)

    def test_serving(self):
        output = self.output_of('Serving in TensorFlow and onnxruntime')
        rows = [json.loads(line) for line in output.splitlines() if line.startswith('{')]
        self.assertEqual([row['classes'] for row in rows], [['virginica'], ['setosa'], ['versicolor']])
        theirs = re.search('^TensorFlow (.*)^onnxruntime (.*)', output, re.MULTILINE | re.DOTALL).groups()
        for text in theirs:
            words = re.findall('setosa|versicolor|virginica', text)
            self.assertEqual(words, [row['classes'][0] for row in rows])
            numbers = [float(number) for number in re.findall(r'[\d.]+(?:e-?\d+)?', text)]
            want = [value for row in rows for value in row['probabilities']]
            self.assertEqual(len(numbers), len(want), text)
            for number, value in zip(numbers, want):
                self.assertAlmostEqual(number, value, delta=1e-6)


if __name__ == '__main__':
    unittest.main()
