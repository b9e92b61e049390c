"""Counts test cases: count_tests.py EVENTS LABELS prints the closing line of tools/test.

EVENTS is what `bazel test --build_event_json_file` wrote, of one call or of several, LABELS holds the label of each test that
should have run, one a line. A case is a <testcase> of a test's test.xml. A test that was not built,
timed out, crashed or names no case counts as one. Exit code 0 when none failed.
"""
import collections
import json
import sys
import urllib.parse
from xml.etree import ElementTree

Count = collections.namedtuple('Count', 'passed failed skipped')


def count_cases(xml):
    """The Count of one test.xml (its text)."""
    passed = failed = skipped = 0
    for case in ElementTree.fromstring(xml).iter('testcase'):
        if case.find('failure') is not None or case.find('error') is not None:
            failed += 1
        elif case.find('skipped') is not None or case.get('status') == 'notrun':
            skipped += 1
        else:
            passed += 1
    return Count(passed, failed, skipped)


def count_result(result, read):
    """The Count of one testResult event; read(path) gives a file's text."""
    count = Count(0, 0, 0)
    for output in result.get('testActionOutput', []):
        if output['name'] == 'test.xml' and output.get('uri', '').startswith('file://'):
            path = urllib.parse.unquote(urllib.parse.urlparse(output['uri']).path)
            try:
                count = count_cases(read(path))
            except (OSError, ElementTree.ParseError):
                pass
    if result['status'] in ('PASSED', 'FLAKY'):
        return count if sum(count) else Count(1, 0, 0)
    return count._replace(failed=max(count.failed, 1))


def count_events(lines, labels, read):
    """(Count, labels with a failure). lines are the events, labels the tests that should have run."""
    results = {}  # (label, call, run, shard) -> Count of its last attempt
    calls = 0
    for line in lines:
        event = json.loads(line)
        calls += 'started' in event.get('id', {})
        key = event.get('id', {}).get('testResult')
        if key and 'testResult' in event:
            place = (key['label'], calls, key.get('run', 1), key.get('shard', 1))
            results[place] = count_result(event['testResult'], read)
    ran = {place[0] for place in results}
    for label in set(labels) - ran:
        results[(label, 0, 1, 1)] = Count(0, 1, 0)
    total = Count(*(sum(column) for column in zip((0, 0, 0), *results.values())))
    return total, sorted({place[0] for place, count in results.items() if count.failed})


def read_text(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def main():
    events, labels = sys.argv[1:]
    total, failing = count_events(read_text(events).splitlines(), read_text(labels).split(), read_text)
    for label in failing:
        print(f'FAILED {label}')
    if total.skipped:
        print(f'{total.skipped} skipped')
    print(f'{total.passed} passed, {total.failed} failed')
    sys.exit(1 if total.failed else 0)


if __name__ == '__main__':
    main()
