"""Compiles models with batonc, and runs what it writes."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import tensors
from .errors import Error
from .model import Model


def find_batonc():
    """The compiler: $BATON_BATONC, or of the tree around this package or the working
    folder build/bin/batonc, or batonc of PATH. Raises Error."""
    named = os.environ.get("BATON_BATONC")
    if named:
        if not os.access(named, os.X_OK):
            raise Error(f"BATON_BATONC is {named}, which is no program")
        return named
    for folder in (*Path(__file__).resolve().parents, *Path.cwd().parents, Path.cwd()):
        batonc = folder / "build/bin/batonc"
        if os.access(batonc, os.X_OK):
            return str(batonc)
    found = shutil.which("batonc")
    if not found:
        raise Error("batonc is not found: neither BATON_BATONC nor PATH nor a build/bin has it")
    return found


def _run(command, **options):
    """What the command prints. Raises Error with the text of one that fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode:
        text = (result.stderr or result.stdout).strip().removeprefix("error: ")
        raise Error(text or f"{command[0]} exited with {result.returncode}")
    return result.stdout


def _flags(options):
    """max_seq=64 is --max-seq=64; True is a flag alone, None and False are none."""
    flags = []
    for key, value in options.items():
        flag = "--" + key.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif isinstance(value, (list, tuple)):
            flags.append(f"{flag}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            flags.append(f"{flag}={value}")
    return flags


def _tokens(tokens):
    numbers = [int(token) for token in tokens]
    if not numbers:
        raise Error("there are no tokens")
    return ",".join(map(str, numbers))


def _source(model, scratch):
    """What batonc reads: a folder, or a file."""
    if isinstance(model, Model):
        text = model.text()
    elif isinstance(model, str) and "model.program" in model:
        text = model
    elif isinstance(model, (str, os.PathLike)):
        if not os.path.exists(model):
            raise Error(f"{model}: no such checkpoint folder or file")
        return os.fspath(model)
    else:
        raise Error(f"a model is {type(model).__name__}, expected a checkpoint's folder, an .mlir file, "
                    "IR, or a baton.Model; from_torch makes one of a PyTorch module")
    path = os.path.join(scratch, "model.mlir")
    with open(path, "w") as file:
        file.write(text)
    return path


def emit(model, stage="model", **options):
    """The text of one stage: schedule, model, event, plan-json, description, llvm or cuda, of
    anything that `compile` takes, with its options. Raises Error."""
    with tempfile.TemporaryDirectory(prefix="baton-") as scratch:
        return _run([find_batonc(), _source(model, scratch), f"--emit={stage}", *_flags(options)])


def compile(model, weights=None, output=None, **options):
    """Compiles a model to a Program.

    `model` is a checkpoint's folder, an .mlir file, IR as text, or a Model. `weights`
    is the folder with its tensors, or name -> array; without it, the model's own folder,
    or what from_torch took from the module. `output` is where the executable stays;
    without it, it goes when the Program does. `options` are batonc's: max_seq=64 is
    --max-seq=64, and batonc --help lists them. Raises Error with batonc's text."""
    if isinstance(model, Model) and options.get("mode") == "train":
        for body in model.bodies.values():
            for callee in body.calls():
                raise Error(f"body {body.name!r} calls library.{callee}, of which no adjoint follows: write the body "
                            "as an event.body that names its adjoint_inputs and adjoint_weights, or let ops of the "
                            "model compute it")
    scratch = tempfile.TemporaryDirectory(prefix="baton-")
    source = _source(model, scratch.name)
    path = os.path.abspath(output) if output else os.path.join(scratch.name, "program")
    _run([find_batonc(), source, "-o", path, "--quiet", *_flags(options)])
    if weights is None:
        is_checkpoint = os.path.isdir(source) or str(source).endswith(".gguf")
        weights = model.tensors if isinstance(model, Model) else source if is_checkpoint else None
    family = model.family if isinstance(model, Model) else None
    return Program(path, weights, family, scratch)


class Program:
    """An executable that batonc wrote. Every method runs it once; flags that a method
    does not name go by keyword: workers=1 is --workers=1. All raise Error with the
    program's text."""

    def __init__(self, path, weights=None, family=None, scratch=None):
        self.path = path
        self._scratch = scratch or tempfile.TemporaryDirectory(prefix="baton-")
        self._weights, self._family = weights, family

    def __repr__(self):
        return f"<baton.Program {self.path}>"

    def weights(self):
        """The folder with the weights: the one that `compile` was told, or one with the
        tensors that it was given."""
        if self._weights is None:
            raise Error("the program has no weights: compile(model, weights=...) says where they are")
        if isinstance(self._weights, (str, os.PathLike)):
            return os.fspath(self._weights)
        folder = os.path.join(self._scratch.name, "weights")
        os.makedirs(folder, exist_ok=True)
        tensors.save(os.path.join(folder, "model.safetensors"), self._weights)
        with open(os.path.join(folder, "config.json"), "w") as file:
            json.dump({"model_type": self._family} if self._family else {}, file)
        self._weights = folder
        return folder

    def _call(self, command, *arguments, **flags):
        return _run([self.path, command, *arguments, *_flags(flags)])

    def _folder(self):
        return tempfile.TemporaryDirectory(dir=self._scratch.name)

    def logits(self, tokens, **flags):
        """Logits at every position of `tokens`: float32 [len(tokens), vocabulary]."""
        import numpy
        with self._folder() as folder:
            path = os.path.join(folder, "logits.npy")
            self._call("logits", "--weights", self.weights(), "--tokens", _tokens(tokens), "--out", path,
                       quiet=True, **flags)
            return numpy.load(path)

    def values(self, tokens, **flags):
        """Every value that the program computes of `tokens`, in its order: (phase, iteration of
        its stack) -> array. One worker runs."""
        import numpy
        with self._folder() as folder:
            self._call("logits", "--weights", self.weights(), "--tokens", _tokens(tokens),
                       "--out", os.path.join(folder, "logits.npy"), "--dump", folder, quiet=True, **flags)
            with open(os.path.join(folder, "index.json")) as file:
                index = json.load(file)
            return {(entry["phase"], entry["iteration"]): numpy.load(os.path.join(folder, entry["file"]))
                    for entry in index["values"]}

    def generate(self, tokens, count, **flags):
        """Up to `count` tokens that continue `tokens`, as a list. Greedy, unless
        temperature=, top_k= or top_p= say otherwise; seed= makes draws repeatable."""
        return self._generate("--tokens", _tokens(tokens), count, flags)["tokens"]

    def continue_text(self, text, count, **flags):
        """The text that continues `text`, of up to `count` tokens. Without a tokenizer.json
        in the folder of weights, bytes are tokens."""
        return self._generate("--prompt", text, count, flags)["text"]

    def _generate(self, flag, prompt, count, flags):
        return json.loads(self._call("generate", "--weights", self.weights(), flag, prompt, "--max-new-tokens",
                                     int(count), json=True, quiet=True, **flags))

    def info(self):
        """What the program is, needs, and is proved to do."""
        return json.loads(self._call("info", json=True))

    def bench(self, prefill=128, decode=32, **flags):
        """Speed, with random weights."""
        return json.loads(self._call("bench", prefill=prefill, decode=decode, json=True, **flags))

    def train(self, data, steps, out=None, gradients=False, **flags):
        """Trains a program of compile(..., mode="train"), and returns a Run.

        `data` is a text, a folder of texts, a file of tokens, or tokens themselves. `out`
        keeps the checkpoints; without it they go when the Program does. `gradients`: the
        Run has those of the last step. Flags as of `train --help`: batch=8, seq=64, lr=3e-4."""
        out = os.fspath(out) if out else tempfile.mkdtemp(prefix="run-", dir=self._scratch.name)
        with self._folder() as folder:
            if not isinstance(data, (str, os.PathLike)):
                path = os.path.join(folder, "tokens.u32")
                with open(path, "wb") as file:
                    for token in data:
                        file.write(int(token).to_bytes(4, "little"))
                data = path
            weights = () if flags.get("init_seed") is not None or flags.get("resume") else ("--weights",
                                                                                           self.weights())
            path = os.path.join(folder, "gradients.safetensors")
            lines = self._call("train", *weights, "--data", data, "--steps", int(steps), "--out", out,
                               *(("--gradients", path) if gradients else ()), quiet=True, **flags)
            steps = [json.loads(line) for line in lines.splitlines()]
            return Run(steps, out, tensors.load(path) if gradients else None)


class Run:
    """What training printed and wrote: `steps`, a dictionary each (loss in nats per token,
    grad_norm, lr, ...); `folder` of its checkpoints; `gradients`, name -> array, or None."""

    def __init__(self, steps, folder, gradients):
        self.steps, self.folder, self.gradients = steps, folder, gradients

    @property
    def losses(self):
        """Of each step, in nats per token."""
        return [step["loss"] for step in self.steps]

    def checkpoint(self):
        """The newest checkpoint's folder: weights for `compile`."""
        with open(os.path.join(self.folder, "latest")) as file:
            return os.path.join(self.folder, file.read().strip())
