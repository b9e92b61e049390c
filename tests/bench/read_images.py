"""What read_images measures, by tf.data: python read_images.py FILE [AUTOTUNE|1]. Images a second of five passes."""
import os
import sys
import time

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import tensorflow as tf


def one(record):
    encoded = tf.io.parse_single_example(record, {'image/encoded': tf.io.FixedLenFeature([], tf.string)})['image/encoded']
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(encoded), tf.zeros([1, 0, 4]), min_object_covered=0.1,
        aspect_ratio_range=(0.75, 1.3333), area_range=(0.08, 1), max_attempts=10, use_image_if_no_bounding_boxes=True)
    window = tf.concat([begin[:2], size[:2]], 0)
    image = tf.io.decode_and_crop_jpeg(encoded, window, channels=3)
    return tf.image.random_flip_left_right(tf.image.resize(image, [224, 224]))


def main(path, calls):
    dataset = tf.data.TFRecordDataset(path).map(one, num_parallel_calls=tf.data.AUTOTUNE if calls == 'AUTOTUNE' else None)
    dataset = dataset.batch(64).prefetch(tf.data.AUTOTUNE if calls == 'AUTOTUNE' else 0)
    if calls != 'AUTOTUNE':
        options = tf.data.Options()
        options.threading.private_threadpool_size = int(calls)
        options.autotune.enabled = False
        dataset = dataset.with_options(options)
    for _ in range(6):
        begin = time.perf_counter()
        images = sum(len(batch) for batch in dataset)
        print(f'{images / (time.perf_counter() - begin):.0f}', flush=True)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 'AUTOTUNE')
