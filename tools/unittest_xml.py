"""Runs a unittest file and tells Bazel each test case: unittest_xml.py FILE [ARGUMENT]...

The arguments are the file's sys.argv[1:]. Of a test with a shard_count each shard has a part of the classes.
"""
import importlib.util
import os
import sys
import time
import unittest
from xml.etree import ElementTree


class Result(unittest.TextTestResult):
    """Keeps (name, seconds, trouble) of each case; trouble is None, or (tag, text)."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases = []

    def startTest(self, test):
        super().startTest(test)
        self.trouble = None
        self.start = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.cases.append((test.id(), time.monotonic() - self.start, self.trouble))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, 'failure', self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, 'error', self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.trouble = ('failure', self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, 'skipped', reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note(test, 'failure', 'passed, and was expected to fail')

    def note(self, test, tag, text):
        """Files the trouble of the running case, or of a setUpClass or setUpModule that failed."""
        if isinstance(test, unittest.TestCase):
            self.trouble = (tag, text)
        else:
            self.cases.append((test.id(), 0.0, (tag, text)))


def write_xml(path, suite_name, cases):
    suite = ElementTree.Element('testsuite', name=suite_name, tests=str(len(cases)))
    for name, seconds, trouble in cases:
        case = ElementTree.SubElement(suite, 'testcase', name=name, time=f'{seconds:.3f}')
        if trouble is not None:
            ElementTree.SubElement(case, trouble[0]).text = trouble[1]
    ElementTree.ElementTree(suite).write(path, encoding='utf-8', xml_declaration=True)


def shard(suite):
    """The classes of a module that the shard of this process has."""
    if 'TEST_TOTAL_SHARDS' not in os.environ:
        return suite
    with open(os.environ['TEST_SHARD_STATUS_FILE'], 'w', encoding='utf-8'):
        pass  # tells Bazel that the shards differ
    classes = [tests for tests in suite if tests.countTestCases()]
    return unittest.TestSuite(
        classes[int(os.environ['TEST_SHARD_INDEX'])::int(os.environ['TEST_TOTAL_SHARDS'])])


def main():
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path[:0] = [os.path.dirname(os.path.abspath(path)), os.getcwd()]
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    suite = shard(unittest.defaultTestLoader.loadTestsFromModule(module))
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result).run(suite)
    if 'XML_OUTPUT_FILE' in os.environ:
        write_xml(os.environ['XML_OUTPUT_FILE'], name, result.cases)
    if not result.cases:
        sys.exit(f'{path} holds no test')
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == '__main__':
    main()
