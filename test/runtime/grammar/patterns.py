"""Regular expressions and grammars for tests: written by hand, and made at random."""

import random

PATTERNS = [
    "", "a", "abc", "a|b", "a|", "|a", "(a|b)*c+d?[e-z]{2,5}", "[a-c]*", "[^a-c]{2}", ".", ".*", "a.c", "(ab){2,3}", "(ab){2,}",
    "(ab){3}", "a{0}", "a{0,2}b", "(?:a|bc)+", "(?<name>a)b", "((a|b)(c|d))*", "(a*)*", "(a+)+b", "(a|b)*a(a|b){3}", "(x+x+)+y",
    "[0-9]{4}-[0-9]{2}-[0-9]{2}", "\\d{3}-\\d{4}", "\\w+@\\w+\\.com", "\\s*\\S+\\s*", "\\D\\W", "[\\d\\s]+", "[^\\w]", "[-a]", "[a-]",
    "[.*+?]", "\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\\\\\/\\^\\$", "a\\tb\\nc", "\\x41\\u0042", "[\\x41-\\x43]", "é|日本|😀", "[à-ÿ]+",
    "[😀-😎]{2}", "[^é]", "\\u{1F600}", "\\0", "\\cA", "a*?b+?c??", "(yes|no|maybe)( (yes|no|maybe)){0,3}",
    "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?", "[A-Za-z_][A-Za-z0-9_]*", "(25[0-5]|2[0-4]\\d|1?\\d?\\d)(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}",
    "#[0-9a-fA-F]{6}", "<([a-z]+)>[^<]*</[a-z]+>", "\"([^\"\\\\]|\\\\.)*\"", "(a|ab)(c|bcd)(d*)", "a{2,4}a", "(a?){5}", "[^\\n]*\\n",
    "(\\+1 )?\\(?\\d{3}\\)?[ -]\\d{3}", "^abc$", "^a|b$", "[\\[\\]]+", "[\\\\]", "[a\\-z]", "[\\^a]", "[^^]",
]

GRAMMARS = [
    'root ::= "a"', 'root ::= ""', 'root ::= "a" | "b" "c"', 'root ::= ("a" | "b")* "c"', 'root ::= "a"+ "b"? "c"*',
    'root ::= x y\nx ::= "a" | "b"\ny ::= x x | ""', 'root ::= [a-c]+ [^a-c]', 'root ::= [0-9]{2,4}', 'root ::= "ab"{3}', 'root ::= ("a" "b"){2,}',
    'root ::= "x"{0,2} "y"', 'root ::= "(" root ")" | "x"', 'root ::= "(" root ")" root | ""',
    'root ::= expr\nexpr ::= term ("+" term)*\nterm ::= [0-9]+ | "(" expr ")"', 'root ::= "a" root "b" | "c"',
    'root ::= "a" root "a" | "b" root "b" | ""', 'root ::= a | b\na ::= "x" a "y" | "z"\nb ::= "x" b | "w"',
    'root ::= "\\x41\\u00e9\\n\\t\\"\\\\"', 'root ::= [\\x41-\\x43] [\\u00e0-\\u00ff] [\\n\\]\\-]', 'root ::= "é日本😀"', 'root ::= [^"\\\\]* "\\""',
    'root ::= ws value ws\nws ::= [ \\n]{0,3}\nvalue ::= "[" ws (value ("," ws value)*)? "]" | "1"',
    'root ::= item (\n  "," item\n)*  # items\nitem ::= "a" |\n  "b"\n', 'root ::= ("a"? "b"?)*', 'root ::= ("a"*)* "b"', 'root ::= (a b)* \na ::= "x"?\nb ::= "y"?',
    'root ::= digit{4} "-" digit{2}\ndigit ::= [0-9]', 'root ::= move+\nmove ::= [KQRBN]? [a-h] [1-8] ("x" [a-h] [1-8])? [+#]? " "',
    'root ::= "if " cond " then " root (" else " root)? | "s"\ncond ::= [pq] (" and " [pq])*', 'root ::= ("aa" | "aaa")* "b"',
    'root ::= s "!"\ns ::= "a" s "a" | "a"', 'root ::= [a-z]{1,8} (" " [a-z]{1,8}){0,5} "."', 'rule-1 ::= "a"\nroot ::= rule-1 rule-1',
]

LETTERS = ["a", "b", "c", "0", "1", "é", "日", "-", "_", " ", "x"]


class Maker:
    """Random patterns and grammars, which keep to what the libraries have alike."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def characters(self, more):
        spans = []
        for _ in range(self.rng.randint(1, 3)):
            low, high = sorted(self.rng.sample("abcdexyz0123", 2))
            spans.append(self.rng.choice([low, f"{low}-{high}", *more]))
        return f"[{self.rng.choice(['', '', '^'])}{''.join(spans)}]"

    def count(self):
        low = self.rng.randint(0, 3)
        return self.rng.choice(["?", "*", "+", f"{{{low}}}" if low else "?", f"{{{low},}}", f"{{{low},{low + self.rng.randint(1, 3)}}}"])

    def pattern(self, depth=3):
        kind = self.rng.random()
        if depth == 0 or kind < 0.25:
            return self.rng.choice([*LETTERS, self.characters(["\\d", "\\w", "\\s", "é-ü"]), "\\d", "\\w", "\\s", ".", "\\.", "\\+"])
        if kind < 0.55:
            return "".join(self.pattern(depth - 1) for _ in range(self.rng.randint(2, 3)))
        if kind < 0.75:
            return "(" + "|".join(self.pattern(depth - 1) for _ in range(self.rng.randint(2, 3))) + ")"
        return f"({self.pattern(depth - 1)}){self.count()}"

    def part(self, rules, depth=2):
        kind = self.rng.random()
        if depth == 0 or kind < 0.35:
            literal = "".join(self.rng.choice(LETTERS) for _ in range(self.rng.randint(1, 3)))
            return self.rng.choice([f'"{literal}"', f'"{literal}"', self.characters(["é-ü", "\\n"]), *rules])
        if kind < 0.6:
            return " ".join(self.part(rules, depth - 1) for _ in range(self.rng.randint(2, 3)))
        if kind < 0.8:
            return "(" + " | ".join(self.part(rules, depth - 1) for _ in range(self.rng.randint(2, 3))) + ")"
        return f"({self.part(rules, depth - 1)}){self.count()}"

    def grammar(self):
        """Rules call later ones, and themselves behind a letter."""
        names = ["root", "one", "two", "three"][:self.rng.randint(1, 4)]
        lines = []
        for place, name in enumerate(names):
            choices = [self.part(names[place + 1:]) for _ in range(self.rng.randint(1, 2))]
            if self.rng.random() < 0.3:
                choices.append(f'"(" {name} ")"')
            lines.append(f"{name} ::= " + " | ".join(choices))
        return "\n".join(lines) + "\n"


def random_patterns(count, seed):
    maker = Maker(seed)
    return [maker.pattern() for _ in range(count)]


def random_grammars(count, seed):
    maker = Maker(seed)
    return [maker.grammar() for _ in range(count)]
