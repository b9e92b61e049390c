"""No lambda captures a structured binding: g++ takes that, and clang 14, which tools/fuzz needs, does not.

C++ is read by regular expressions here, so a name that is declared again in a lambda is taken for its own.
"""
import os
import re
import unittest

FOLDERS = 'cli', 'data', 'models', 'runtime', 'tests'
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
BINDING = re.compile(r'\bauto\s*&{0,2}\s*\[([\w\s,]+)\]\s*([=:])(?!:)')
# Behind a name, ) or ] a [ is an index.
LAMBDA = re.compile(r'(?<![\w)\]])\s*\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\s*(\([^{};]*?\))?[^{};()]*\{')


def code_of(text):
    """The text with blanks in place of comments, strings and characters."""
    return NOT_CODE.sub(lambda match: re.sub(r'[^\n]', ' ', match.group()), text)


def end_of_block(code, begin, depth):
    """Behind the brace that ends the block, `depth` braces of which are open at `begin`."""
    for place in range(begin, len(code)):
        depth += {'{': 1, '}': -1}.get(code[place], 0)
        if depth == 0 and code[place] == '}':
            return place + 1
    return len(code)


def scope_of(code, match):
    """Where the names of a binding are known: to the end of the loop or of the block around it."""
    if match.group(2) == '=':
        return match.end(), end_of_block(code, match.end(), 1)
    depth, place = 1, match.end()
    while depth > 0 and place < len(code):
        depth += {'(': 1, ')': -1}.get(code[place], 0)
        place += 1
    body = re.compile(r'\s*\{').match(code, place)
    return place, end_of_block(code, place, 0) if body else code.find(';', place)


def captured(names, captures, parameters, body):
    """The names that a lambda with these captures takes from around it."""
    parts = [part.strip() for part in captures.split(',')]
    for name in names:
        word = rf'\b{name}\b'
        if any(re.fullmatch(rf'&?\s*{name}', part) for part in parts):
            yield name
        elif parts[0] in ('&', '=') and not re.search(word, parameters):
            own = (rf'(?<!\breturn)(?<=[\w>&*])\s+[&*]*{name}\s*[=:;({{\[]|auto\s*&{{0,2}}\s*\[[^\]]*{word}|'
                   rf'[,(]\s*{name}\s*=')
            if re.search(rf'(?<![.\w])(?<!->)(?<!::){word}', body) and not re.search(own, body):
                yield name


def mistakes(text):
    """(line, name) of each binding that a lambda captures."""
    code = code_of(text)
    for match in BINDING.finditer(code):
        names = [name.strip() for name in match.group(1).split(',')]
        begin, end = scope_of(code, match)
        for found in LAMBDA.finditer(code, begin, end):
            body = code[found.end():end_of_block(code, found.end(), 1)]
            for name in captured(names, found.group(1), found.group(2) or '', body):
                yield code.count('\n', 0, found.end()) + 1, name


class StructuredBindingsTest(unittest.TestCase):

    def test_of_the_sources(self):
        root = os.path.dirname(os.path.realpath('WORKSPACE'))
        found, files = [], 0
        for folder in FOLDERS:
            for path, _, names in os.walk(os.path.join(root, folder)):
                for name in names:
                    if name.endswith(('.cc', '.h')):
                        with open(os.path.join(path, name), encoding='utf-8') as file:
                            text = file.read()
                        files += 1
                        found += [f'{os.path.relpath(os.path.join(path, name), root)}:{line}: a lambda captures {what}'
                                  for line, what in mistakes(text)]
        self.assertGreater(files, 500)
        self.assertEqual(found, [])

    def test_of_samples(self):
        for text, want in (
                ('{ const auto& [a, b] = f(); const auto g = [&] { return a; }; }', [(1, 'a')]),
                ('{ auto [a, b] = f();\n  g([=](int i) {\n    return b[i]; }); }', [(2, 'b')]),
                ('for (const auto& [a, b] : f(c, d)) { g([&b] { return b; }); }', [(1, 'b')]),
                ('for (const auto& [a, b] : f(c)) { g([&x = b](int i) { return x; }); }', []),
                ('for (const auto& [a, b] : f(c)) { a(); } g([&] { return b; });', []),
                ('{ { auto [a, b] = f(); } g([&] { return a; }); }', []),
                ('{ auto [a, b] = f(); g([&](int a) { return a + x.b + y->b; }); }', []),
                ('{ auto [a, b] = f(); c[a] = [](int i) { return i; }; }', []),
                ('{ auto [a, b] = f(); h([&] { const int a = 1; return a; }); }', []),
                ('{ auto [a, b] = f(); h([&] { return "a"; /* b */ }); }', [])):
            with self.subTest(text):
                self.assertEqual(list(mistakes(text)), want)


if __name__ == '__main__':
    unittest.main()
