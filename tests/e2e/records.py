"""TFRecord files made by hand: frames, checksums and tf.Examples, right or wrong on purpose."""
import struct


def _table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def header(length):
    data = struct.pack('<Q', length)
    return data + struct.pack('<I', masked_crc(data))


def frame(payload):
    return header(len(payload)) + payload + struct.pack('<I', masked_crc(payload))


def field(number, payload):
    """A length-delimited protobuf field of up to 127 bytes."""
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload


def example(**features):
    """A tf.Example; a feature is bytes, a float, or a list of small integers."""
    entries = b''
    for name, value in sorted(features.items()):
        if isinstance(value, bytes):
            kind = field(1, field(1, value))
        elif isinstance(value, float):
            kind = field(2, field(1, struct.pack('<f', value)))
        else:
            kind = field(3, field(1, bytes(value)))
        entries += field(1, field(1, name.encode()) + field(2, kind))
    # The Features message may be longer than 127 bytes.
    size = len(entries)
    varint = bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])
    return b'\x0a' + varint + entries


def digit(label):
    return example(image_raw=bytes([label] * 64), label=[label])


def payloads(data):
    """Those of the records of an uncompressed file."""
    found, at = [], 0
    while at < len(data):
        length, = struct.unpack_from('<Q', data, at)
        found.append(data[at + 12:at + 12 + length])
        at += 16 + length
    return found


def _varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _fields(data):
    """(number, bytes) of the length-delimited fields of a message, (number, value) of the others."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 2:
            at += value
            value = data[at - value:at]
        yield key >> 3, value


def parse(payload):
    """{feature: list of its values} of a tf.Example with packed numbers."""
    features = {}
    for _, entries in _fields(payload):
        for _, entry in _fields(entries):
            name, feature = (value for _, value in _fields(entry))
            (kind, values), = _fields(feature)
            items = [value for _, value in _fields(values)]
            if kind == 2:
                items = [item for packed in items for item, in struct.iter_unpack('<f', packed)]
            if kind == 3:
                items = [item for packed in items for item in _varints(packed)]
            features[name.decode()] = items
    return features


def _varints(data):
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found
