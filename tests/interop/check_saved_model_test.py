"""`check --saved_model` finds the ops that a TPU lacks in graphs of TensorFlow and Keras, as the
table of the Cloud TPU's documentation says, which is read and applied here once more: with
TensorFlow's own op definitions."""
import json
import os
import tempfile
import unittest

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

import examples

v1 = tf.compat.v1
TABLE = f'{examples.SHARED}/facts/tpu_ops.tsv'
# What the rewrite for a TPU takes away.
REWRITTEN = {'PartitionedCall', 'StatefulPartitionedCall', 'VarHandleOp', 'Switch', 'Merge', 'Enter',
             'Exit', 'NextIteration', 'LoopCond'}
OF_SHAPES = {'Shape', 'ShapeN', 'Size', 'Rank', 'VariableShape', 'ZerosLike', 'OnesLike'}
# The names of operands in the documentation, where they are not those of the op definition.
OPERANDS = {'axis': ('axis', 'reduction_indices', 'split_dim'), 'concat_dim': ('concat_dim',)}


def read_table():
    """{op: (status, {attribute: types}, text on its constant operands)}."""
    table = {}
    with open(TABLE, encoding='utf-8') as file:
        for line in file:
            if line.startswith('#'):
                continue
            op, status, types, constants = line.rstrip('\n').split('\t')
            rules = dict(rule.split('=') for rule in types.split(';') if rule)
            if 'dropped' in constants:
                status = 'dropped'
            table[op] = (status, {attr: set(value.split(',')) for attr, value in rules.items()},
                         constants)
    return table


def row_of(op, table):
    """The row of the op, or of the version before it."""
    if op in table or op[-2:-1] != 'V':
        return table.get(op)
    earlier = [f'{op[:-1]}{version}' for version in range(int(op[-1]) - 1, 1, -1)] + [op[:-2]]
    return next((table[name] for name in earlier if name in table), None)


def type_name(number):
    return tf.dtypes.as_dtype(number).name.replace('float32', 'float').replace(
        'float64', 'double').replace('float16', 'half').replace('bhalf', 'bfloat16')


def operands_of(node):
    """[(name of the op definition, input)] of the node's data inputs."""
    inputs = [name for name in node.input if not name.startswith('^')]
    named = []
    for arg in op_def_registry.get(node.op).input_arg:
        count = 1
        if arg.number_attr:
            count = node.attr[arg.number_attr].i
        elif arg.type_list_attr:
            count = len(node.attr[arg.type_list_attr].list.type)
        named += [(arg.name, inputs.pop(0)) for _ in range(count)]
    assert not inputs, node
    return named


class Refused:
    """The ops of a meta graph that a TPU refuses."""

    def __init__(self, meta, table):
        self.table, self.ops, self.seen = table, set(), set()
        self.functions = {function.signature.name: function
                          for function in meta.graph_def.library.function}
        self.nodes = {node.name: node for node in meta.graph_def.node}
        if not meta.signature_def:
            fed = {node.name for node in meta.graph_def.node if node.op.startswith('Placeholder')}
            Scope(self, self.nodes, {}, fed).run(self.nodes)
        for key, signature in meta.signature_def.items():
            if key.startswith('__saved_model'):
                continue
            fed = {info.name.split(':')[0] for info in signature.inputs.values()}
            roots = [info.name for info in signature.outputs.values()]
            Scope(self, self.nodes, {}, fed).run(roots)


class Scope:
    """One call of a function, or the graph: args are {name: whether its value is constant}."""

    def __init__(self, whole, nodes, args, fed=()):
        self.whole, self.nodes, self.args, self.fed, self.done = whole, nodes, args, fed, {}

    def run(self, roots):
        """Whether the values are constant."""
        return [self.constant(root) for root in roots]

    def constant(self, tensor):
        name = tensor.lstrip('^').split(':')[0]
        if name in self.args:
            return self.args[name]
        if name not in self.done:
            self.done[name] = False  # of a loop of TensorFlow 1
            # Deep graphs: what comes first is visited first.
            pending = [name]
            while pending:
                node = self.nodes[pending[-1]]
                inputs = [] if node.name in self.fed else [
                    i.lstrip('^').split(':')[0] for i in node.input]
                missing = [i for i in inputs if i not in self.done and i not in self.args]
                if missing:
                    self.done[missing[0]] = False
                    pending.append(missing[0])
                else:
                    self.done[node.name] = self.visit(node)
                    pending.pop()
        return self.done[name]

    def visit(self, node):
        if node.name in self.fed:
            types = self.whole.table['InfeedDequeue'][1]['dtype']
            if type_name(node.attr['dtype'].type) not in types:
                self.whole.ops.add(node.op)
            return False
        inputs = [self.constant(name) for name in node.input if not name.startswith('^')]
        self.check(node)
        called = self.call(node, inputs)
        if called is not None:
            return called
        if node.op == 'Const' or node.op in OF_SHAPES:
            return True
        if 'Random' in node.op or 'Multinomial' in node.op or 'TruncatedNormal' in node.op:
            return False
        return bool(inputs) and all(inputs) and node.op != 'Merge'

    def call(self, node, inputs):
        """Runs the functions of the node; None if there are none."""
        names = [node.op] if node.op in self.whole.functions else []
        attrs = {}
        for key in sorted(node.attr):
            if key.startswith('_'):
                continue
            value = node.attr[key]
            for func in [value.func] if value.HasField('func') else value.list.func:
                attrs.setdefault(key, []).append(func.name)
                names.append(func.name)
        if not names:
            return None
        chooses = node.op in ('If', 'StatelessIf', 'Case', 'StatelessCase')
        loops = node.op in ('While', 'StatelessWhile')
        known = chooses or loops or 'PartitionedCall' in node.op or node.op in self.whole.functions
        if loops:
            body = self.whole.functions[attrs['body'][0]]
            results = [body.ret[arg.name] for arg in body.signature.output_arg]
            inputs = [value and result == arg.name for value, result, arg in
                      zip(inputs, results, body.signature.input_arg)]
        constant = True
        for name in names:
            function = self.whole.functions[name]
            given = inputs[1:] if chooses else inputs
            args = [arg.name for arg in function.signature.input_arg]
            values = given if known and len(given) == len(args) else [False] * len(args)
            scope = Scope(self.whole, {n.name: n for n in function.node_def},
                          dict(zip(args, values)))
            results = scope.run(function.ret[arg.name] for arg in function.signature.output_arg)
            scope.run(function.control_ret.values())
            constant = constant and known and all(results)
        return constant and all(inputs[:1] if chooses else [True])

    def check(self, node):
        if node.op in REWRITTEN or node.op in self.whole.functions:
            return
        row = row_of(node.op, self.whole.table)
        if row is None or row[0] == 'no':
            self.whole.ops.add(node.op)
            return
        status, rules, constants = row
        if status != 'yes':
            return
        for attr, types in rules.items():
            value = node.attr[attr]
            got = [value.type] if value.type else value.list.type
            if any(type_name(number) not in types for number in got):
                self.whole.ops.add(node.op)
        if 'align_corners=true' in constants and not node.attr['align_corners'].b:
            self.whole.ops.add(node.op)
        wanted = constants.split(';')[0].split(' (')[0].split(',')
        if 'begin, or size>=0' in constants and not self.sizes_are_known(node):
            wanted.append('begin')
        for name in wanted:
            for operand, tensor in operands_of(node):
                if operand in OPERANDS.get(name, (name,)) and not self.constant(tensor):
                    self.whole.ops.add(node.op)

    def sizes_are_known(self, node):
        size = self.nodes.get(dict(operands_of(node))['size'].split(':')[0])
        return (size is not None and size.op == 'Const' and
                (tf.make_ndarray(size.attr['value'].tensor) >= 0).all())


def check(path, *flags):
    """Exit code, rows and errors."""
    done = examples.call('check', f'--saved_model={path}', '--format=json', *flags)
    return done.code, [json.loads(line) for line in done.out.splitlines()], done.err


def graph_of(build):
    with tf.Graph().as_default() as graph:
        result = build()
    return graph, result


# ---- graphs in the manner of TensorFlow 1.x, each with the ops that are refused

def floats(*shape):
    return v1.placeholder(tf.float32, shape)


def parsed():
    return v1.parse_example(v1.placeholder(tf.string, [8]),
                            {'x': v1.FixedLenFeature([3], tf.float32)})


def loop_with_unique():
    return tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + tf.unique(x)[0][0]),
                         [0, floats(8)])


def chosen():
    x = floats(8)
    return tf.cond(floats() > 0, lambda: x, lambda: -x)


def stacked(x):
    return tf.reshape(x, tf.stack([tf.shape(x)[0], 2, -1]))


def of_refs():
    v1.disable_resource_variables()
    try:
        return v1.get_variable('w', [3]) + 1
    finally:
        v1.enable_resource_variables()


def summarized():
    x = floats(8, 3)
    with tf.control_dependencies([v1.Assert(tf.reduce_all(x > 0), [x])]):
        v1.summary.scalar('mean', tf.reduce_mean(v1.Print(x, [x])))


SAMPLES = {
    'parse_example': (parsed, {'ParseExampleV2', 'Placeholder'}),
    'unique': (lambda: tf.unique(floats(8)), {'Unique'}),
    'where': (lambda: tf.where(floats(8, 3) > 0), {'Where'}),
    'where of three': (lambda: tf.where(floats(8) > 0, floats(8), floats(8)), set()),
    'boolean_mask': (lambda: tf.boolean_mask(floats(8), floats(8) > 0), {'Where'}),
    'resize': (lambda: tf.image.resize(floats(8, 9, 9, 3), [5, 5]), {'ResizeBilinear'}),
    'resize of corners': (lambda: v1.image.resize_bilinear(floats(8, 9, 9, 3), [5, 5], True), set()),
    'partition': (lambda: tf.dynamic_partition(floats(8), tf.zeros([8], tf.int32), 2),
                  {'DynamicPartition'}),
    'py_func': (lambda: v1.py_func(lambda x: x, [floats(8)], tf.float32), {'PyFunc'}),
    'decode_jpeg': (lambda: tf.io.decode_jpeg(v1.placeholder(tf.string, [])),
                    {'DecodeJpeg', 'Placeholder'}),
    'double': (lambda: tf.sqrt(tf.cast(floats(8), tf.float64)), {'Cast', 'Sqrt'}),
    'half': (lambda: tf.matmul(*[tf.cast(floats(8, 8), tf.float16)] * 2), {'Cast', 'MatMul'}),
    'uint8': (lambda: tf.cast(v1.placeholder(tf.uint8, [8]), tf.float32), {'Cast', 'Placeholder'}),
    'int64': (lambda: tf.cumsum(v1.placeholder(tf.int64, [8])), {'Cumsum'}),
    'segments': (lambda: tf.math.segment_sum(floats(8), list(range(8))), {'SegmentSum'}),
    'shape of data': (lambda: tf.reshape(floats(8), tf.cast(floats(2), tf.int32)), {'Reshape'}),
    'shape of a shape': (lambda: stacked(floats(None, 8)), set()),
    'axis of data': (lambda: tf.reduce_sum(floats(8, 3), v1.placeholder(tf.int32, [])), {'Sum'}),
    'slice': (lambda: tf.slice(floats(8), v1.placeholder(tf.int32, [1]), [3]), set()),
    'slice to the end': (lambda: tf.slice(floats(8), v1.placeholder(tf.int32, [1]), [-1]),
                         {'Slice'}),
    'loop': (loop_with_unique, {'Unique'}),
    'cond': (chosen, set()),
    'ref variable': (of_refs, {'VariableV2', 'Assign'}),
    'summaries': (summarized, set()),
    'strings': (lambda: tf.strings.length(tf.strings.as_string(floats(8))),
                {'AsString', 'StringLength'}),
}

# The constants of the layer Normalization are float64.
NORMALIZED = {'Const', 'Reshape', 'Cast'}
# The size of the images, and what is refused.
APPLICATIONS = {
    'MobileNet': (32, set()), 'MobileNetV2': (32, set()), 'MobileNetV3Small': (32, set()),
    'MobileNetV3Large': (32, set()), 'ResNet50': (32, set()), 'ResNet50V2': (32, set()),
    'DenseNet121': (32, set()), 'EfficientNetB0': (32, set()), 'EfficientNetV2B0': (32, NORMALIZED),
    'InceptionV3': (75, set()), 'Xception': (71, set()), 'VGG16': (32, set()),
    'ConvNeXtTiny': (32, NORMALIZED)}


def application(name, size):
    return getattr(tf.keras.applications, name)(
        weights=None, input_shape=(size, size, 3), include_top=False, pooling='avg')


def applied(name, size):
    """The same as it predicts."""
    tf.keras.backend.set_learning_phase(0)
    return application(name, size)


class CheckSavedModelTest(unittest.TestCase):

    def setUp(self):
        if not os.path.exists(TABLE):
            self.skipTest(f'{TABLE} is not there')
        self.table = read_table()
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def refused(self, model, path):
        """The ops that tpurun refuses; those that the table does are the same."""
        code, rows, err = check(path)
        self.assertEqual(rows[-1]['kind'], 'model', err)
        got = set(rows[-1]['refused_ops'])
        want = set().union(*(Refused(meta, self.table).ops for meta in model.meta_graphs))
        self.assertEqual(got, want)
        self.assertEqual(code, 3 if want else 0, err)
        if want:
            self.assertIn('Detected unsupported operations when trying to compile graph', err)
        return got

    def write_saved_model(self, graph, inputs, outputs):
        """A SavedModel with one signature, without its variables."""
        model = saved_model_pb2.SavedModel(saved_model_schema_version=1)
        meta = model.meta_graphs.add()
        meta.meta_info_def.tags.append('serve')
        meta.graph_def.CopyFrom(graph.as_graph_def())
        info = v1.saved_model.build_tensor_info
        with graph.as_default():
            meta.signature_def['serving_default'].CopyFrom(v1.saved_model.build_signature_def(
                {f'x{i}': info(tensor) for i, tensor in enumerate(inputs)},
                {f'y{i}': info(tensor) for i, tensor in enumerate(outputs)}, 'predict'))
        path = os.path.join(self.directory.name, 'saved_model.pb')
        with open(path, 'wb') as file:
            file.write(model.SerializeToString())
        return model, path

    def test_graphs_of_tensorflow_1(self):
        for name, (build, want) in SAMPLES.items():
            for ending in ('pb', 'pbtxt'):
                with self.subTest(f'{name}.{ending}'):
                    graph, _ = graph_of(build)
                    model = saved_model_pb2.SavedModel()
                    model.meta_graphs.add().graph_def.CopyFrom(graph.as_graph_def())
                    path = tf.io.write_graph(graph, self.directory.name, f'graph.{ending}',
                                             ending == 'pbtxt')
                    self.assertEqual(self.refused(model, path), want)

    def test_warnings_are_errors_under_strict(self):
        graph, _ = graph_of(summarized)
        path = tf.io.write_graph(graph, self.directory.name, 'graph.pb', False)
        code, rows, _ = check(path, '--strict')
        self.assertEqual(code, 5)
        self.assertEqual({row['op']: row['verdict'] for row in rows
                          if row['kind'] == 'op' and row['verdict'] != 'runs'},
                         {'Print': 'dropped', 'ScalarSummary': 'dropped', 'Assert': 'ignored'})

    def test_applications_of_keras(self):
        for name, (size, want) in APPLICATIONS.items():
            with self.subTest(name):
                graph, model = graph_of(lambda: applied(name, size))
                refused = self.refused(
                    *self.write_saved_model(graph, model.inputs, model.outputs))
                print(f'{name}: {len(graph.as_graph_def().node)} nodes, refused: {sorted(refused)}')
                self.assertEqual(refused, want)

    def test_a_model_that_trains_or_predicts(self):
        """Batch normalization then has two branches, with optional values for gradients."""
        graph, model = graph_of(lambda: application('MobileNet', 32))
        refused = self.refused(*self.write_saved_model(graph, model.inputs, model.outputs))
        self.assertEqual(refused, {'If', 'OptionalFromValue'})

    def save(self, model):
        path = os.path.join(self.directory.name, 'saved')
        tf.saved_model.save(model, path)
        saved = saved_model_pb2.SavedModel()
        with open(f'{path}/saved_model.pb', 'rb') as file:
            saved.ParseFromString(file.read())
        return saved, path

    def test_saved_models_of_tensorflow_2(self):
        layers = tf.keras.layers
        for name, want, model in (
                ('convolution', set(), [layers.Input([8, 8, 3]), layers.Conv2D(4, 3),
                                        layers.BatchNormalization(), layers.Flatten(),
                                        layers.Dense(3, 'softmax')]),
                ('recurrent', None, [layers.Input([5, 3]), layers.LSTM(4)]),
                ('text', None, [layers.Input([1], dtype=tf.string),
                                layers.TextVectorization(vocabulary=['a', 'b']),
                                layers.Embedding(4, 2)])):
            with self.subTest(name):
                refused = self.refused(*self.save(tf.keras.Sequential(model)))
                print(f'{name}: refused: {sorted(refused)}')
                if want is not None:
                    self.assertEqual(refused, want)

    def test_signatures_are_told_apart(self):
        class Module(tf.Module):
            @tf.function(input_signature=[tf.TensorSpec([None, 3])])
            def plain(self, x):
                return {'y': x * 2}

            @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
            def parsed(self, text):
                return {'y': tf.strings.to_number(text) * 2}
        module = Module()
        path = os.path.join(self.directory.name, 'saved')
        tf.saved_model.save(module, path, {'plain': module.plain, 'parsed': module.parsed})
        code, rows, _ = check(path)
        self.assertEqual(code, 3)
        self.assertEqual({row['signature']: row['runs'] for row in rows
                          if row['kind'] == 'signature'}, {'plain': True, 'parsed': False})
        self.assertEqual(rows[-1]['refused_ops'], ['Placeholder', 'StringToNumber'])


if __name__ == '__main__':
    unittest.main()
