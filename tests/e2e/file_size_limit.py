"""Calls whose files cannot grow beyond a size, as on a full disk."""
import os
import resource


def file_size_limit(size):
    """Options of ProgramTest.call: no file of it grows beyond so many bytes."""
    # The thread sanitizer starts with a file of its own in TMPDIR, and does without one that it cannot open.
    return {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
            'env': {**os.environ, 'TMPDIR': os.devnull}}
