"""Cases 153, 154, 158 and 160 of TPUEstimator's own tests: an identity is trained, evaluated,
predicted, exported and served. (155 to 157, classes and scores, are in export_test.)"""
import os
import tempfile
import unittest

import numpy as np
import tensorflow as tf

import examples

ROWS = 112  # seven batches
CONFIG = '''
model_dir: "model"
train_batch_size: 16
eval_batch_size: 16
predict_batch_size: 8
train {{ max_steps: 7 input {{
  source {{ tfrecord {{ file: "{folder}/rows.tfrecord" }} }} {parse}
  transform {{ repeat {{}} }} transform {{ batch {{ drop_remainder: true }} }} }} }}
evaluate {{ steps: 6 input {{ source {{ tfrecord {{ file: "{folder}/rows.tfrecord" }} }} {parse} }} }}
predict {{ input {{ source {{ tfrecord {{ file: "{folder}/rows.tfrecord" }} }} {parse}
  transform {{ take {{ count: 16 }} }} }} }}
model {{
  name: "identity"
  feature {{ name: "x" dtype: FLOAT32 shape: 1 }}
  label {{ name: "y" dtype: FLOAT32 shape: 1 }}
  layer {{ name: "dense" dense {{ units: 1 kernel_initializer {{ zeros {{}} }} }} }}
  head {{ regression {{ logits: "dense" label: "y" }} }}
  optimizer {{ gradient_descent {{}} learning_rate {{ constant: 0.4 }} cross_shard {{}} }}
}}
'''
PARSE = '''transform { parse_example {
  feature { name: "x" float { shape: 1 } } feature { name: "y" float { shape: 1 } } } }'''


class UpstreamCasesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        folder = directory.name
        # Mean 0, mean of squares 1: a few steps are enough.
        cls.x = np.random.default_rng(5).permutation(np.tile([-1.5, -0.5, 0.5, 1.5], ROWS // 4))
        cls.x = cls.x.astype(np.float32) + np.linspace(-0.1, 0.1, ROWS, dtype=np.float32)
        rows = os.path.join(folder, 'rows.csv')
        np.savetxt(rows, np.stack([cls.x, cls.x], 1), delimiter=',', fmt='%.9g')
        examples.run('convert', 'csv', rows, f'--output={folder}/rows.tfrecord',
                    '--features=x:float:0,y:float:1')
        config = os.path.join(folder, 'run.textproto')
        with open(config, 'w', encoding='utf-8') as file:
            file.write(CONFIG.format(folder=folder, parse=PARSE))
        cls.verb = staticmethod(lambda verb, *flags: examples.run(verb, f'--config={config}', *flags))
        [cls.trained] = cls.verb('train')

    def test_160_train_evaluate_predict_export_serve(self):
        self.assertEqual(self.trained['global_step'], 7)
        [evaluated] = self.verb('evaluate')
        self.assertEqual(evaluated['global_step'], 7)
        self.assertEqual(evaluated['examples'], 6 * 16)
        self.assertLess(evaluated['mean_absolute_error'], 0.1)
        predicted = np.array([row['predictions'] for row in self.verb('predict')])[:, 0]
        np.testing.assert_allclose(predicted, self.x[:16], atol=0.01)
        served = self.serve('serving_default', x=tf.constant(self.x[:, None]))
        np.testing.assert_allclose(served['predictions'][:, 0], self.x, atol=0.01)

    def serve(self, signature, *flags, **inputs):
        [exported] = self.verb('export', *flags)
        self.assertIn(signature, exported['signatures'])
        model = tf.saved_model.load(exported['path'])
        return {name: value.numpy() for name, value in model.signatures[signature](**inputs).items()}

    @staticmethod
    def example(x):
        feature = tf.train.Feature(float_list=tf.train.FloatList(value=[x]))
        return tf.train.Example(features=tf.train.Features(feature={'x': feature})).SerializeToString()

    def test_153_the_regression_output_comes_back(self):
        examples = tf.constant([self.example(x) for x in self.x[:5]])
        served = self.serve('regression', inputs=examples)
        self.assertEqual(list(served), ['outputs'])
        np.testing.assert_allclose(served['outputs'].reshape(-1), self.x[:5], atol=0.01)

    def test_154_the_predict_output_comes_back(self):
        served = self.serve('predict', x=tf.constant(self.x[:3, None]))
        np.testing.assert_allclose(served['predictions'][:, 0], self.x[:3], atol=0.01)

    def test_158_cores_need_not_divide_the_batch_of_predict(self):
        served = self.serve('serving_default', '--predict_batch_size=3',
                            x=tf.constant(self.x[:7, None]))
        self.assertEqual(served['predictions'].shape, (7, 1))


if __name__ == '__main__':
    unittest.main()
