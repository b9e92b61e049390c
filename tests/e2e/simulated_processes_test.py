"""train --fabric=simulated: the bits of one process, errors, interrupts, the time of the network."""
import json
import os
import signal
import time

from program import NORMALIZED_IRIS, ProgramTest, checkpoint_files, latest_step, read, write


class SimulatedProcessesTest(ProgramTest):

    def simulated(self, model_dir, size, cores, *flags):
        several = (f'--processes={size}', '--fabric=simulated') if size > 1 else ()
        return self.iris('train', model_dir, '--train_batch_size=128', '--set',
                         f'tpu_config.num_shards={cores}', *several, *flags)

    def checkpoint(self, model_dir, step):
        return checkpoint_files(self.path(model_dir, f'model.ckpt-{step}'))

    def test_the_bits_of_one_process(self):
        for name, cores, sizes, flags in (('iris', 64, (1, 2, 8, 16), ()),
                                          ('large', 128, (2, 32), ()),
                                          ('groups', 16, (1, 2, 4), NORMALIZED_IRIS)):
            want = None
            for size in sizes:
                model_dir = f'{name}_{size}'
                done = self.call(*self.simulated(model_dir, size, cores, '--max_steps=30', *flags))
                self.assertEqual((done.code, done.out.count('\n')), (0, 1), str(done))
                got = self.checkpoint(model_dir, 30), json.loads(done.out)['loss']
                want = want or got
                self.assertEqual(got, want, (name, size))

    def test_the_log_is_that_of_one_process(self):
        done = self.succeed(*self.simulated('model', 4, 32, '--max_steps=10'))
        self.assertEqual(len(done.log), len(set(done.log)), str(done))
        self.assertEqual(sum('Emulating 4 processes' in line for line in done.log), 1, str(done))

    def test_the_network_takes_its_time(self):
        """Ten steps of three messages at least."""
        begin = time.monotonic()
        done = self.succeed(*self.simulated('model', 2, 16, '--max_steps=10',
                                            '--fabric_latency=10ms', '--fabric_bandwidth=1Gbit'))
        self.assertGreater(json.loads(done.out)['seconds'], 0.3)
        self.assertGreater(time.monotonic() - begin, 0.3)

    def test_an_error_of_one_process_ends_all(self):
        """A row that is no number, which the process of its replica alone reads."""
        path = self.path('iris', 'iris_training.csv')
        lines = read(path).decode().splitlines()
        lines[100] = '6.4,2.8,5.6,large,2'
        write(path, '\n'.join(lines) + '\n')
        done = self.call(*self.simulated('model', 8, 32, '--max_steps=50'))
        alone = self.call(*self.simulated('alone', 1, 32, '--max_steps=50'))
        self.assertEqual((done.code, done.out, len(done.messages)), (alone.code, '', 1), str(done))
        self.assertIn('"large"', done.messages[0])

    def test_an_interrupt_saves_and_ends_all(self):
        process = self.start(*self.simulated('model', 4, 16, '--max_steps=1000000000'))
        self.wait_until(lambda: latest_step(self.path('model')) >= 0, process)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        done = self.finish(process)
        self.assertEqual((done.code, len(done.messages)), (75, 1), str(done))
        self.assertIn('interrupted after step', done.messages[0])
        self.assertGreater(latest_step(self.path('model')), 0)

    def test_mistakes_of_flags(self):
        for flags, message in (
                (('--fabric=simulated',), '--fabric=simulated wants --processes=P'),
                (('--processes=2',), '--processes wants --fabric=simulated'),
                (('--fabric=tcp',), '--fabric: got "tcp", want mpi or simulated'),
                (('--fabric=simulated', '--processes=6'), 'want a power of 2 from 2 to 128'),
                (('--fabric=simulated', '--processes=2', '--fabric_latency=5'),
                 '--fabric_latency: got "5", want 0 to 10s'),
                (('--fabric=simulated', '--processes=2', '--fabric_bandwidth=ten'),
                 '--fabric_bandwidth: got "ten", want a number > 0'),
                (('--fabric=simulated', '--processes=4', '--set', 'tpu_config.num_shards=8'),
                 'num_shards: got 8 for 4 processes')):
            done = self.call(*self.iris('train', 'model', *flags))
            self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
            self.assertIn(message, done.messages[0])
            self.assertFalse(os.path.exists(self.path('model')))

    def test_mpirun_has_its_own_network(self):
        """Each of its processes would emulate all."""
        done = self.call(*self.simulated('model', 2, 16), env={**os.environ,
                                                              'OMPI_COMM_WORLD_SIZE': '2',
                                                              'OMPI_COMM_WORLD_RANK': '0'})
        self.assertEqual((done.code, len(done.messages)), (2, 1), str(done))
        self.assertIn('mpirun or srun has started several', done.messages[0])


if __name__ == '__main__':
    import unittest
    unittest.main()
