"""Processes of mpirun with tests/fabric/mpi_process: collectives, and what the others notice of a
process that is killed, stopped, interrupted or ends."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROCESS = os.path.abspath('tests/fabric/mpi_process')
# Far more than any run here takes, but under a sanitizer; only a hang reaches it.
TIMEOUT_SECONDS = int(os.environ.get('TPURUN_TIMEOUT', '60'))
# The others go on when a process is killed or ends with an error, as under srun.
GO_ON = ('--enable-recovery',)


class Run:
    """What a run left: the exit code of mpirun, the lines of standard output, the errors by rank,
    the seconds it took."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds
        self.errors = {int(rank): text
                       for rank, text in re.findall(r'^(\d+): (.*)$', err, re.MULTILINE)}

    def __str__(self):
        return f'exit code {self.code}\nstandard output:\n{self.out}\nstandard error:\n{self.err}'


def start(size, *steps, timeout=20, options=()):
    environment = {**os.environ, 'OMPI_ALLOW_RUN_AS_ROOT': '1',
                   'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    return subprocess.Popen(
        ['mpirun', '--oversubscribe', *options, '-np', str(size), PROCESS, str(timeout), *steps],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment)


def run(size, *steps, **options):
    begin = time.monotonic()
    process = start(size, *steps, **options)
    try:
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        raise
    return Run(process.returncode, out, err, time.monotonic() - begin)


class MpiFabricTest(unittest.TestCase):

    def assert_ok(self, done):
        self.assertEqual((done.code, done.errors), (0, {}), str(done))

    def test_every_collective_has_the_bits_of_a_tree(self):
        for size in (2, 4):
            with self.subTest(size=size):
                done = run(size, 'check', 'child', 'print')
                self.assert_ok(done)
                self.assertEqual(sorted(line.split()[0] for line in done.out.splitlines()),
                                 [str(rank) for rank in range(size)])

    def test_collectives_through_tcp(self):
        self.assert_ok(run(2, 'check', options=('--mca', 'btl', 'tcp,self')))

    def test_a_number_of_processes_that_is_no_power_of_2_is_refused(self):
        done = run(3, 'print')
        self.assertEqual((done.code, done.out), (2, ''), str(done))
        self.assertEqual(set(done.errors.values()),
                         {'the number of processes must be a power of 2, got 3, want 2, 4, 8 ...'})

    def test_one_process_is_not_started_by_mpi(self):
        self.assertEqual(run(1, 'print').errors, {0: 'not started by MPI'})
        done = subprocess.run([PROCESS, '20', 'print'], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, ': not started by MPI\n')

    def run_with_library(self, make):
        """Runs a process by itself, with the file that make(path) makes in place of libmpi.so.40."""
        with tempfile.TemporaryDirectory() as folder:
            make(os.path.join(folder, 'libmpi.so.40'))
            environment = {**os.environ, 'OMPI_COMM_WORLD_SIZE': '2', 'LD_LIBRARY_PATH': folder}
            done = subprocess.run([PROCESS, '20', 'print'], capture_output=True, text=True,
                                  check=False, env=environment)
            return Run(done.returncode, done.stdout, done.stderr, 0)

    def test_a_missing_library_is_named_with_its_package(self):
        done = self.run_with_library(lambda path: open(path, 'wb').close())
        self.assertEqual(done.code, 66, str(done))
        self.assertRegex(done.err, r'started by mpirun or srun, but libmpi\.so\.40 of Open MPI cannot be '
                         r'opened: .+; install it: apt-get install libopenmpi3 openmpi-bin$')

    def test_another_mpi_is_refused(self):
        done = self.run_with_library(lambda path: shutil.copy('tests/fabric/other_mpi.so', path))
        self.assertEqual(done.code, 65, str(done))
        self.assertEqual(done.err, ': libmpi.so.40 is of another MPI: got "MPICH Version: 4.0.2", '
                         'want that of Open MPI 4 or 5\n')

    def test_a_killed_process_is_named(self):
        done = run(4, 'sum', 'rank=1', 'kill', 'sums', timeout=2, options=GO_ON)
        self.assertEqual(set(done.errors), {0, 2, 3}, str(done))
        for text in done.errors.values():
            self.assertRegex(text, r'^process 1 \(.+\) (has not answered for 2 s|is lost, says process \d)')

    def test_a_killed_process_ends_the_others_under_mpirun(self):
        done = run(2, 'sum', 'rank=1', 'kill', 'sums')
        self.assertEqual(done.code, 128 + signal.SIGKILL, str(done))
        self.assertLess(done.seconds, 20, str(done))

    def test_a_stopped_process_is_named(self):
        done = run(2, 'sum', 'rank=1', 'stop', 'sums', timeout=2)
        self.assertEqual(done.code, 75, str(done))
        self.assertRegex(done.errors[0], r'^process 1 \(.+\) has not answered for 2 s$')

    def test_a_process_that_works_longer_than_the_timeout_is_alive(self):
        self.assert_ok(run(2, 'sum', 'rank=0', 'sleep=3', 'sum', timeout=2))

    def test_a_process_that_ends_first_waits_for_the_others(self):
        self.assert_ok(run(4, 'sum', 'rank!=2', 'sleep=3', timeout=2))

    def test_a_process_that_has_ended_is_named(self):
        done = run(2, 'sum', 'rank=0', 'sum')
        self.assertEqual(done.code, 75, str(done))
        self.assertRegex(done.errors[0], r'^process 1 \(.+\) has ended$')

    def test_an_error_ends_the_others(self):
        done = run(2, 'sum', 'rank=1', 'fail', 'sums')
        self.assertIn(done.code, (65, 75), str(done))
        self.assertLess(done.seconds, 20, str(done))

    def test_abort_ends_the_others(self):
        done = run(4, 'sum', 'rank=1', 'abort', 'sums')
        self.assertEqual((done.code, done.errors), (75, {}), str(done))
        self.assertLess(done.seconds, 20, str(done))

    def test_the_second_interrupt_ends_a_wait(self):
        # Process 1 comes later and must not take what process 0 has given up for a sum.
        done = run(2, 'sum', 'interrupt=1', 'sum', 'rank=0', 'interrupt=2', 'rank=1', 'sleep=1', 'sum',
                   options=GO_ON)
        self.assertRegex(done.errors[0], r'^interrupted while waiting for process 1 \(.+\)$')
        self.assertRegex(done.errors[1], r'^process 0 \(.+\) has failed$')

    def test_a_stopped_job_goes_on(self):
        # Time in which a process is stopped itself does not count.
        process = start(2, 'sum', 'print', 'sleep=2', 'sum', timeout=2)
        pids = [int(process.stdout.readline().split()[1]) for _ in range(2)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        self.assert_ok(Run(process.returncode, out, err, 0))


if __name__ == '__main__':
    unittest.main()
