"""The memory plan of a training step against what its program keeps alive, and its barriers.

The sizes are counted from the program's text alone, by its reads and writes.
"""
import os
import re
import struct

from program import ProgramTest, read, write

DIGITS = os.path.abspath('testdata/digits')
MNIST = os.path.abspath('testdata/mnist')
RESNET_CIFAR = os.path.abspath('models/zoo/resnet_cifar')
SHAKESPEARE_LSTM = os.path.abspath('models/zoo/shakespeare_lstm')
CHAR_TRANSFORMER = os.path.abspath('models/zoo/char_transformer')
MOST = 1.15
ALIGNMENT = 64
BYTES = {'f32': 4, 'bf16': 2, 's32': 4, 's64': 8, 'u8': 1, 'u32': 4, 'pred': 1, 'c64': 8}
PLACE = re.compile(r'(shared|core|worker)\d*:(\d+) (\w+)\[([\d,]*)\](?:\{\w+:(\d+)\})?')
SCRATCH = re.compile(r' scratch=(\w+):(\d+)\+(\d+)')


def rounded(count):
    return (max(count, 1) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def places(line):
    """{(space, offset): bytes} of the arenas' values in a line of operands or results."""
    found = {}
    for space, offset, dtype, dims, layout in PLACE.findall(line):
        count = BYTES[dtype]
        for dim in filter(None, dims.split(',')):
            count *= int(dim)
        found[space, int(offset)] = rounded(int(layout) if layout else count)
    return found


def instructions(text):
    """[(section, reads, writes, scratch)] in the order of the program."""
    found, section = [], None
    for line in text.splitlines():
        if re.match(r'(prologue|step|periodic) ', line):
            section = line.split()[0]
        elif line.startswith('    <-'):
            found.append((section, places(line), {}, scratch))
        elif line.startswith('    ->'):
            found[-1][2].update(places(line))
        elif section:
            match = SCRATCH.search(line)
            scratch = (match[1], rounded(int(match[3]))) if match else None
    return found


def most_alive(text):
    """{space: the largest sum of bytes alive at one instruction}."""
    program = instructions(text)
    loss = re.search(r'^loss (\w+):(\d+)', text, re.M)
    values, now = [], {}
    for time, (section, reads, writes, _) in enumerate(program):
        for place in reads:
            now[place]['last'] = max(now[place]['last'], time)
        for place, count in writes.items():
            # What the prologue made is there in every step, be it made again for the next one; the
            # device reads the loss at its end.
            if place in now and now[place]['carried']:
                continue
            stays = section == 'prologue' or (loss and place == (loss[1], int(loss[2])))
            now[place] = {'space': place[0], 'bytes': count, 'last': len(program) if stays else time,
                          'first': 0 if section == 'prologue' else time,
                          'carried': section == 'prologue'}
            values.append(now[place])
    most = {}
    for time, (_, _, _, scratch) in enumerate(program):
        alive = {'shared': 0, 'core': 0, 'worker': 0}
        for value in values:
            if value['first'] <= time <= value['last']:
                alive[value['space']] += value['bytes']
        if scratch:
            alive[scratch[0]] += scratch[1]
        most = {space: max(most.get(space, 0), count) for space, count in alive.items()}
    return most


class ArenaTest(ProgramTest):

    def program(self, config, *options):
        self.succeed('train', f'--config={config}/run.textproto', f'--model_dir={self.path("m")}',
                     f'--dump_dir={self.path("dump")}', '--max_steps=1', *options)
        return read(self.path('dump', '90.core.program')).decode('ascii')

    def arenas(self, text):
        sizes = re.search(r'^arena shared=(\d+) core=(\d+) worker=(\d+)$', text, re.M)
        return dict(zip(('shared', 'core', 'worker'), map(int, sizes.groups())))

    def check(self, text):
        arenas = self.arenas(text)
        alive = most_alive(text)
        for space, bytes_ in arenas.items():
            self.assertLessEqual(bytes_, MOST * alive[space], (space, arenas, alive))

    def check_two_barriers(self, text):
        self.check_barriers(text, 2)

    def check_barriers(self, text, count):
        phases = re.findall(r'^step phase (\d+)$', text, re.M)
        self.assertEqual(phases, [str(phase) for phase in range(count)])

    def test_iris(self):
        self.check(self.program(os.path.abspath('testdata/iris')))

    def test_digits(self):
        text = self.program(DIGITS)
        self.check(text)
        self.check_two_barriers(text)

    def test_mnist(self):
        # The program depends on the sizes of the records and not on what they say.
        for name, header, count in (('images', (0x803, 128, 28, 28), 128 * 28 * 28),
                                    ('labels', (0x801, 128), 128)):
            with open(self.path(name), 'wb') as file:
                file.write(struct.pack(f'>{len(header)}I', *header) + bytes(count))
        self.succeed('convert', 'idx', 'images', 'labels', '--output=train.tfrecord')
        text = self.program(MNIST, '--set', 'train.input.source.tfrecord.file=train.tfrecord')
        self.check(text)
        self.check_two_barriers(text)

    def test_resnet_cifar(self):
        self.succeed('convert', 'synthetic', 'shapes', '--examples=128', '--output=shapes.tfrecord')
        text = self.program(RESNET_CIFAR, '--set', 'train.input.source.tfrecord.file=shapes.tfrecord')
        self.check(text)
        self.check_two_barriers(text)

    def letters(self, count):
        """A text of 65 characters, again and again."""
        write(self.path('input.txt'), (''.join(chr(ord('!') + i) for i in range(65)) * count)[:count])
        return self.path('input.txt')

    def test_shakespeare_lstm(self):
        text = self.program(SHAKESPEARE_LSTM, '--set',
                            f'train.input.source.text.file={self.letters(7800)}')
        self.check(text)
        # The first: the product of the embedding's table, which all cores read.
        self.check_barriers(text, 3)

    def test_char_transformer(self):
        text = self.program(CHAR_TRANSFORMER, '--set',
                            f'train.input.source.text.file={self.letters(7800)}')
        self.check(text)
        self.check_two_barriers(text)

    def test_causal_attention_of_long_sequences(self):
        """Linear in the length: no scores of all queries and keys."""
        sizes = {}
        for length in (512, 1024, 8192):
            write(self.path('run.textproto'), f'''
                train_batch_size: 8
                model {{
                  feature {{ name: "text" dtype: INT32 shape: {length} }}
                  label {{ name: "next" dtype: INT32 shape: {length} }}
                  layer {{ embedding {{ input_dim: 65 output_dim: 16 }} }}
                  layer {{ multi_head_attention {{ num_heads: 2 key_dim: 8 causal: true dropout: 0.1 }} }}
                  layer {{ name: "logits" dense {{ units: 65 }} }}
                  head {{ sequence {{ logits: "logits" label: "next" }} }}
                  optimizer {{ adamw {{}} learning_rate {{ constant: 0.001 }} }}
                }}
                train {{ input {{
                  source {{ text {{ file: "{self.letters(8 * length + 1)}" sequence_length: {length} }} }}
                  transform {{ batch {{ drop_remainder: true }} }}
                }} }}''')
            text = self.program(self.path('.'), f'--model_dir={self.path("m", str(length))}')
            sizes[length] = sum(self.arenas(text).values())
        # Per position at most what 512 take, whose tiles are as large as those of 8,192.
        self.assertLessEqual(sizes[8192], 16 * sizes[512], sizes)
        self.assertLessEqual(sizes[1024], 2 * sizes[512], sizes)
