"""Features of other types than FLOAT32: the same numbers, whatever they are fed as."""
import unittest

import program

FEATURES = '["SepalLength", "SepalWidth", "PetalLength", "PetalWidth"]'

# %s: the type that x is fed as; the model reads it in f32 of its own accord.
NUMBERS = """
train_batch_size: 16
eval_batch_size: 8
train {
  max_steps: 20
  input {
    source { from_tensor_slices {
      feature { name: "x" int64 { value: [3, 250, 17, 90, 128, 255, 0, 64] } }
      feature { name: "y" int64 { value: [0, 1, 0, 1, 1, 1, 0, 0] } }
    } }
    transform { cast { feature: "x" dtype: %s } }
    transform { repeat {} }
    transform { batch { drop_remainder: true } }
  }
}
model {
  feature { name: "x" dtype: %s }
  label { name: "y" dtype: INT64 }
  layer { name: "number" op { name: "convert" attrs: "dtype=f32" } }
  layer { name: "row" reshape { target_shape: 1 } }
  layer { name: "logits" dense { units: 2 } }
  head { classification { logits: "logits" label: "y" } }
  optimizer { gradient_descent {} learning_rate { constant: 0.0001 } }
}
"""


class FeatureTypesTest(program.ProgramTest):

    def results(self, *flags):
        """What training and evaluation come to."""
        self.number = getattr(self, 'number', 0) + 1
        model_dir = f'model{self.number}'
        trained = self.result(self.succeed(*self.iris('train', model_dir, '--max_steps=20', *flags)))
        evaluated = self.result(self.succeed(*self.iris('evaluate', model_dir, *flags)))
        return (trained['loss'], trained['loss_shard_0'], evaluated['loss'], evaluated['accuracy'])

    def test_bfloat16_is_as_numbers_rounded_to_it(self):
        def cast(dtype):
            return ('--set', 'transformation_func.parse.transform+='
                    f'{{ cast {{ feature: {FEATURES} dtype: {dtype} }} }}')
        declared = [word for feature in range(4)
                    for word in ('--set', f'model.feature.{feature}.dtype=BFLOAT16')]
        for use_tpu in ('true', 'false'):
            for compute in ('FLOAT32', 'BFLOAT16'):
                flags = (f'--use_tpu={use_tpu}', '--set', f'model.compute_dtype={compute}')
                self.assertEqual(self.results(*flags, *cast('BFLOAT16'), *declared),
                                 self.results(*flags, *cast('BFLOAT16'), *cast('FLOAT32')))

    def test_whole_numbers_are_the_same_in_any_type(self):
        losses = {}
        for dtype in ('FLOAT32', 'INT32', 'INT64', 'UINT32', 'UINT8'):
            program.write(self.path(dtype), NUMBERS % (dtype, dtype))
            for use_tpu in ('true', 'false'):
                arguments = ('train', f'--config={dtype}', f'--model_dir=of{dtype}{use_tpu}',
                             f'--use_tpu={use_tpu}')
                if (dtype, use_tpu) == ('UINT8', 'true'):
                    self.assertEqual(self.call(*arguments).code, 3)
                else:
                    losses.setdefault(use_tpu, set()).add(
                        self.result(self.succeed(*arguments))['loss'])
        self.assertEqual([len(found) for found in losses.values()], [1, 1], losses)


if __name__ == '__main__':
    unittest.main()
