"""Text protobufs as Python values, read without their descriptors."""
import codecs
import re

TOKENS = re.compile(r'#[^\n]*|"(?:\\.|[^"\\])*"|[-+.\w]+|[{}\[\]:]')


class Message(dict):
    """{field: [values]}: numbers, booleans, messages; enumerators and strings as str (of bytes that
    are not UTF-8 with surrogates, which `as_bytes` undoes)."""

    def get(self, field, default=None):
        """The last value, or the default."""
        return self[field][-1] if field in self else default

    def all(self, field):
        return super().get(field, [])

    def merged(self, other):
        """As protobuf merges: `other` adds its fields, replaces single ones."""
        result = Message({field: list(values) for field, values in self.items()})
        for field, values in other.items():
            before = result.get(field)
            if isinstance(before, Message) and len(values) == 1:
                values = [before.merged(values[0])]
            result[field] = values
        return result


def parse(text):
    return _message(token for token in TOKENS.findall(text) if not token.startswith('#'))


def as_bytes(text):
    return text.encode('utf-8', 'surrogateescape')


def _message(tokens):
    result = Message()
    for field in tokens:
        if field == '}':
            break
        token = next(tokens)
        if token == ':':
            token = next(tokens)
        if token == '[':
            values = [_value(item, tokens) for item in iter(lambda: next(tokens), ']')]
        else:
            values = [_value(token, tokens)]
        result.setdefault(field, []).extend(values)
    return result


def _value(token, tokens):
    if token == '{':
        return _message(tokens)
    if token.startswith('"'):
        return codecs.escape_decode(token[1:-1].encode())[0].decode('utf-8', 'surrogateescape')
    if token in ('true', 'false'):
        return token == 'true'
    for number in (int, float):
        try:
            return number(token)
        except ValueError:
            pass
    return token
