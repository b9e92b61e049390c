"""Calls under a limit of the address space: what holds for each of them, whatever the limit."""
import os
import re
import resource
import struct

from program import DIGITS, ProgramTest, tree

MIB = 1 << 20
MNIST = os.path.abspath('testdata/mnist')
# "262144 bytes", "29.8 GiB".
BYTES = re.compile(r'\b(\d+ (more )?bytes|\d+\.\d [MG]iB)\b')


class MemoryLimitTest(ProgramTest):

    def limited(self, mib, *arguments):
        """A call with `mib` MiB of address space."""
        limits = (mib * MIB, mib * MIB)
        return self.call(*arguments,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits))

    def smallest(self):
        """The MiB from which on `version` runs: below, the libraries are not even loaded."""
        mib = 16
        while self.limited(mib, 'version').code != 0:
            mib += 1
        return mib

    def make_mnist(self):
        """mnist.tfrecord: how much memory there must be depends on the sizes of the records alone."""
        for name, header, count in (('images', (0x803, 512, 28, 28), 512 * 28 * 28),
                                    ('labels', (0x801, 512), 512)):
            with open(self.path(name), 'wb') as file:
                file.write(struct.pack(f'>{len(header)}I', *header) + bytes(count))
        self.succeed('convert', 'idx', 'images', 'labels', '--output=mnist.tfrecord')

    def arguments(self, model, verb, model_dir):
        # Each thread has a stack.
        arguments = [verb, f'--model_dir={model_dir}', '--worker_threads=2']
        if verb == 'train':
            arguments.append('--max_steps=3')
        if model == 'digits':
            return [*arguments, f'--config={DIGITS}/run.textproto']
        data = {'train': 'train.input', 'evaluate': 'evaluate.0.input', 'predict': 'predict.input'}
        return [*arguments, f'--config={MNIST}/run.textproto', '--set',
                f'{data[verb]}.source.tfrecord.file={self.path("mnist.tfrecord")}']

    def check(self, mib, model, verb, model_dir):
        """The exit code: 0, or 4 with one message and model_dir as it was."""
        before = tree(model_dir) if os.path.exists(model_dir) else None
        done = self.limited(mib, *self.arguments(model, verb, model_dir))
        where = f'{model} {verb}, {mib} MiB: {done}'
        self.assertIn(done.code, (0, 4), where)
        if done.code == 4:
            self.assertEqual(len(done.messages), 1, where)
            self.assertRegex(done.messages[0], BYTES, where)
            after = tree(model_dir) if os.path.exists(model_dir) else None
            self.assertEqual(after, before, where)
        else:
            self.assertEqual(done.messages, [], where)
        return done.code
