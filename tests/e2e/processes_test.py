"""Several processes that mpirun starts train together: the bits of one, errors, kills, interrupts."""
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import time

from program import (BINARY, MPI_ENVIRONMENT, NORMALIZED_IRIS, ProgramTest, checkpoint_files, finished,
                     latest_step, mpirun, read, write)

CORES = ('--set', 'tpu_config.num_shards=16')


def predicted(path):
    """The flags to predict the rows of a file."""
    return ('--predict_batch_size=16', '--set', f'predict.input={{source {{text_line {{file: "{path}" '
            'skip_lines: 1}} transform {apply {transformation_func: "parse"}}}')


class ProcessesTest(ProgramTest):

    def start_mpi(self, size, *arguments, options=()):
        process = subprocess.Popen(
            [*mpirun(size, *options), BINARY, *arguments, '--worker_threads=1'],
            cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=MPI_ENVIRONMENT)
        self.addCleanup(self.end_mpi, process)
        return process

    def end_mpi(self, process):
        if process.poll() is None:
            process.terminate()  # mpirun ends its processes; killed it could not
            process.wait()
        self.end(process)

    def mpi(self, size, *arguments, **options):
        return self.finish(self.start_mpi(size, *arguments, **options))

    def train(self, size, arguments):
        """The checkpoint of a training by so many processes."""
        done = self.mpi(size, *arguments) if size > 1 else self.call(*arguments)
        self.assertEqual(done.code, 0, str(done))
        return json.loads(done.out)

    def checkpoint(self, model_dir, step):
        return checkpoint_files(self.path(model_dir, f'model.ckpt-{step}'))

    def ranks(self, mpirun):
        """The process ids of the ranks."""
        with open(f'/proc/{mpirun.pid}/task/{mpirun.pid}/children', encoding='ascii') as file:
            return [int(pid) for pid in file.read().split()]

    def ends(self, mpirun):
        """The exit code of mpirun. Open MPI 4.1 may wait for ever after a rank was killed while MPI
        was initialized; all ranks have ended then."""
        try:
            mpirun.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            for rank in self.ranks(mpirun):
                with open(f'/proc/{rank}/stat', encoding='ascii') as file:
                    self.assertEqual(file.read().rsplit(')', 1)[1].split()[0], 'Z', rank)
            mpirun.terminate()
            mpirun.communicate()
        return mpirun.returncode

    def test_the_bits_of_one_process(self):
        for name, flags in (('iris', ()), ('groups', NORMALIZED_IRIS)):
            arguments = lambda model_dir: self.iris(
                'train', model_dir, '--train_batch_size=64', '--max_steps=50', *CORES, *flags)
            want = self.train(1, arguments(f'{name}_1'))
            for size in (2, 4):
                got = self.train(size, arguments(f'{name}_{size}'))
                for key in ('global_step', 'loss', 'loss_shard_0'):
                    self.assertEqual(got[key], want[key], (name, size, key))
                self.assertEqual(self.checkpoint(f'{name}_{size}', 50),
                                 self.checkpoint(f'{name}_1', 50), (name, size))
                self.assertEqual(sorted(os.listdir(self.path(f'{name}_{size}')))[:1],
                                 sorted(os.listdir(self.path(f'{name}_1')))[:1])

    def test_another_number_of_processes_goes_on(self):
        steps = lambda model_dir, n: self.iris(
            'train', model_dir, '--train_batch_size=64', f'--max_steps={n}', *CORES, *NORMALIZED_IRIS)
        self.train(1, steps('whole', 40))
        for step, size in zip((10, 20, 30, 40), (1, 4, 2, 1)):
            self.train(size, steps('parts', step))
        self.assertEqual(self.checkpoint('parts', 40), self.checkpoint('whole', 40))

    def test_without_num_shards_each_process_has_the_cores_of_a_host(self):
        arguments = lambda model_dir, *flags: self.iris(
            'train', model_dir, '--train_batch_size=64', '--max_steps=20', *flags)
        self.train(2, arguments('two', '--unset', 'tpu_config.num_shards'))
        self.train(1, arguments('sixteen', *CORES))
        self.assertEqual(self.checkpoint('two', 20), self.checkpoint('sixteen', 20))

    def test_a_mistake_is_told_once(self):
        for size, flags, code, message in (
                (4, ('--set', 'tpu_config.num_shards=8'), 2, 'num_shards: got 8 for 4 processes'),
                (2, ('--use_tpu=false',), 2, 'use_tpu: got false, which runs one replica'),
                (2, ('--set', 'train.input.source.text_line.file=absent.csv', *CORES), 66,
                 'absent.csv')):
            done = self.mpi(size, *self.iris('train', 'model', '--train_batch_size=64', *flags))
            self.assertEqual((done.code, len(done.messages)), (code, 1), str(done))
            self.assertIn(message, done.messages[0])
            self.assertFalse(os.path.exists(self.path('model')))

    def test_an_evaluation_is_that_of_one_process(self):
        self.train(2, self.iris('train', 'model', '--max_steps=20', '--train_batch_size=64', *CORES))
        want = self.result(self.succeed(*self.iris('evaluate', 'model', *CORES)))
        for size in (2, 4):
            for form in ('PER_HOST_V1', 'BROADCAST'):
                done = self.mpi(size, *self.iris(
                    'evaluate', 'model', *CORES, '--set',
                    f'tpu_config.per_host_input_for_training={form}'))
                self.assertEqual(done.code, 0, str(done))
                got = self.result(done)
                for key in ('examples', 'loss', 'accuracy', 'global_step'):
                    self.assertEqual(got[key], want[key], (size, form, key))
        self.assertEqual(os.listdir(self.path('model', 'eval'))[1:], [])

    def test_predictions_are_those_of_one_process_in_order(self):
        self.train(2, self.iris('train', 'model', '--max_steps=20', '--train_batch_size=64', *CORES))
        rows = read(self.path('iris/iris_test.csv')).decode().splitlines(True)
        write(self.path('rows.csv'), ''.join(rows[:21]))
        predict = (*predicted(self.path('rows.csv')), *CORES)
        for flags in ((), ('--set', 'predict.forward_features=["SepalLength"]')):
            arguments = self.iris('predict', 'model', *predict, *flags)
            want = self.succeed(*arguments)
            self.assertEqual(len(want.out.splitlines()), 20)
            for size in (2, 4):
                for form in ('PER_HOST_V1', 'BROADCAST'):
                    done = self.mpi(size, *arguments, '--set',
                                    f'tpu_config.per_host_input_for_training={form}')
                    self.assertEqual((done.code, done.out), (0, want.out), str(done))
        # Of the second batch the second process reads the row that is wrong.
        write(self.path('rows.csv'), ''.join(rows[:30] + ['a,b,c,d,e\n']))
        done = self.mpi(2, *arguments)
        self.assertEqual((done.code, len(done.messages)), (65, 1), str(done))
        self.assertIn('rows.csv:31', done.messages[0])
        self.assertEqual(len(done.out.splitlines()), 16)

    def test_what_only_the_chief_can_read_is_refused(self):
        self.train(1, self.iris('train', 'model', '--max_steps=20', '--train_batch_size=64', *CORES))
        done = self.mpi(2, *self.iris('evaluate', 'model', '--eval_batch_size=16', '--input=-',
                                      *CORES))
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('standard input can be read only once, and 2 processes', done.messages[0])

    def test_processes_that_differ_are_refused_with_the_difference(self):
        self.make_elsewhere()
        train = ('train', '--train_batch_size=64', '--max_steps=20', *CORES)
        self.train(1, self.iris(train[0], 'model', *train[1:]))
        seed = '--set=tf_random_seed=2'
        self.train(1, ('train', '--config=elsewhere/iris/run.textproto',
                       '--model_dir=elsewhere/model', *train[1:], seed))
        # One path, of other files in each folder.
        os.symlink('/proc/self/cwd', self.path('here'))
        here = self.path('here/iris')
        local = lambda verb, model_dir, *flags: (verb, '--config=' + here + '/run.textproto',
                                                 f'--model_dir={model_dir}', *CORES, *flags)
        predict = local('predict', self.path('model'), *predicted(f'{here}/iris_test.csv'))
        vocabulary = local('train', self.path('model_2'), *train[1:], *(flag for transform in (
            'cast { feature: "Species" dtype: INT64 }',
            f'lookup {{ feature: "Species" vocabulary_file: "{here}/ids" }}',
            'cast { feature: "Species" dtype: INT32 }') for flag in (
                '--set', f'transformation_func.0.transform+={{ {transform} }}')))
        evaluate = lambda *flags: self.iris('evaluate', 'model', *CORES, *flags)
        for where, first, second, difference in (
                ('elsewhere', local('evaluate', self.path('model')), None,
                 'data .*: got "iris_test.csv: [^"]*", the chief has "iris_test.csv: '),
                ('elsewhere', predict, None,
                 'data .*: got "iris_test.csv: [^"]*", the chief has "iris_test.csv: '),
                ('elsewhere', vocabulary, None, 'contents of vocabularies .*: modified: '
                 r'train.input.transform\[[0-9]+\].lookup.vocabulary_file: "6 '),
                ('elsewhere', ('evaluate', '--config=' + self.path('iris/run.textproto'),
                               '--model_dir=' + self.path('here/model'), *CORES), None,
                 'weights .*: got "hidden_1/bias: '),
                ('.', evaluate(), self.iris('train', 'model', *train[1:]),
                 'command: got "train", the chief has "evaluate"'),
                ('.', self.iris('train', 'model_2', *train[1:]),
                 self.iris('train', 'model_2', *train[1:], '--max_steps=30'),
                 'configuration .*: modified: train.max_steps: 20 -> 30;'),
                ('.', evaluate(), evaluate('--eval_batch_size=64'),
                 'configuration .*: modified: eval_batch_size: [0-9]+ -> 64;')):
            done = self.pair(where, first, second or first)
            self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
            self.assertRegex(done.messages[0],
                             'process 1: differs from the chief, process 0: ' + difference)
        self.assertFalse(os.path.exists(self.path('model_2')))

    def make_elsewhere(self):
        """A folder as of another machine: the input and a vocabulary with lines in another order."""
        shutil.copytree(self.path('iris'), self.path('elsewhere/iris'))
        header, *rows = read(self.path('iris/iris_test.csv')).decode().splitlines(True)
        write(self.path('elsewhere/iris/iris_test.csv'), header + ''.join(reversed(rows)))
        write(self.path('iris/ids'), '0\n1\n2\n')
        write(self.path('elsewhere/iris/ids'), '2\n1\n0\n')

    def pair(self, where, first, second):
        """A run of two processes with other arguments, the second in a folder of its own."""
        elsewhere = ('sh', '-c', f'cd {where} && exec "$@"', 'sh')
        return finished(
            [*mpirun(1), BINARY, *first, '--worker_threads=1', ':', '-np', '1', *elsewhere, BINARY,
             *second, '--worker_threads=1'], cwd=self.dir, env=MPI_ENVIRONMENT)

    def test_a_configuration_from_standard_input_is_refused(self):
        done = self.mpi(2, 'train', '--config=-', '--model_dir=model', *CORES)
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('--config=-: standard input is that of one process', done.messages[0])

    def test_new_checkpoints_are_evaluated_as_they_come(self):
        train = lambda step: self.train(1, self.iris(
            'train', 'model', f'--max_steps={step}', '--train_batch_size=64', *CORES))
        train(20)
        watch = self.start_mpi(2, *self.iris('evaluate', 'model', '--eval_batch_size=16', '--watch',
                                             '--set', 'train.max_steps=40', *CORES))
        self.assertEqual(json.loads(watch.stdout.readline())['global_step'], 20)
        train(40)
        out, errors = watch.communicate(timeout=60)
        self.assertEqual((watch.returncode, json.loads(out)['global_step']), (0, 40), errors)

    def test_a_verb_of_one_process_runs_once(self):
        self.train(2, self.iris('train', 'model', '--max_steps=20', '--train_batch_size=64', *CORES))
        done = self.mpi(2, *self.iris('export', 'model', *CORES))
        self.assertEqual((done.code, len(done.out.splitlines())), (0, 1), str(done))

    def test_evaluations_and_exports_of_a_training(self):
        arguments = lambda model_dir: self.iris(
            'train_and_evaluate', model_dir, '--train_batch_size=64', '--max_steps=60',
            '--steps_per_eval=20', *CORES, *NORMALIZED_IRIS)
        want = self.succeed(*arguments('one'))
        got = self.mpi(2, *arguments('two'))
        self.assertEqual(got.code, 0, str(got))
        keep = lambda out: [{key: value for key, value in json.loads(line).items()
                             if key in ('global_step', 'loss', 'accuracy', 'examples')}
                            for line in out.splitlines()]
        self.assertEqual(keep(got.out), keep(want.out))
        self.assertEqual(self.checkpoint('two', 60), self.checkpoint('one', 60))

    def test_a_profile_shows_every_process(self):
        done = self.mpi(2, *self.iris('profile', 'model', '--train_batch_size=64', '--steps=20',
                                      '--format=json', *CORES))
        self.assertEqual(done.code, 0, str(done))
        profile = json.loads(done.out)
        self.assertEqual([row['process'] for row in profile['process']], [0, 1])
        for row in profile['process']:
            self.assertGreater(row['exchange_seconds'], 0)

    def test_a_loss_that_is_not_finite_is_told_with_its_process_and_op(self):
        path = self.path('iris', 'iris_training.csv')
        lines = read(path).decode('ascii').splitlines()
        lines[2] = '3e38' + lines[2][lines[2].index(','):]  # record 1, which host 1 reads
        write(path, '\n'.join(lines) + '\n')
        done = self.mpi(2, *self.iris(
            'train', 'model', '--train_batch_size=64', '--max_steps=50', *CORES, '--set',
            'transformation_func.0.transform+={ cast { feature: "SepalLength" scale: 10 } }'))
        self.assertEqual((done.code, len(done.messages)), (1, 1), str(done))
        self.assertRegex(done.messages[0], 'NaN or infinity in the loss at step [0-9]+ '
                         r'\(core [0-9]+ of process 1\): feature "SepalLength" is inf in row')

    def test_weights_that_are_not_finite_are_told_with_process_and_op(self):
        path = self.path('iris', 'iris_training.csv')
        lines = read(path).decode('ascii').splitlines()
        lines[2] = '3e38' + lines[2][lines[2].index(','):]  # record 1, which host 1 reads
        write(path, '\n'.join(lines) + '\n')
        want = self.call(*self.iris('train', 'one', '--train_batch_size=64', '--max_steps=50', *CORES))
        self.assertRegex(want.messages[0], 'NaN or infinity in the weights at step')
        cause = want.messages[0].split(' (the batch ends with')[0]
        for size in (2, 4):
            done = self.mpi(size, *self.iris('train', 'model', '--train_batch_size=64',
                                             '--max_steps=50', *CORES))
            self.assertEqual((done.code, len(done.messages)), (1, 1), str(done))
            self.assertTrue(done.messages[0].startswith(cause + ' (core '), str(done))
            self.assertRegex(done.messages[0], r'\(core [0-9]+ of process [0-9]\) \(the batch ends '
                             r'with iris/iris_training.csv:[0-9]+\)')

    def test_a_run_whose_processes_are_killed_goes_on(self):
        arguments = lambda model_dir: self.iris(
            'train', model_dir, '--train_batch_size=64', '--max_steps=300',
            '--save_checkpoints_steps=20', *CORES, *NORMALIZED_IRIS)
        begin = time.monotonic()
        self.train(2, arguments('whole'))
        seconds = time.monotonic() - begin
        kills = random.Random(int(os.environ.get('KILL_SEED', '1')))
        for attempt in itertools.count():
            process = self.start_mpi(2, *arguments('killed'))
            try:
                # Longer each time: a machine may become slower meanwhile.
                process.wait(kills.uniform(0.3, 1 + 0.2 * attempt) * seconds)
            except subprocess.TimeoutExpired:
                ranks = self.ranks(process)
                if ranks:
                    os.kill(kills.choice(ranks), signal.SIGKILL)
            if self.ends(process) == 0:
                break
            self.assertLess(attempt, 30)
        self.assertEqual(latest_step(self.path('killed')), 300)
        self.assertEqual(self.checkpoint('killed', 300), self.checkpoint('whole', 300))

    def test_an_interrupt_saves_and_ends_all(self):
        process = self.start_mpi(2, *self.iris('train', 'model', '--train_batch_size=64',
                                               '--max_steps=1000000000', *CORES))
        self.wait_until(lambda: latest_step(self.path('model')) >= 0, process)
        time.sleep(0.2)
        for rank in self.ranks(process):
            os.kill(rank, signal.SIGTERM)
        done = self.finish(process)
        self.assertEqual((done.code, len(done.messages)), (75, 1), str(done))
        self.assertIn('interrupted after step', done.messages[0])
        self.assertGreater(latest_step(self.path('model')), 0)


if __name__ == '__main__':
    import unittest
    unittest.main()
