"""The models of models/zoo: each is without mistakes, and trains and evaluates on drawn images."""
import json
import os
import shutil

from program import ProgramTest

ZOO = os.path.abspath('models/zoo')
# kind of `convert synthetic`, size of the images, batch
IMAGES = {
    'fashion_mnist': ('digits', 28, 16),
    'mnist_bn': ('digits', 28, 16),
    'resnet_cifar': ('shapes', 32, 16),
    'resnet50': ('shapes', 224, 8),
}


class ZooTest(ProgramTest):

    def config(self, name):
        shutil.copytree(os.path.join(ZOO, name), self.path(name))
        return f'--config={self.path(name, "run.textproto")}'

    def test_every_folder_is_known_here(self):
        folders = sorted(name for name in os.listdir(ZOO) if os.path.isdir(os.path.join(ZOO, name)))
        self.assertEqual(folders, sorted(IMAGES))

    def test_every_model_is_without_mistakes(self):
        for name in IMAGES:
            with self.subTest(name):
                done = self.succeed('summary', self.config(name), '--format=json')
                rows = [json.loads(line) for line in done.out.splitlines()]
                model = next(row for row in rows if row['kind'] == 'model')
                self.assertGreater(model['parameters'], 1000)

    def test_small_ones_train_and_evaluate(self):
        for name in ('mnist_bn', 'resnet_cifar'):
            with self.subTest(name):
                kind, size, batch = IMAGES[name]
                config = self.config(name)
                for file, seed in (('train', 1), ('test', 2)):
                    self.succeed('convert', 'synthetic', kind, '--examples=64', f'--size={size}',
                                 f'--seed={seed}', f'--output={self.path(name, file)}.tfrecord')
                model_dir = f'--model_dir={self.path(name, "model")}'
                trained = self.succeed('train', config, model_dir, '--max_steps=2',
                                       f'--train_batch_size={batch}', '--unset', 'train.epochs')
                self.assertEqual(json.loads(trained.out)['global_step'], 2)
                evaluated = self.succeed('evaluate', config, model_dir,
                                         f'--eval_batch_size={batch}')
                self.assertEqual(json.loads(evaluated.out)['examples'], 64)


if __name__ == '__main__':
    import unittest
    unittest.main()
