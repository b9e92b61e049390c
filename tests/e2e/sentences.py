"""Sentences of different lengths and a model that reads them in buckets, for tests of buckets."""
import os
import random

from program import write

WORDS = 50
LONGEST = 24
BATCH = 16
MODEL = f"""
name: "sentences"
feature {{ name: "ids" dtype: INT32 shape: {LONGEST} }}
label {{ name: "class" dtype: INT32 }}
layer {{ name: "words" embedding {{ input_dim: {WORDS + 1} output_dim: 8 mask_zero: true }} }}
layer {{ name: "lstm" lstm {{ units: 8 }} }}
layer {{ name: "dropout" dropout {{ rate: 0.1 }} }}
layer {{ name: "logits" dense {{ units: 2 }} }}
head {{ classification {{ logits: "logits" label: "class" }} }}
optimizer {{ adam {{}} learning_rate {{ constant: 0.02 }} }}
"""
RUN = f"""
model_file: "model.textproto"
train_batch_size: {BATCH}
eval_batch_size: {BATCH}
transformation_func {{
  name: "parse"
  transform {{ decode_csv {{ column {{ name: "class" dtype: INT32 }} column {{ name: "text" dtype: STRING }} }} }}
  transform {{ split {{ feature: "text" output: "ids" }} }}
  transform {{ lookup {{ feature: "ids" vocabulary_file: "words.txt" }} }}
  transform {{ cast {{ feature: "ids" dtype: INT32 }} }}
  transform {{ to_tensor {{ feature: "ids" length: {LONGEST} row_lengths: "n" }} }}
  transform {{
    batch {{
      bucket_by_sequence_length {{ element_length: "n" feature: "ids" bucket_boundaries: [5, 9, 17] }}
    }}
  }}
}}
train {{
  max_steps: 60
  input {{
    source {{ text_line {{ file: "train.csv" }} }}
    transform {{ shuffle {{ buffer_size: 100 }} }}
    transform {{ apply {{ transformation_func: "parse" }} }}
  }}
}}
evaluate {{
  input {{
    source {{ text_line {{ file: "train.csv" }} }}
    transform {{ apply {{ transformation_func: "parse" }} }}
  }}
}}
"""
LENGTHS = [4, 8, 16, LONGEST]  # of the buckets


def write_sentences(folder, sentences=500):
    """The class is that of most words."""
    draw = random.Random(1)
    lines = []
    for _ in range(sentences):
        words = draw.choices(range(WORDS), k=min(LONGEST, 1 + int(draw.expovariate(1 / 8))))
        most = sum(word < WORDS // 2 for word in words) * 2 > len(words)
        lines.append(f'{int(most)},{" ".join(f"w{word}" for word in words)}\n')
    for name, text in (('train.csv', ''.join(lines)), ('model.textproto', MODEL), ('run.textproto', RUN),
                       ('words.txt', '\n'.join(['-', *(f'w{word}' for word in range(WORDS))]) + '\n')):
        write(os.path.join(folder, name), text)
