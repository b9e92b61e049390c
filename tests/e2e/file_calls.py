"""Calls of the program under libfile_calls.so: what file_calls.cc reads and writes."""
import collections
import os

from program import read

LIBRARY = os.path.abspath('tests/e2e/libfile_calls.so')
# What changes the files of a folder, and what makes that durable.
CHANGES = ('create', 'write', 'fsync', 'rename', 'unlink', 'rmdir', 'mkdir', 'truncate', 'link')

# `number` is 0 for kinds that are not numbered; `to` is None but for rename and link, `bytes` but
# for write.
FileCall = collections.namedtuple('FileCall', 'number kind result detail path to bytes')


def watched(below, log=None, kinds=None, at=None, act=None):
    """The environment of a process whose calls to files below a folder are logged, or ended."""
    environment = {**os.environ, 'LD_PRELOAD': LIBRARY, 'FILE_CALLS_BELOW': os.path.realpath(below)}
    given = {'LOG': log, 'KINDS': kinds and ','.join(kinds), 'AT': at and str(at), 'DO': act}
    environment.update({f'FILE_CALLS_{key}': value for key, value in given.items() if value})
    return environment


def read_log(path):
    """The calls of a log, in order."""
    log = read(path)
    calls = []
    at = 0
    while at < len(log):
        end = log.index(b'\n', at)
        number, kind, result, detail, *paths = log[at:end].decode().split('\t')
        at = end + 1
        written = None
        if kind == 'write' and int(result) >= 0:
            end = at + int(result)
            written, at = log[at:end], end + 1
        calls.append(FileCall(int(number), kind, int(result), int(detail), paths[0],
                              paths[1] if len(paths) > 1 else None, written))
    return calls
