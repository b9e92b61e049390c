"""Images beside masks of their pixels: what moves pixels moves both, and pixels without a class do not count."""
import json
import os
import random
import struct
import zlib

from program import ProgramTest, write

HEIGHT, WIDTH, VOID = 20, 24, 255
MODEL = '''
feature { name: "image" dtype: FLOAT32 shape: [16, 16, 1] }
label { name: "mask" dtype: INT32 shape: [16, 16, 1] ignore_class: 255 }
layer { name: "logits" conv2d { filters: 2 kernel_size: 1 } }
head { sequence { logits: "logits" label: "mask" } }
eval_metric { name: "iou" mean_iou { labels: "mask" predictions: "class_ids" num_classes: 2 } }
optimizer { adam {} learning_rate { constant: 0.1 } }
'''
INPUT = '''
source {
  zip {
    input {
      source { image_file { file: "images/*.png" feature: "image" } }
      transform { parse_example { feature { name: "image" bytes {} } } }
      transform { decode_image { feature: "image" channels: 1 } }
    }
    input {
      source { image_file { file: "masks/*.png" feature: "mask" file_key: "" } }
      transform { parse_example { feature { name: "mask" bytes {} label: true } } }
      transform { decode_image { feature: "mask" channels: 1 } }
    }
  }
}
REPEAT
transform { random_crop { feature: "image" feature: "mask" size: 16 } }
transform { random_flip_left_right { feature: "image" feature: "mask" } }
transform { random_flip_up_down { feature: "image" feature: "mask" } }
transform { cast { feature: "image" dtype: FLOAT32 scale: 0.01 offset: -1 } }
transform { cast { feature: "mask" dtype: INT32 } }
'''
RUN = f'''
model_dir: "model"
model_file: "model.textproto"
train_batch_size: 16
eval_batch_size: 8
train {{ max_steps: 60 input {{ {INPUT.replace("REPEAT", "transform { repeat {} }")} }} }}
evaluate {{ input {{ {INPUT.replace("REPEAT", "")} }} }}
'''


def png(pixels):
    """Of 8 bits of grey, from rows of numbers."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    head = struct.pack('>IIBBBBB', len(pixels[0]), len(pixels), 8, 0, 0, 0, 0)
    rows = b''.join(b'\0' + bytes(row) for row in pixels)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')


class MasksTest(ProgramTest):

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        for folder in 'images', 'masks':
            os.makedirs(self.path(folder))
        for i in range(12):
            # Bright pixels are of class 1, those without a class are of any brightness.
            mask = [[draw.choice((0, 0, 1, VOID)) for _ in range(WIDTH)] for _ in range(HEIGHT)]
            image = [[draw.choice((20, 200)) if label == VOID else 20 + 180 * label for label in row] for row in mask]
            write(self.path('masks', f'{i}.png'), png(mask))
            write(self.path('images', f'{i}.png'), png(image))
        write(self.path('model.textproto'), MODEL.encode())
        write(self.path('run.textproto'), RUN.encode())

    def evaluated(self, *flags):
        return self.call('evaluate', f'--config={self.path("run.textproto")}', *flags)

    def test_masks_move_with_their_images(self):
        self.succeed('train', f'--config={self.path("run.textproto")}')
        done = self.evaluated()
        self.assertEqual(done.code, 0, str(done))
        metrics = json.loads(done.out)
        self.assertEqual((metrics['examples'], metrics['accuracy'], metrics['iou']), (12, 1, 1))

    def test_a_pixel_of_no_class_is_an_error(self):
        self.succeed('train', f'--config={self.path("run.textproto")}', '--max_steps=1')
        write(self.path('masks', '3.png'), png([[7] * WIDTH] * HEIGHT))
        done = self.evaluated()
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('label "mask" is 7, want a class in [0, 2) or ignore_class, 255', done.messages[-1])

    def test_a_mask_is_missing(self):
        self.succeed('train', f'--config={self.path("run.textproto")}', '--max_steps=1')
        os.remove(self.path('masks', '11.png'))
        done = self.evaluated()
        self.assertEqual(json.loads(done.out)['examples'], 11)
        warnings = '\n'.join(done.warnings)
        self.assertIn('zip: input[0] has 12 elements, of which only the first 11 are read: another input ends there',
                      warnings)
        # 11.png stands behind 10.png.
        self.assertRegex(warnings, r'zip: ".*images/11\.png" is beside ".*masks/2\.png": are they a pair\? ')
        self.assertEqual(self.evaluated('--strict').code, 5)

    def test_images_of_other_sizes_have_no_window_together(self):
        self.succeed('train', f'--config={self.path("run.textproto")}', '--max_steps=1')
        write(self.path('masks', '3.png'), png([[1] * 40] * 40))
        done = self.evaluated()
        self.assertEqual(done.code, 65, str(done))
        self.assertIn('random_crop cuts one window out of images of one size, got "image" of 20 x 24 pixels and "mask" '
                      'of 40 x 40; resize one of them before it', done.messages[-1])

    def test_two_names_of_files_have_two_keys(self):
        done = self.call('train', f'--config={self.path("run.textproto")}', '--unset',
                         'train.input.source.zip.input.1.source.image_file.file_key')
        self.assertEqual(done.code, 2, str(done))
        self.assertIn('zip: feature "file" is one of an input before it, too; give it another key, such as by the '
                      'field output of a transform, or file_key: "" of image_file', done.messages[0])
