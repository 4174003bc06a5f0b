"""The files that are checked, and which of them changed."""

import concurrent.futures
import os
import re
import shutil
import subprocess

# In golden data, corpora and expected output every byte has its reason.
DATA = re.compile(r"^test/(golden/[^/]+/|fuzz/corpus/)")
MADE = {".git", "__pycache__", ".cache", ".baton", ".venv"}
CPP = (".h", ".cpp", ".c", ".cu")


class Missing(Exception):
    """Something without which nothing can be checked."""


def program(name):
    """The path of a tool that a package installs."""
    path = shutil.which(name)
    if not path:
        raise Missing(f"{name} is missing; tools/install-dependencies installs it")
    return path


class Tree:
    def __init__(self, root, since=None, everything=False, build=None, tools=None):
        self.root = os.path.realpath(root)
        self.everything = everything
        self.build_is_given = build is not None
        self.build = os.path.abspath(build) if build else os.path.join(self.root, "build")
        self.tools = os.path.abspath(tools) if tools else None
        self.files = sorted(path for path in self._list() if os.path.isfile(os.path.join(self.root, path)))
        self.names = set(self.files)
        self.folders = {os.path.dirname(name) for name in self.files} - {""}
        self.folders |= {name[:i] for name in self.folders for i in range(len(name)) if name[i] == "/"}
        self.since, self.changed, self.removed = self._changes(since)
        self._texts = {}

    def _git(self, *words):
        run = subprocess.run(["git", "-C", self.root, *words], capture_output=True, text=True)
        return run.stdout if run.returncode == 0 else None

    def _list(self):
        top = self._git("rev-parse", "--show-toplevel")
        if top and os.path.realpath(top.strip()) == self.root:
            return self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")[:-1]
        # An archive of the sources has no history.
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in MADE and not name.startswith("build")]
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return found

    def _changes(self, since):
        """Since which commit, in words, and the files that changed, and those that went."""
        if self._git("rev-parse", "HEAD") is None:
            if since:
                raise Missing(f"{since}: {self.root} has no history")
            return "nothing: there is no history", [], []
        if since:
            base, words = self._git("rev-parse", "--verify", "--quiet", f"{since}^{{commit}}"), since
            if not base:
                raise Missing(f"{since} is neither a check nor a commit")
        else:
            head = self._git("rev-parse", "HEAD")
            for words in ("origin/main", "main"):
                base = self._git("merge-base", "HEAD", words)
                if base and base != head:
                    break
            else:
                base, words = self._git("rev-parse", "--verify", "--quiet", "HEAD~1"), "HEAD~1"
        # What is not committed counts always.
        changed = self._git("diff", "--name-only", "-z", base.strip() if base else "HEAD").split("\0")
        changed += self._git("ls-files", "-z", "--others", "--exclude-standard").split("\0")
        found = set(changed) - {""}
        return words if base else "HEAD", sorted(found & self.names), sorted(found - self.names)

    def path(self, name):
        return os.path.join(self.root, name)

    def text(self, name):
        if name not in self._texts:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                self._texts[name] = file.read()
        return self._texts[name]

    def lines(self, name):
        return self.text(name).split("\n")

    def find(self, *ends):
        """Files that are no data, by how their names end."""
        return [name for name in self.files if name.endswith(ends) and not DATA.match(name)]

    def scripts(self, interpreter, *ends):
        """Files that an interpreter runs: by name, or by their first line."""
        found = []
        for name in self.files:
            if DATA.match(name):
                continue
            if name.endswith(ends):
                found.append(name)
            elif "." not in os.path.basename(name):
                with open(self.path(name), "rb") as file:
                    if re.match(rb"#!.*\b" + interpreter.encode(), file.readline(200)):
                        found.append(name)
        return found


def in_parallel(work, items):
    """Results of work(item), in the order of items."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, items))


def pieces(items, size):
    return [items[i:i + size] for i in range(0, len(items), size)]
