"""--kernels: the kernels that a program may have. The plain loops define the bits of tpurun's own."""
import re
import unittest

from program import ProgramTest, checkpoint_files, read


class KernelsTest(ProgramTest):
    steps = 40

    def train(self, kernels, arguments_of=None):
        arguments = (arguments_of or self.iris)('train', kernels, f'--max_steps={self.steps}',
                                                f'--kernels={kernels}',
                                                f'--dump_dir={self.path("dump", kernels)}')
        return self.result(self.succeed(*arguments))

    def data(self, kernels):
        prefix = self.path(kernels, f'model.ckpt-{self.steps}')
        return checkpoint_files(prefix)['.data-00000-of-00001']

    def program(self, kernels):
        return read(self.path('dump', kernels, '90.core.program')).decode('ascii')

    def kernels_of(self, kernels):
        return set(re.findall(r' kernel="(\w+)"', self.program(kernels)))

    def test_own_kernels_have_the_bits_of_the_reference(self):
        for kernels in ('reference', 'own'):
            self.train(kernels)
        self.assertEqual(self.kernels_of('reference'), {'reference'})
        self.assertIn('gemm_', ' '.join(self.kernels_of('own')))
        self.assertRegex(self.program('own'), r'machine="x86_64[+\w]* kernels=own"')
        # The machine's text, after its length and a checksum.
        machine = re.compile(rb'.{5}x86_64[^,]* kernels=\w+', re.DOTALL)
        self.assertEqual(machine.sub(b'', self.data('own')),
                         machine.sub(b'', self.data('reference')))

    def test_the_library_is_near_the_reference(self):
        losses = {kernels: self.train(kernels, self.digits)['loss']
                  for kernels in ('reference', 'library', 'own')}
        self.assertIn('onednn', ' '.join(self.kernels_of('library')))
        self.assertNotIn('onednn', ' '.join(self.kernels_of('own')))
        if 'amx' in ' '.join(self.kernels_of('own')):  # adds products of bf16 in another order
            self.assertAlmostEqual(losses['own'], losses['reference'], delta=0.02)
        else:
            self.assertEqual(losses['own'], losses['reference'])
        self.assertAlmostEqual(losses['library'], losses['reference'], delta=0.02)

    def test_evaluate_and_predict(self):
        self.train('own')
        evaluate = self.iris('evaluate', 'own')
        own = self.result(self.succeed(*evaluate, '--kernels=own'))
        self.assertEqual(self.result(self.succeed(*evaluate, '--kernels=reference')), own)
        predict = self.iris('predict', 'own')
        self.assertEqual(self.succeed(*predict, '--kernels=reference').out,
                         self.succeed(*predict, '--kernels=own').out)

    def test_another_name_is_an_error(self):
        call = self.call(*self.iris('train', 'none', '--kernels=fast'))
        self.assertEqual(call.code, 2, str(call))
        self.assertIn('--kernels: got "fast", want own, library, reference or fastest', call.err)


if __name__ == '__main__':
    unittest.main()
