"""The shards of a test have each of its classes once."""
import os
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

MODULE = '''
import unittest

class Mixin:
    def test_own(self):
        pass

class First(Mixin, unittest.TestCase):
    def test_more(self):
        pass

class Second(Mixin, unittest.TestCase):
    pass

class Third(Mixin, unittest.TestCase):
    pass
'''
CASES = ['First.test_more', 'First.test_own', 'Second.test_own', 'Third.test_own']


class UnittestXmlTest(unittest.TestCase):

    def cases(self, **environment):
        """The names in the test.xml of a run."""
        with tempfile.TemporaryDirectory() as folder:
            path, xml, status = (os.path.join(folder, name) for name in ('classes.py', 'xml', 'status'))
            with open(path, 'w', encoding='utf-8') as file:
                file.write(MODULE)
            kept = {name: value for name, value in os.environ.items() if not name.startswith('TEST_')}
            if environment:
                environment['TEST_SHARD_STATUS_FILE'] = status
            subprocess.run([sys.executable, 'tools/unittest_xml.py', path], check=True, capture_output=True,
                           env={**kept, **environment, 'XML_OUTPUT_FILE': xml})
            self.assertEqual(os.path.exists(status), bool(environment))
            return [case.get('name').removeprefix('classes.')
                    for case in ElementTree.parse(xml).iter('testcase')]

    def test_all_classes_without_shards(self):
        self.assertEqual(self.cases(), CASES)

    def test_each_class_is_in_one_shard(self):
        shards = [self.cases(TEST_TOTAL_SHARDS='2', TEST_SHARD_INDEX=index) for index in '01']
        self.assertEqual(shards, [['First.test_more', 'First.test_own', 'Third.test_own'],
                                  ['Second.test_own']])


if __name__ == '__main__':
    unittest.main()
