"""What scripts read: modules that they import, and files that they name, in the place of
which a script may declare INPUTS, relative to the top folder ("build/..." is what the
build makes, "." everything)."""

import ast
import glob
import os
import re

# Every test of programs has it; which of its functions one calls is what tells.
SHARED = "test/e2e/programs.py"


class Script:
    """Of one file: local modules, paths, declared inputs and words."""

    def __init__(self, root, name):
        self.modules, self.paths, self.inputs, self.words = set(), set(), None, set()
        self.root, self.name = root, name
        self.folder = os.path.dirname(name)
        with open(os.path.join(root, name), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        documents = {id(node.body[0].value) for node in ast.walk(tree)
                     if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and node.body
                     and isinstance(node.body[0], ast.Expr)}
        # Where modules are looked for is no file that is read.
        places = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Call)
                  and ast.unparse(node.func) == "sys.path.insert" for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if id(node) in places:
                continue
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self._import(alias.name)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                self.words.add(node.value)
                self._name(node.value)
            elif isinstance(node, ast.Name):
                self.words.add(node.id)
            elif isinstance(node, ast.Attribute):
                self.words.add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
                self._join(node.args)
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "INPUTS":
                self.inputs = ast.literal_eval(node.value)

    def _find(self, module):
        beside = os.path.join(self.folder, *module.split("."))
        for folder in (beside, os.path.join("test/golden", module), os.path.join("tools", *module.split("."))):
            for name in (folder + ".py", os.path.join(folder, "__init__.py")):
                if os.path.isfile(os.path.join(self.root, name)):
                    return name
        return None

    def _import(self, module):
        if found := self._find(module):
            self.modules.add(found)

    def _import_from(self, node):
        base = node.module or ""
        if node.level:
            folder = self.folder
            for _ in range(node.level - 1):
                folder = os.path.dirname(folder)
            names = [base] if base else [alias.name for alias in node.names]
            for name in names:
                path = os.path.join(folder, *name.split(".")) + ".py"
                if os.path.isfile(os.path.join(self.root, path)):
                    self.modules.add(path)
            return
        self._import(base)
        for alias in node.names:
            self._import(f"{base}.{alias.name}")

    def _name(self, text):
        """A string that leads from the script's folder to a file, or from the top to one."""
        if not re.fullmatch(r"[\w./+-]+", text) or not re.search(r"\w", text) or text.startswith("/"):
            return
        if text.startswith("../"):
            self._path(os.path.join(self.folder, text))
        elif "/" in text and os.path.exists(os.path.join(self.root, text)):
            self._path(text)
        elif "." in text and os.path.isfile(os.path.join(self.root, self.folder, text)):
            self._path(os.path.join(self.folder, text))

    def _join(self, arguments):
        parts = [part.value for part in arguments if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if parts and parts[0].startswith(".."):
            self._path(os.path.join(self.folder, *parts))

    def _path(self, path):
        path = os.path.normpath(path)
        if not path.startswith("..") and os.path.exists(os.path.join(self.root, path)):
            self.paths.add(path)


class Scripts:
    def __init__(self, root):
        self.root = root
        self._known = {}

    def read(self, name):
        if name not in self._known:
            try:
                self._known[name] = Script(self.root, name)
            except (SyntaxError, OSError, UnicodeDecodeError):
                self._known[name] = None
        return self._known[name]

    def is_script(self, name):
        path = os.path.join(self.root, name)
        if name.endswith(".py"):
            return os.path.isfile(path)
        if "." in os.path.basename(name) or not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return b"python3" in file.readline(100)

    def closure(self, name):
        """The files that a script reads, without what it is given; None for all. And
        the words that tell what it does."""
        files, words, everything, waiting, seen = set(), set(), False, [name], set()
        declared = self.declares(name)
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            files.add(current)
            script = self.read(current)
            if script is None:
                everything = True
                continue
            if current != SHARED:
                words |= script.words
            waiting += script.modules
            if script.inputs is not None:
                for pattern in script.inputs:
                    everything |= pattern == "."
                    files |= self.expanded(pattern)
            if declared or script.inputs is not None:
                continue
            for path in script.paths:
                if self.is_script(path):
                    waiting.append(path)
                elif path == ".":
                    # The top folder: which part of it, only INPUTS can say.
                    everything = True
                else:
                    files.add(path)
        return files, words, everything

    def expanded(self, pattern):
        if "*" not in pattern or pattern.startswith("build/"):
            return {pattern}
        found = glob.glob(os.path.join(self.root, pattern), recursive=True)
        # What is not there yet, or no longer, counts as well.
        return {os.path.relpath(path, self.root) for path in found} | {pattern}

    def declares(self, name):
        script = self.read(name)
        return script is not None and script.inputs is not None
