"""One layer at a time, forward and backward, in tpurun and in PyTorch.

layers.py --tpurun=BIN [--pytorch=PYTHON] [--rounds=N] [LAYER...]

The layer stands between a layer normalization, so that it has a gradient of its input, and a dense layer of 4
classes, and is trained with batches of 64. tpurun's time is that of the layer in `profile`: the time of its
instructions divided by the workers, in bf16 and in f32 mode. PyTorch's is that of the module alone, in f32, for
images in the faster of its two layouts. Times are milliseconds, medians over the rounds, and the ratio is that of
PyTorch's to tpurun's, of the faster mode. Layers whose instructions are fused with their neighbours' are not there.
"""
import argparse
import array
import json
import math
import os
import random
import statistics
import struct
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 64
EXAMPLES = 2 * BATCH
IMAGE, SEQUENCE = [32, 32, 64], [128, 128]
POOL = {2: 'global_average_pooling1d {}', 3: 'global_average_pooling2d {}'}


def conv(filters, size, more=''):
    return f'conv2d {{ filters: {filters} kernel_size: {size} padding: SAME {more} }}'


def transposed(filters, size):
    return f'conv2d_transpose {{ filters: {filters} kernel_size: {size} strides: 2 padding: SAME }}'


def causal(filters, dilation):
    return f'conv1d {{ filters: {filters} kernel_size: 3 padding: CAUSAL dilation_rate: {dilation} }}'


def pool(kind, size, stride):
    return f'{kind}_pooling2d {{ pool_size: {size} strides: {stride} padding: SAME }}'


def recurrent(kind):
    return f'{kind} {{ units: 128 return_sequences: true }}'


# Squeeze and excitation of MobileNetV3 and EfficientNet: a factor of each channel, made from the means of all.
EXCITED = '''sequence {
  layer { name: "x" activation { function: LINEAR } }
  layer { global_average_pooling2d {} }
  layer { dense { units: 16 activation: RELU } }
  layer { name: "factor" dense { units: 64 activation: SIGMOID } }
  layer { multiply {} input: "x" input: "factor" }
}'''

# name: the shape of an example, the layer. PyTorch's are in peers/pytorch/layers.py.
LAYERS = {
    'conv 3x3': (IMAGE, conv(64, 3)),
    'conv 1x1': (IMAGE, conv(64, 1)),
    'conv 5x5': (IMAGE, conv(64, 5)),
    'conv 3x3 stride 2': (IMAGE, conv(128, 3, 'strides: 2')),
    'conv 3x3 dilation 2': (IMAGE, conv(64, 3, 'dilation_rate: 2')),
    'conv 3x3 4 groups': (IMAGE, conv(64, 3, 'groups: 4')),
    'conv 7x7 of 3 channels, stride 2': ([96, 96, 3], conv(32, 7, 'strides: 2')),
    'conv 3x3 to 3 channels': ([64, 64, 32], conv(3, 3)),
    'conv 1x7': ([17, 17, 128], conv(128, '[1, 7]')),
    'depthwise 3x3': (IMAGE, conv(64, 3, 'groups: 64')),
    'depthwise 3x3 stride 2': ([56, 56, 144], conv(144, 3, 'groups: 144 strides: 2')),
    'depthwise 5x5': ([14, 14, 240], conv(240, 5, 'groups: 240')),
    'depthwise 7x7': ([28, 28, 96], conv(96, 7, 'groups: 96')),
    'transposed 3x3 stride 2': ([16, 16, 64], transposed(64, 3)),
    'transposed 4x4 to 3 channels': ([32, 32, 64], transposed(3, 4)),
    'conv1d 5': ([256, 64], 'conv1d { filters: 64 kernel_size: 5 padding: SAME }'),
    'conv1d causal, dilation 4': ([256, 64], causal(64, 4)),
    'max pool 2x2': (IMAGE, pool('max', 2, 2)),
    'max pool 3x3 stride 1': (IMAGE, pool('max', 3, 1)),
    'average pool 2x2': (IMAGE, pool('average', 2, 2)),
    'average pool 3x3 stride 1': (IMAGE, pool('average', 3, 1)),
    'up sampling, nearest': ([16, 16, 64], 'up_sampling2d {}'),
    'up sampling, bilinear': ([16, 16, 64], 'up_sampling2d { interpolation: BILINEAR }'),
    'batch normalization': (IMAGE, 'batch_normalization {}'),
    'group normalization, 8 groups': (IMAGE, 'group_normalization { groups: 8 }'),
    'separable 3x3': (IMAGE, 'separable_conv2d { filters: 64 kernel_size: 3 padding: SAME }'),
    'a factor for each channel': (IMAGE, EXCITED),
    'dense 128 to 512': (SEQUENCE, 'dense { units: 512 }'),
    'dense 4096 to 4096': ([4096], 'dense { units: 4096 }'),
    'lstm': (SEQUENCE, recurrent('lstm')),
    'gru': (SEQUENCE, recurrent('gru')),
    'simple_rnn': (SEQUENCE, recurrent('simple_rnn')),
    'attention, 4 heads': (SEQUENCE, 'multi_head_attention { num_heads: 4 key_dim: 32 }'),
    'attention, causal, 512 positions': (
        [512, 128], 'multi_head_attention { num_heads: 8 key_dim: 16 causal: true }'),
}


def write_configuration(folder, shape, layer):
    pooled = f'layer {{ {POOL[len(shape)]} }}' if len(shape) in POOL else ''
    with open(os.path.join(folder, 'model.textproto'), 'w', encoding='utf-8') as file:
        file.write(f'''name: "layer"
feature {{ name: "x" dtype: FLOAT32 shape: {shape} }}
label {{ name: "label" dtype: INT32 }}
layer {{ layer_normalization {{}} input: "x" }}
layer {{ name: "measured" {layer} }}
{pooled}
layer {{ name: "logits" dense {{ units: 4 }} }}
head {{ classification {{ logits: "logits" label: "label" }} }}
optimizer {{ gradient_descent {{}} learning_rate {{ constant: 0.01 }} }}
''')
    raw = 'decode_raw {{ feature: "record" output: "{}" dtype: {} offset: {} {} }}'.format
    transforms = [raw('x', 'FLOAT32', 4, f'shape: {shape}'), raw('label', 'INT32', 0, ''), 'cache {}', 'repeat {}',
                  'batch { drop_remainder: true }']
    with open(os.path.join(folder, 'run.textproto'), 'w', encoding='utf-8') as file:
        file.write(f'''model_dir: "model"
model_file: "model.textproto"
train_batch_size: {BATCH}
train {{
  max_steps: 1
  input {{
    source {{ fixed_length_record {{ file: "x.bin" record_bytes: {4 + 4 * math.prod(shape)} }} }}
    {" ".join(f"transform {{ {transform} }}" for transform in transforms)}
  }}
}}
''')


def write_examples(folder, shape):
    draw = random.Random(1)
    numbers = array.array('f', (draw.gauss(0, 1) for _ in range(1 << 16)))
    with open(os.path.join(folder, 'x.bin'), 'wb') as file:
        for example in range(EXAMPLES):
            file.write(struct.pack('<i', example % 4))
            x = array.array('f')
            while len(x) < math.prod(shape):
                x.extend(numbers[draw.randrange(1 << 15):])
            x[:math.prod(shape)].tofile(file)


def of_tpurun(args, folder, mode):
    """Milliseconds of the layer, without its update."""
    done = subprocess.run(
        [args.tpurun, 'profile', f'--config={folder}/run.textproto', f'--model_dir={folder}/model', '--steps=10',
         f'--use_tpu={"true" if mode == "bf16" else "false"}', '--format=json', '--quiet'],
        stdout=subprocess.PIPE, check=True)
    profile = json.loads(done.stdout)
    seconds = sum(row['seconds'] for row in profile['layer']
                  if row['name'].split('/')[0] == 'measured' and row['phase'] != 'update')
    return seconds / profile['num_workers'] * 1000


def of_pytorch(args, name):
    done = subprocess.run([args.pytorch, os.path.join(HERE, 'peers/pytorch/layers.py'), name],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tpurun', required=True)
    parser.add_argument('--pytorch', help='a Python that has torch; without it tpurun alone is measured')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('layer', nargs='*', help='default: all')
    args = parser.parse_args()
    unknown = set(args.layer) - set(LAYERS)
    if unknown:
        parser.error(f'no layers: {sorted(unknown)}; there are {list(LAYERS)}')
    print('| layer, of an example | bf16 mode | f32 mode | PyTorch f32 | ratio |')
    print('| --- | --- | --- | --- | --- |')
    for name in args.layer or LAYERS:
        shape, layer = LAYERS[name]
        times = {'bf16': [], 'f32': [], 'PyTorch': []}
        with tempfile.TemporaryDirectory() as folder:
            write_configuration(folder, shape, layer)
            write_examples(folder, shape)
            for _ in range(args.rounds):
                for mode in 'bf16', 'f32':
                    times[mode].append(of_tpurun(args, folder, mode))
                if args.pytorch:
                    times['PyTorch'].append(of_pytorch(args, name))
        of = {column: statistics.median(values) for column, values in times.items() if values}
        ratio = f'{of["PyTorch"] / min(of["bf16"], of["f32"]):.2f}' if args.pytorch else ''
        cells = [f'{of[column]:.1f}' if column in of else '' for column in times]
        print(f'| {name}, {" x ".join(map(str, shape))} | {" | ".join(cells)} | {ratio} |', flush=True)


if __name__ == '__main__':
    main()
