"""What a page of Markdown consists of, as far as the checks need it."""

import re

FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)


class Page:
    def __init__(self, text):
        self.blocks = []  # (language, [(line number, line)])
        prose, block, fence = [], None, None
        for number, line in enumerate(text.split("\n"), 1):
            match = FENCE.match(line)
            if fence:
                if match and match[1].startswith(fence) and not match[2]:
                    fence = None
                else:
                    block.append((number, line))
                prose.append("")
            elif match:
                fence, block = match[1], []
                self.blocks.append((match[2], block))
                prose.append("")
            elif line.startswith("    ") and (not prose or not prose[-1].strip()):
                # Indented code; what goes on in a list is indented less.
                if not (self.blocks and self.blocks[-1][1] and self.blocks[-1][1][-1][0] == number - 1):
                    self.blocks.append(("", []))
                self.blocks[-1][1].append((number, line))
                prose.append("")
            else:
                prose.append(line)
        self.prose = prose

    def spans(self):
        """Line number and text of each piece of inline code. It ends with its
        paragraph, or with its row of a table."""
        begin = 0
        lines = self.prose + [""]
        for end, line in enumerate(lines):
            if line.strip() and not line.startswith(("|", "#")):
                continue
            for first, last in ((begin, end), (end, end + 1)):
                paragraph = "\n".join(lines[first:last])
                for match in SPAN.finditer(paragraph):
                    number = first + 1 + paragraph[:match.start()].count("\n")
                    yield number, " ".join(match[2].split())
            begin = end + 1

    def without_code(self):
        """Line number and text of prose, with inline code left out."""
        for number, line in enumerate(self.prose, 1):
            yield number, re.sub(r"`[^`]*`", "``", line)

    def anchors(self):
        """The names that GitHub gives to headings."""
        found = {}
        for line in self.prose:
            if match := re.match(r"^#{1,6}\s+(.*?)\s*#*$", line):
                text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "").lower()
                name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
                count = found.get(name, 0)
                found[name] = count + 1
                yield f"{name}-{count}" if count else name
            for match in re.finditer(r'<a (?:id|name)="([^"]+)"', line):
                yield match[1]
