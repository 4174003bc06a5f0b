"""Commands in Markdown can be typed: flags and subcommands exist, of batonc,
baton-opt, diff-run, check-plan, of the programs that batonc writes, and of scripts; files of the
tree that they name are there."""

import glob
import os
import re
import shlex
import shutil
import subprocess

from .markdown import Page

# Where flags stand in the sources, for each command.
SHARED = "tools/batonc/compile_flags.cpp"
SOURCES = {
    "batonc": ["tools/batonc/batonc.cpp", SHARED],
    "batonc calibrate": ["tools/calibrate/main.cpp"],
    "batonc check-body": ["tools/batonc/check_body.cpp"],
    "batonc compare": ["tools/batonc/compare.cpp"],
    "batonc explain": ["tools/batonc/explain.cpp", SHARED],
    "batonc names": ["tools/batonc/names.cpp", SHARED],
    "batonc health": ["tools/health/main.cpp"],
    "batonc merge": ["tools/merge/main.cpp"],
    "batonc plan decode": ["tools/plan/decode_command.cpp"],
    "batonc plan goodput": ["tools/plan/goodput_command.cpp"],
    "batonc plan judge": ["tools/plan/judge_command.cpp"],
    "batonc plan memory": ["tools/plan/memory_command.cpp"],
    "batonc plan offload": ["tools/plan/offload_command.cpp"],
    "batonc plan scale": ["tools/plan/scale_command.cpp"],
    "batonc plan serve": ["tools/plan/serve_command.cpp"],
    "batonc plan shard": ["tools/batonc/plan_shard.cpp", SHARED],
    "batonc plan stages": ["tools/batonc/plan_stages.cpp", SHARED],
    "batonc plan train": ["tools/plan/train_command.cpp"],
    "batonc prune": ["tools/prune/main.cpp"],
    "batonc quantize": ["tools/quantize/main.cpp"],
    "batonc sweep": ["tools/calibrate/main.cpp"],
    "batonc tune": ["tools/batonc/tune.cpp", SHARED],
    "batonc pipeline": ["tools/batonc/pipeline.cpp"],
    "diff-run": ["tools/diff-run/diff-run.cpp"],
    "check-plan": ["tools/check-plan/main.cpp"],
    "PROGRAM": ["runtime/main/command_line.cpp"],
}
PROGRAM_SOURCE = "runtime/main/command_line.cpp"
# Commands of batonc.
COMMANDS = tuple(name.removeprefix("batonc ") for name in SOURCES if name.startswith("batonc "))
# What says the same of itself, once it is built. The toy has a written program's
# command line.
BUILT = {"batonc": "bin/batonc", "diff-run": "bin/diff-run", "check-plan": "bin/check-plan",
         "baton-opt": "bin/baton-opt", "PROGRAM": "test/runtime/main/baton-toy-program"}
TOOLS = ("batonc", "baton-opt", "diff-run", "check-plan")
SHELLS = ("", "sh", "bash", "console")
FLAG = re.compile(r"^--?[A-Za-z][\w.-]*")
DOTS = ("…", "...")
# What stands in front of a command and belongs to another program.
PREFIXES = {"mpirun": r"-n|-np|\d+|--[\w-]+", "python3": r"-[A-Za-z]+", "env": r"\w+=.*", "time": r"-\w+",
            "sudo": r"-\w+", "do": r"(?!)", "$": r"(?!)"}


class Commands:
    """Which flags each command has; of written programs, which subcommands."""

    def __init__(self, tree):
        self.tree = tree
        self.flags = {}
        self.subcommands = {}
        if tree.tools:
            self._ask_tools()
        else:
            self._read_sources()
        self.scripts = {name: self._script(name) for name in
                        tree.scripts("(bash|python3?|sh)", ".py", ".sh")}

    def _read_sources(self):
        for command, sources in SOURCES.items():
            texts = [self.tree.text(name) for name in sources if name in self.tree.names]
            if texts:
                self.flags[command] = {flag for text in texts for word in re.findall(r'"(-[\w,-]+)"', text)
                                       for flag in word.split(",")} | {"--help", "-h"}
        # Passes of Baton, beside which baton-opt has some of MLIR's.
        passes = {f"--{name}" for source in self.tree.find(".td")
                  for name in re.findall(r'\bPass<"([\w-]+)"', self.tree.text(source))}
        if passes and (others := shutil.which("mlir-opt-19")):
            text = subprocess.run([others, "--help"], capture_output=True, text=True).stdout
            self.flags["baton-opt"] = passes | flags_of_help(text)
        if PROGRAM_SOURCE in self.tree.names:
            names = re.findall(r'add_subcommand\(\s*"(\w+)"', self.tree.text(PROGRAM_SOURCE))
            for name in names:
                self.flags[f"PROGRAM {name}"] = self.flags["PROGRAM"]
            self.subcommands["PROGRAM"] = names

    def _ask(self, command, *words):
        path = os.path.join(self.tree.tools, BUILT[command])
        return subprocess.run([path, *words, "--help"], capture_output=True, text=True, check=True).stdout

    def _ask_tools(self):
        self.flags["batonc"] = flags_of_help(self._ask("batonc"))
        for name in COMMANDS:
            self.flags[f"batonc {name}"] = flags_of_help(self._ask("batonc", *name.split()))
        for name in ("diff-run", "check-plan"):
            self.flags[name] = flags_of_help(self._ask(name))
        self.flags["baton-opt"] = flags_of_help(self._ask("baton-opt"))
        text = self._ask("PROGRAM")
        names = re.findall(r"^  (\w+)  ", text[text.index("Subcommands"):], re.M)
        self.flags["PROGRAM"] = flags_of_help(text)
        for name in names:
            self.flags[f"PROGRAM {name}"] = flags_of_help(self._ask("PROGRAM", name))
        self.subcommands["PROGRAM"] = names

    def _script(self, name, seen=()):
        """The flags of a script: what it, or a script beside it that it imports, has
        in quotes, or as a case. None where it hands all of them to another program."""
        text = self.tree.text(name)
        if not name.endswith(".py") and re.search(r'^(?!.*\(\) ).*"\$@"', text, re.M):
            return None
        found = set(re.findall(r"[\"'](--?[A-Za-z][\w-]*)[\"'=]", text))
        for case in re.findall(r"^\s*(-[\w| -]+)\)", text, re.M):
            found |= {word.strip() for word in case.split("|")}
        if 'f"--{' in text:
            # Their names are made; what is promised of them stands on top.
            found |= set(re.findall(r"--[a-z][\w-]*", text.split('"""')[1]))
        for match in re.finditer(r"^\s*(?:from|import) ([\w, ]+)", text, re.M):
            for module in re.split(r"\W+", match[1]):
                beside = os.path.join(os.path.dirname(name), module + ".py")
                if beside in self.tree.names and beside not in seen and beside != name:
                    found |= self._script(beside, (*seen, name, beside)) or set()
        return found | {"--help", "-h"}

    def every_flag(self):
        return {flag for flags in [*self.flags.values(), *self.scripts.values()] for flag in flags or ()}


def flags_of_help(text):
    """CLI11 writes "  -o TEXT", "  -h,--help  ..."; MLIR "  --pass  - ...", and options of
    passes deeper."""
    return {flag for words in re.findall(r"^ {1,8}(-[\w,-]+)", text, re.M)
            for flag in words.split(",")} | {"--help", "-h"}


def split(line):
    """The commands of a line, each as words; none where it cannot be read."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return []
    commands = [[]]
    for word in words:
        if word and set(word) <= set("|&;"):
            commands.append([])
        elif not (word and set(word) <= set("<>")):
            commands[-1].append(word)
    return commands


def without_prefix(words):
    while words:
        first = words[0]
        if re.match(r"^\w+=\S*$", first):
            words = words[1:]
        elif first in PREFIXES:
            pattern = PREFIXES[first]
            words = words[1:]
            while words and re.fullmatch(pattern, words[0]):
                words = words[1:]
        elif re.search(r"(^|/)python3?$", first):
            words = words[1:]
        else:
            break
    return words


def expanded(word):
    """{a,b} written out."""
    match = re.search(r"\{([^{}]*,[^{}]*)\}", word)
    if not match:
        return [word]
    return [text for part in match[1].split(",")
            for text in expanded(word[:match.start()] + part + word[match.end():])]


class Judge:
    def __init__(self, tree):
        self.tree = tree
        self.commands = Commands(tree)
        self.count = 0
        self.top = {name.split("/")[0] for name in tree.files if "/" in name}

    def missing(self, word):
        """The path of the tree that a word names, and which is not there."""
        for path in expanded(word.removeprefix("./").rstrip("/")):
            top = path.split("/")[0]
            # What begins with a dot is made, as build/ is.
            if top not in self.top or "/." in path or "/" not in path or not re.fullmatch(r"[\w./*+-]+", path):
                continue
            if "*" in path:
                if not glob.glob(os.path.join(self.tree.root, path)):
                    return path
            elif path not in self.tree.names and path not in self.tree.folders:
                return path
        return None

    def command_of(self, words):
        """Which command words call, its own words, and whether it is known."""
        first, rest = words[0], words[1:]
        name = os.path.basename(first)
        if first in TOOLS or first.startswith(("build/bin/", "./build/bin/")):
            if name not in TOOLS:
                return None, f"there is no {first}"
            if name == "batonc":
                # batonc plan has commands of its own.
                for count in (2, 1):
                    if " ".join(rest[:count]) in COMMANDS:
                        return " ".join([name, *rest[:count]]), rest[count:]
            return name, rest
        if first.removeprefix("./") in self.commands.scripts:
            return first.removeprefix("./"), rest
        if first == "FILE" or re.fullmatch(r"\./[\w-]+", first):
            known = self.commands.subcommands.get("PROGRAM", [])
            if not rest or rest[0] in DOTS:
                return None, None
            if rest[0].startswith("-"):
                return "PROGRAM", rest
            if known and rest[0] not in known:
                return None, f"a program has no command {rest[0]}; there is {', '.join(known)}"
            return f"PROGRAM {rest[0]}", rest[1:]
        return None, None

    def judge(self, words):
        """What is wrong with a command, and whether it is one that is known."""
        words = without_prefix(words)
        if not words:
            return []
        command, rest = self.command_of(words)
        if command is None:
            found = [rest] if rest else []
            if words[0].endswith(".py") and (path := self.missing(words[0])):
                found.append(f"there is no {path}")
            elif words[0].startswith("tools/") and (path := self.missing(words[0])):
                found.append(f"there is no {path}")
            return found
        self.count += 1
        found = []
        known = self.commands.flags.get(command, self.commands.scripts.get(command))
        for word in rest:
            if word == "--":
                break
            if (match := FLAG.match(word)) and known is not None and match[0] not in known:
                # -n5; numbers are no flags.
                if not (re.match(r"^-\w", word) and word[:2] in known):
                    found.append(f"{command.replace('PROGRAM', 'a program')} has no flag {match[0]}")
            value = word.partition("=")[2] if match else word
            if value and (path := self.missing(value)):
                found.append(f"there is no {path}")
        return found


def lines_of(block):
    """Commands of a block: lines joined where they go on, without what is printed."""
    prompts = any(line.lstrip().startswith("$ ") for _, line in block)
    joined, begin = "", None
    for number, line in block:
        begin = begin or number
        text = line.strip()
        if not joined and prompts and not text.startswith("$ "):
            begin = None
            continue
        joined += text.removeprefix("$ ")
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        yield begin, joined
        joined, begin = "", None
    if joined:
        yield begin, joined


def check(tree):
    judge = Judge(tree)
    everything = judge.commands.every_flag()
    findings = []

    def add(name, number, complaints):
        findings.extend(f"{name}:{number}: {complaint}" for complaint in complaints)

    pages = [name for name in tree.find(".md") if not name.startswith("docs/reference/")]
    for name in pages:
        page = Page(tree.text(name))
        for language, block in page.blocks:
            if language not in SHELLS:
                continue
            for number, line in lines_of(block):
                for words in split(line):
                    add(name, number, judge.judge(words))
        for number, span in page.spans():
            if re.match(r"^--[a-z]", span):
                # Any command's; where there is no MLIR to ask, a pass of it may be meant.
                if "baton-opt" in judge.commands.flags:
                    flags = [match[0] for word in span.split() if (match := re.match(r"--[a-z][\w-]*", word))]
                    add(name, number, [f"nothing has a flag {flag}" for flag in flags if flag not in everything])
                continue
            for words in split(span):
                if len(words) > 1 or "/" in span:
                    program = words and words[0] in judge.commands.subcommands.get("PROGRAM", ())
                    add(name, number, judge.judge(["FILE", *words] if program else words))
            if " " not in span and (path := judge.missing(span)):
                complaint = f"{name}:{number}: there is no {path}"
                if complaint not in findings:
                    findings.append(complaint)
    source = "built tools" if tree.tools else "sources"
    return f"{judge.count} commands in {len(pages)} pages against the flags of {source}", findings
