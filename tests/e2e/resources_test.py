"""A run holds as much memory, and as many descriptors and threads, late as early."""
import os
import statistics
import tempfile
import time
import unittest

from program import ProgramTest, latest_step


def in_use(pid):
    """(KiB of memory, descriptors, threads) that the process holds."""
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        fields = dict(line.split(':', 1) for line in status)
    return int(fields['VmRSS'].split()[0]), len(os.listdir(f'/proc/{pid}/fd')), int(fields['Threads'])


class ResourcesTest(ProgramTest):
    PERIOD_SECONDS = 0.01
    # Of memory, from the second quarter to the last: of ManySavesTest some 100 bytes a save.
    MOST_GROWTH_KIB = 256

    def watch(self, model_dir, done, *flags):
        """in_use again and again until done(); the training is ended then and its end checked."""
        # A pipe that nobody reads would stop it.
        with open(self.path('log'), 'wb') as log:
            process = self.start(*self.iris('train', model_dir, *flags), stderr=log)
        self.wait_until(lambda: latest_step(model_dir) > 0, process)
        samples = []
        while not done():
            self.assertIsNone(process.poll())
            samples.append(in_use(process.pid))
            time.sleep(self.PERIOD_SECONDS)
        process.terminate()
        ended = self.finish(process)
        self.assertEqual(ended.code, 75, str(ended))
        return samples

    def check(self, samples):
        quarter = len(samples) // 4
        early, late = ([kind for kind in zip(*part)]
                       for part in (samples[quarter:2 * quarter], samples[3 * quarter:]))
        memory = statistics.median(early[0]), statistics.median(late[0])
        print(f'{len(samples)} samples; KiB, descriptors and threads: at first {samples[0]}, second '
              f'quarter median {memory[0]}, least {[min(kind) for kind in early]}, most '
              f'{[max(kind) for kind in early]}; last quarter median {memory[1]}, least '
              f'{[min(kind) for kind in late]}, most {[max(kind) for kind in late]}')
        self.assertLess(memory[1], memory[0] + self.MOST_GROWTH_KIB)
        # Not the most: a save has files open while it lasts.
        for kind in (1, 2):
            self.assertLessEqual(min(late[kind]), min(early[kind]))


class ManySavesTest(ResourcesTest):

    def test_a_save_a_loop(self):
        # In memory, where there is some: thousands of saves wait long for a disk.
        in_memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else self.dir
        with tempfile.TemporaryDirectory(dir=in_memory) as model_dir:
            self.check(self.watch(model_dir, lambda: latest_step(model_dir) >= 10000,
                                  '--max_steps=1000000', '--save_checkpoints_steps=2',
                                  '--keep_checkpoint_max=2',
                                  '--set', 'tpu_config.iterations_per_loop=2'))


if __name__ == '__main__':
    unittest.main()
