"""Exported models as the real TensorFlow and onnxruntime run them."""
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import numpy as np
import onnx
import onnxruntime
import tensorflow as tf

import examples


def export(*arguments):
    """Of both formats: what the verb printed."""
    return examples.run('export', *arguments, '--export_format=saved_model,onnx')[0]


def export_variables(model, variables, directory):
    """The same of the text of a model and the values of its variables, by name, as of step 3."""
    names = sorted([*variables, 'global_step'])
    values = [np.int64(3) if name == 'global_step' else variables[name] for name in names]
    prefix = os.path.join(directory, 'model.ckpt-3')
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[''] * len(names),
                      tensors=values)
    config = os.path.join(directory, 'run.textproto')
    with open(config, 'w', encoding='utf-8') as file:
        file.write(f'model_dir: "{directory}/model"\nmodel {{\n{model}}}\n')
    return export(f'--config={config}', f'--checkpoint={prefix}')


def models_of(result):
    """What `export` wrote, in three runtimes."""
    return {'SavedModel': SavedModel(result['path']), 'session': SessionModel(result['path']),
            'ONNX': OnnxModel(result['onnx_path'])}


class SavedModel:
    """A SavedModel through TensorFlow 2's loader."""

    def __init__(self, directory):
        self.model = tf.saved_model.load(directory)

    def __call__(self, features, signature='serving_default'):
        function = self.model.signatures[signature]
        wanted = function.structured_input_signature[1]
        outputs = function(**{name: tf.constant(features[name], spec.dtype)
                              for name, spec in wanted.items()})
        return {name: value.numpy() for name, value in outputs.items()}


class SessionModel:
    """The same through TensorFlow 1's, as TF Serving loads it."""

    def __init__(self, directory, tags=('serve',)):
        self.session = tf.compat.v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            self.meta_graph = tf.compat.v1.saved_model.load(self.session, list(tags), directory)

    def __call__(self, features, signature='serving_default'):
        definition = self.meta_graph.signature_def[signature]
        feeds = {info.name: features[name] for name, info in definition.inputs.items()}
        fetches = {name: info.name for name, info in definition.outputs.items()}
        return self.session.run(fetches, feeds)


class OnnxModel:
    """An ONNX file that the checker accepts, its shapes inferred strictly."""

    def __init__(self, directory):
        path = os.path.join(directory, 'model.onnx')
        onnx.checker.check_model(path, full_check=True)
        self.proto = onnx.load(path)
        onnx.shape_inference.infer_shapes(self.proto, check_type=True, strict_mode=True,
                                          data_prop=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options,
                                                    providers=['CPUExecutionProvider'])

    def __call__(self, features):
        names = [output.name for output in self.session.get_outputs()]
        feeds = {feed.name: features[feed.name] for feed in self.session.get_inputs()}
        return dict(zip(names, self.session.run(names, feeds)))


def rows(arrays, count):
    """`count` rows of each array, over and over."""
    return {name: np.concatenate([array] * (count // len(array) + 1))[:count]
            for name, array in arrays.items()}


def largest_error(got, want):
    """The largest difference, relative to the largest value where that is above 1."""
    if got.dtype != want.dtype or got.shape != want.shape:
        raise AssertionError(f'got {got.dtype}{got.shape}, want {want.dtype}{want.shape}')
    if want.size == 0:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    return np.abs(got - want).max() / max(1.0, np.abs(want).max())
