"""Runs every shell block of README.md and of the other pages, in order, as a user would, in a copy of
what they touch; each page in a fresh one."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

# Far more than any block takes, but under a sanitizer.
TIMEOUT_SECONDS = int(os.environ.get("TPURUN_TIMEOUT", "120"))

# Of tools/bench, which takes minutes, only the command line is read.
BENCH_STUB = """#!/bin/sh
/usr/bin/python3 '{bench}' --print-needs "$@" >&2 && echo '{{"ratio":{{"median":1}}}}'
"""

# tools/test runs this very test; here it only has to be called with what it takes.
TEST_STUB = """#!/bin/sh
[ $# -eq 0 ] || [ "$*" = "--quick" ] || { echo "tools/test takes no '$*'" >&2; exit 2; }
"""


def shell_blocks(text):
    return re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


class PageTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tpurun_readme_")
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(os.path.join(self.folder, "tools"))
        os.mkdir(os.path.join(self.folder, "models"))
        os.symlink(os.path.realpath("cli/tpurun"), os.path.join(self.folder, "tools/tpurun"))
        bench = BENCH_STUB.format(bench=os.path.realpath("tests/bench/bench.py"))
        for name, text in (("tools/test", TEST_STUB), ("tools/bench", bench)):
            stub = os.path.join(self.folder, name)
            with open(stub, "w") as file:
                file.write(text)
            os.chmod(stub, 0o755)
        shutil.copytree("models/zoo", os.path.join(self.folder, "models/zoo"))
        for example in ("testdata/digits", "testdata/iris", "testdata/reviews"):
            shutil.copytree(example, os.path.join(self.folder, example))
            config = os.path.join(self.folder, example, "run.textproto")
            text = open(config).read()
            os.remove(config)
            with open(config, "w") as file:
                file.write(text.replace("/tmp/tpurun", self.folder + "/models"))

    def run_block(self, block):
        # pipefail would count `head` closing a pipe; -e and -u are what a careful script has.
        return subprocess.run(
            ["bash", "-eu", "-c", block],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )

    def output_of(self, page):
        """What the blocks of the page print."""
        output = ""
        for block in shell_blocks(open(page).read()):
            # The blocks write below /tmp/tpurun; theirs are moved into the scratch folder.
            block = block.replace("/tmp/tpurun", self.folder + "/models")
            result = self.run_block(block)
            self.assertEqual(result.returncode, 0, block + result.stdout + result.stderr)
            output += result.stdout
        return output

    def test_readme(self):
        output = self.output_of("README.md")
        # What the text promises.
        digits = re.search(r"^(0\.\d+|1)\n((?:\[\d\]\n)+)", output, flags=re.MULTILINE)
        self.assertTrue(digits, output)
        self.assertGreaterEqual(float(digits.group(1)), 0.97)
        self.assertEqual(len(digits.group(2).split()), 10)
        mine = re.search(r'{"examples":12,"accuracy":(\S+)}', output)
        self.assertTrue(mine, output)
        self.assertGreaterEqual(float(mine.group(1)), 0.9)
        self.assertIn('"global_step":1000', output)
        self.assertIn('stopped with 75\n{"steps":1000}', output)
        self.assertIn('{"global_step":300,"steps":300}', output)
        self.assertIn(
            "buffer_size: 10  # command line: --set train.input.transform.shuffle.buffer_size=10\n",
            output,
        )
        self.assertIn("[2]\n[0]\n[1]\n", output)

    def test_data(self):
        output = self.output_of("cli/manual/data.md")
        self.assertIn("120\nTFRecord file ", output)
        self.assertIn("label=int64[1] measures=float[4]", output)
        self.assertIn('{"examples":30,"accuracy":', output)
        self.assertRegex(output, r'digits\.png: 32 rows of feature "image" FLOAT32 \[8,8,1\], shown as 128x128 pixels')
        self.assertRegex(output, r"(?m)^\[1,1,\d\]$")

    def test_cookbook(self):
        text = open("cli/manual/cookbook.md").read()
        self.assertEqual(re.findall(r"^## (\d+)\. ", text, re.MULTILINE), [str(i) for i in range(1, 17)])
        output = self.output_of("cli/manual/cookbook.md")
        # Weights of classes find the rare class.
        self.assertIn('"recall_of_2":0}', output)
        self.assertIn('"recall_of_2":1}', output)
        self.assertIn('{"text":"A superb case!","class_ids":[1]}\n{"text":"Dull and flimsy.","class_ids":[0]}', output)
        self.assertIn('{"classes":["positive"]}\n{"classes":["negative"]}', output)
        tuned = re.search(r'{"examples":299,"accuracy":(\S+)}', output)
        self.assertGreaterEqual(float(tuned.group(1)), 0.9)
        self.assertRegex(output, r'{"examples":256,"accuracy":0\.\d+,"mean_iou":0\.\d+}')

    def test_model_dir(self):
        self.assertIn("int64", self.output_of("cli/manual/model_dir.md"))

    def test_training(self):
        self.assertIn('stopped with 75\n{"steps":1000}', self.output_of("cli/manual/training.md"))

    def test_the_manual_is_listed_in_the_readme(self):
        text = open("README.md").read()
        pages = glob.glob("cli/manual/*.md")
        self.assertGreaterEqual(len(pages), 14)
        for page in pages:
            self.assertIn(f"({page})", text)

    def test_every_verb_is_in_the_table_of_the_readme(self):
        verbs = subprocess.run(["cli/tpurun", "help"], capture_output=True, text=True).stdout
        verbs = re.findall(r"^  (\w+) ", verbs.split("verbs:")[1].split("\n\n")[0], re.MULTILINE)
        self.assertGreaterEqual(len(verbs), 14)
        text = open("README.md").read()
        for verb in verbs:
            self.assertIn(f"\n| `{verb}` |", text)

    def test_the_two_commands_are_there(self):
        text = open("README.md").read()
        self.assertIn("\ntools/tpurun train --config=testdata/digits/run.textproto\n", text)
        self.assertIn("\ntools/test\n", text)

    def test_every_folder_of_the_map_exists(self):
        text = open("README.md").read()
        folders = re.findall(r"^\| `(\w+)/` \|", text, flags=re.MULTILINE)
        self.assertGreaterEqual(len(folders), 9)
        root = os.path.dirname(os.path.realpath("README.md"))
        for folder in folders:
            self.assertTrue(os.path.isdir(os.path.join(root, folder)), folder)


def add_pages():
    """A test for each page that has none above."""
    for page in ("models/zoo/README.md", "tests/bench/README.md", *sorted(glob.glob("cli/manual/*.md"))):
        folder, file = os.path.split(page)
        name = f"test_{os.path.basename(folder) if file == 'README.md' else file[:-len('.md')]}"
        if not hasattr(PageTest, name):
            setattr(PageTest, name, lambda self, page=page: self.output_of(page))


add_pages()

if __name__ == "__main__":
    unittest.main()
