"""Runs llm.c's plain C program train_gpt2 (github.com/karpathy/llm.c) on a
checkpoint and tokens of training.py's.

The program reads files of fixed names below its working folder, so it runs in a
folder of its own that holds them: the weights, the tokens and a vocabulary, which
it prints samples with. Its batch is compiled into it: B sequences of T tokens, cut
from one stream of B T + 1, in which a sequence's last target is the first token of
the next. The stream here repeats a step's B T tokens (training.py's sequences fit:
each ends with the first token of the next, the last one with that of the first), so
every step of training and validation sees the same batch, however it is shuffled.

The program trains 41 steps, and validates and prints samples between them. It
times each step by itself, without those, and is ended here after the steps that
were asked for.
"""

import array
import json
import os
import re
import signal
import struct
import subprocess
import sys

# As many tokens at least that the number of batches tells what B T is, up to here.
LARGEST_BATCH = 4096
STEPS = 41
BATCHES = re.compile(r"train dataset num_batches: (\d+)")
STEP = re.compile(r"step (\d+): train loss (\S+) \(took (\S+) ms\)")


def integers(*values):
    """A file's header: 256 integers of 32 bits."""
    return struct.pack("<256i", *values, *[0] * (256 - len(values)))


def weights_of(folder):
    """By name, shape and values of a checkpoint's model.safetensors, in F32."""
    path = os.path.join(folder, "model.safetensors")
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + size + begin)
            values = array.array("f")
            values.fromfile(file, (end - begin) // 4)
            yield name.removeprefix("transformer."), (entry["shape"], values)


def by_output(shape, values):
    """Of a linear, which is stored by input; a vector as it is."""
    if len(shape) == 1:
        return values
    columns = shape[1]
    result = array.array("f")
    for column in range(columns):
        result.extend(values[column::columns])
    return result


def write_weights(path, folder, config):
    """The checkpoint's numbers, unless they are there: a tensor of all layers
    behind another, the weights of linears by output, and rows of zeros behind the
    vocabulary, which the program leaves out of its softmax."""
    if os.path.exists(path):
        return
    vocabulary, width, layers = config["vocab_size"], config["n_embd"], config["n_layer"]
    padded = (vocabulary + 127) // 128 * 128
    weights = dict(weights_of(folder))
    with open(path + ".part", "wb") as file:
        file.write(integers(20240326, 3, config["n_positions"], vocabulary, layers, config["n_head"], width, padded))
        weights["wte.weight"][1].tofile(file)
        file.write(bytes(4 * (padded - vocabulary) * width))
        weights["wpe.weight"][1].tofile(file)
        for part in ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"):
            for kind in ("weight", "bias"):
                for layer in range(layers):
                    by_output(*weights[f"h.{layer}.{part}.{kind}"]).tofile(file)
        for kind in ("weight", "bias"):
            weights[f"ln_f.{kind}"][1].tofile(file)
    os.replace(path + ".part", path)


def tokens_for(batch, length):
    """How many a file holds: whole batches, and the last one's last target."""
    return -(-LARGEST_BATCH ** 2 // (batch * length)) * batch * length + 1


def write_tokens(folder, sequences):
    inputs = array.array("H", (token for sequence in sequences for token in sequence[:-1]))
    count = tokens_for(len(sequences), len(sequences[0]) - 1)
    stream = (inputs * (count // len(inputs) + 1))[:count]
    os.makedirs(folder, exist_ok=True)
    for part in ("train", "val"):
        with open(os.path.join(folder, f"tiny_shakespeare_{part}.bin"), "wb") as file:
            file.write(integers(20240520, 1, count))
            stream.tofile(file)


def write_files(folder, checkpoint, sequences):
    """All that the program reads. Every sequence has a token more than it has inputs."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(checkpoint, "config.json")) as file:
        config = json.load(file)
    write_weights(os.path.join(folder, "gpt2_124M.bin"), checkpoint, config)
    with open(os.path.join(folder, "gpt2_tokenizer.bin"), "wb") as file:
        file.write(integers(20240328, 2, config["vocab_size"], 0) + b"\1." * config["vocab_size"])
    write_tokens(os.path.join(folder, "dev", "data", "tinyshakespeare"), sequences)


def lines_of(terminal):
    """Lines as they are printed: a program buffers them but for a terminal."""
    rest = b""
    while True:
        try:
            read = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            read = b""
        if not read:
            break
        *lines, rest = (rest + read).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").rstrip("\r")
    if rest:
        yield rest.decode(errors="replace")


def threads_of(process):
    return len(os.listdir(f"/proc/{process.pid}/task"))


def run(program, folder, batch, length, threads, steps):
    """Losses and seconds of that many steps on the folder's files, and the most bytes
    resident. With no steps it is only asked whether the program was built for such a
    batch. Ends this process in one line where it was not, or fails."""
    count = tokens_for(batch, length)
    terminal, other = os.openpty()
    try:
        process = subprocess.Popen([os.path.abspath(program)], cwd=folder, stdin=subprocess.DEVNULL, stdout=other,
                                   env=os.environ | {"OMP_NUM_THREADS": str(threads)})
    except OSError as error:
        sys.exit(f"--llm-c {program}: {error.strerror}")
    os.close(other)
    losses, times, fits, last = [], [], False, "it printed nothing"
    try:
        for line in lines_of(terminal):
            last = line.strip() or last
            if found := BATCHES.match(line):
                built = count // max(1, int(found[1]))
                if built != batch * length:
                    sys.exit(f"--llm-c {program} was built for batches of {built} tokens, not of {batch} x {length}: "
                             f"set B = {batch} and T = {length} in its main, or give --batch and --seq that it has")
                fits = True
            elif found := STEP.match(line):
                losses.append(float(found[2]))
                times.append(float(found[3]) / 1e3)
                if len(losses) == 1 and (running := threads_of(process)) < threads:
                    sys.exit(f"--llm-c {program} runs {running} threads, not {threads}: was it built with -fopenmp?")
            if fits and len(losses) == steps:
                break
    finally:
        os.kill(process.pid, signal.SIGKILL)  # there until it is waited for
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        os.close(terminal)
    if not fits or len(losses) < steps:
        sys.exit(f"--llm-c {program} ended ({process.returncode}) after {len(losses)} steps: {last}")
    return {"losses": losses, "times": times, "peak": usage.ru_maxrss * 1024}
