"""The machine that tools/bench measures on, and the programs that run there one at a time."""
import os
import re
import subprocess
import tempfile
import threading
import time
import typing

# A machine is quiet, and a program undisturbed, when all others together take less than this part of
# its processors.
QUIET_SHARE = 0.03

# The kinds of machines, by the first of these flags that a processor has.
KINDS = (('amx_bf16', 'AMX'), ('avx512_bf16', 'AVX-512 with bf16'), ('avx512f', 'AVX-512'),
         ('avx2', 'AVX2'))

# The kinds that a newer machine can stand for, and the settings by which the libraries of all programs
# use no instructions that the kind lacks. tpurun is built so: bazel --config=avx2.
LIMITS = {'AVX2': {'ATEN_CPU_CAPABILITY': 'avx2', 'MKL_ENABLE_INSTRUCTIONS': 'AVX2',
                   'ONEDNN_MAX_CPU_ISA': 'AVX2', 'XLA_FLAGS': '--xla_cpu_max_isa=AVX2'}}


class Failure(Exception):
    """A program did not do its part; the message is for the user."""


def processor(limit=None):
    """{'model': its name, family and model number, 'kind': one of KINDS, 'cpus': how many this process may use};
    with a kind of LIMITS the machine as one of that kind. In a virtual machine the name alone, as "AMD EPYC", is that
    of several generations."""
    with open('/proc/cpuinfo', encoding='utf-8') as file:
        text = file.read()

    def of(key):
        found = re.search(rf'^{key}\s*: (.*)$', text, re.MULTILINE)
        return found.group(1) if found else 'unknown'
    flags = set(of('flags').split())
    kind = next((kind for flag, kind in KINDS if flag in flags), 'x86-64')
    model = f'{of("model name")} (family {of("cpu family")}, model {of("model")})'
    if limit not in (None, kind):
        model, kind = f'{model} limited to {limit}', limit
    return {'model': model, 'kind': kind,
            'cpus': len(os.sched_getaffinity(0))}


def busy_seconds():
    """Processor seconds that anybody used since the machine started, stolen ones included, and the
    stolen ones."""
    with open('/proc/stat', encoding='utf-8') as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    tick = os.sysconf('SC_CLK_TCK')
    return (user + nice + system + irq + softirq + steal) / tick, steal / tick


def wait_until_quiet(seconds):
    """Waits for one quiet second, but no longer than the seconds given, at least one."""
    end = time.monotonic() + seconds
    while True:
        (busy, _), start = busy_seconds(), time.monotonic()
        time.sleep(1)
        busy, elapsed = busy_seconds()[0] - busy, time.monotonic() - start
        if busy < QUIET_SHARE * os.cpu_count() * elapsed or time.monotonic() >= end:
            return


def output_of(command, **environment):
    """What a program prints whose time does not matter."""
    done = subprocess.run(command, env=os.environ | environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f'{" ".join(command)}\nexit code {done.returncode}: {done.stderr}')
    return done.stdout


class Run(typing.NamedTuple):
    """What one program did. `others` and `steal`: the part of the processors that other programs took
    meanwhile, stolen time included, and the part that was stolen."""
    output: str
    seconds: float
    peak_bytes: int
    others: float
    steal: float


class Runner:
    """Runs what is measured, and sees who else is at work meanwhile. All programs have `settings`, as
    of LIMITS, in their environment."""

    def __init__(self, quiet_wait, settings):
        self.quiet_wait = quiet_wait
        self.settings = settings

    def run(self, command, limit=None, **environment):
        """It sees no settings of threads or allocators but those given. It is ended, a Failure, after
        `limit` seconds."""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(('OMP_', 'GOMP_', 'KMP_', 'MKL_', 'OPENBLAS_', 'LD_PRELOAD'))}
        wait_until_quiet(self.quiet_wait)
        with tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err:
            (busy, steal), start = busy_seconds(), time.monotonic()
            child = subprocess.Popen(command, env=env | self.settings | environment, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err)
            ended = threading.Timer(limit, child.kill) if limit else None
            if ended:
                ended.start()
            _, status, usage = os.wait4(child.pid, 0)
            if ended:
                ended.cancel()
            seconds = time.monotonic() - start
            if limit and seconds >= limit:
                child.returncode = 1
                raise Failure(f'{" ".join(command)}\ntakes over {limit:g} s')
            all_busy, all_steal = busy_seconds()
            child.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            out.seek(0)
            if child.returncode:
                raise Failure(f'{" ".join(command)}\nexit code {child.returncode}: '
                              f'{err.read()[-4000:]}')
            available = seconds * os.cpu_count()
            # The system counts in ticks, for each processor.
            unsure = os.cpu_count() / os.sysconf('SC_CLK_TCK')
            others = (all_busy - busy - usage.ru_utime - usage.ru_stime - unsure) / available
            return Run(out.read(), seconds, usage.ru_maxrss * 1024, max(0, others),
                       (all_steal - steal) / available)
