"""Python unittest files as tests; each test method is a test case.

They start in the root of the runfiles, so that "cli/tpurun" is the program when it is in data.
"""

def python_test(name, main, data = [], args = [], **kwargs):
    """Runs under Debian's python3 with nothing but its standard library."""
    _test(name, main, data, args, [], **kwargs)

def interop_test(name, main, data = [], args = [], by_hand = False, **kwargs):
    """Runs under a Python with TensorFlow, which tools/test installs; `bazel test //...` leaves it out.

    So does tools/test if it is to be run by hand alone.
    """
    tags = ["manual"] if by_hand else ["interop", "manual"]
    _test(name, main, data, args, ["--interop"], tags = tags, **kwargs)

def _test(name, main, data, args, options, **kwargs):
    native.sh_test(
        name = name,
        srcs = ["//tools:run_python_test.sh"],
        args = options + ["$(location %s)" % main] + args,
        data = [main, "//tools:unittest_xml.py"] + data,
        **kwargs
    )
