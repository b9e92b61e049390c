"""The environment variable TF_CONFIG."""
import json
import os
import unittest

from program import MPI_ENVIRONMENT, ProgramTest, call_mpi, latest_step, read, write


class TfConfigTest(ProgramTest):

    def setUp(self):
        super().setUp()
        config = read(self.path('iris', 'run.textproto')).decode()
        write(self.path('iris', 'run.textproto'),
              ''.join(line for line in config.splitlines(True) if not line.startswith('model_dir')))

    def with_config(self, verb, *flags, **keys):
        text = json.dumps(keys)
        return self.call(verb, '--config=iris/run.textproto', *flags,
                         env={**os.environ, 'TF_CONFIG': text})

    def test_a_training_writes_to_its_model_dir(self):
        model_dir = self.path('cluster', 'model')
        done = self.with_config('train', '--max_steps=2', model_dir=model_dir, session_master='local')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(latest_step(model_dir), 2)
        # A run needs it no longer.
        self.succeed('evaluate', f'--model_dir={model_dir}')

    def test_config_shows_what_is_of_it(self):
        done = self.with_config('config', '--evaluation_master=local', model_dir='/m', session_master='a',
                                eval_session_master='b', service={'tpu_worker_job_name': 'w'})
        self.assertEqual(done.code, 0, str(done))
        for line in ('model_dir: "/m"  # TF_CONFIG', 'master: "a"  # TF_CONFIG',
                     'evaluation_master: "local"  # command line: --evaluation_master=local',
                     '  tpu_job_name: "w"  # TF_CONFIG'):
            self.assertIn(line, done.out.splitlines())
        done = self.with_config('config', '--master=local', '--model_dir=m')
        self.assertIn('evaluation_master: "local"  # command line: --master=local', done.out.splitlines())

    def test_what_cannot_apply_is_refused(self):
        mine = '--model_dir=mine'
        for keys, message in (
                ({'session_master': 'grpc://10.0.0.1:8470'}, 'TF_CONFIG: master: got "grpc://10.0.0.1:8470"'),
                ({'model_dir': '/m'}, 'TF_CONFIG: model_dir: got "/m", but --model_dir=mine has "mine"'),
                ({'cluster': {'worker': ['a:1', 'b:1']}}, 'TF_CONFIG: cluster: got 2 hosts (a:1, b:1)')):
            done = self.with_config('train', mine, '--max_steps=1', **keys)
            self.assertEqual(done.code, 2, str(done))
            self.assertTrue(done.messages[0].startswith(f'tpurun: {message}'), str(done))
        self.assertFalse(os.path.exists(self.path('mine')))
        done = self.call('config', '--config=iris/run.textproto', env={**os.environ, 'TF_CONFIG': '{"model'})
        self.assertEqual(done.code, 2, str(done))
        self.assertEqual(len(done.messages), 1, str(done))

    def test_a_cluster_is_that_of_the_started_processes(self):
        cluster = {'chief': ['a:2222'], 'worker': ['b:2222']}
        arguments = ('train', '--config=iris/run.textproto', '--model_dir=model', '--max_steps=2',
                     '--set', 'tpu_config.num_shards=16')

        def train(size, **keys):
            text = json.dumps({'cluster': cluster, **keys})
            return call_mpi(size, *arguments, cwd=self.dir, env={**MPI_ENVIRONMENT, 'TF_CONFIG': text})

        done = train(2, task={'type': 'chief', 'index': 0})  # of both processes
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('TF_CONFIG: task: got chief 0, which is process 0, but this is process 1 of 2',
                      done.messages[0])
        done = train(4)
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('but 4 processes were started', done.messages[0])
        self.assertFalse(os.path.exists(self.path('model')))
        done = train(2, session_master='grpc://a:2222')
        self.assertEqual((done.code, done.messages), (0, []), str(done))
        self.assertEqual(latest_step(self.path('model')), 2)
        # It is evaluated by one process, of the cluster or apart.
        for task in ({'type': 'chief', 'index': 0}, {'type': 'evaluator', 'index': 0}):
            done = self.with_config('evaluate', '--model_dir=model', cluster=cluster, task=task)
            self.assertEqual(done.code, 0, str(done))

    def test_a_key_that_nothing_reads_is_warned_of(self):
        done = self.with_config('config', '--model_dir=m', modeldir='/m', environment='cloud',
                                zone='a')
        self.assertEqual(done.code, 0, str(done))
        self.assertEqual(done.warnings, [
            'TF_CONFIG: nothing reads "modeldir", did you mean "model_dir"?',
            'TF_CONFIG: nothing reads "zone" (known: cluster, task, session_master, '
            'eval_session_master, model_dir, service, environment)'])


if __name__ == '__main__':
    unittest.main()
