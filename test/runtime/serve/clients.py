"""Programs that serve, asked by the clients that people have.

The packages openai, anthropic, langchain-openai and lm_eval ask a server everything that
Baton answers; what is drawn greedily has to be the same however it is asked for. They are
fetched once, to --cache; a part whose package cannot be fetched is left out, and says so.
One part needs none: requests that no client means. With --batonc the model is a random one.
Skipped (77) where no part is left. By hand:

    test/runtime/serve/clients.py --program model --weights MODEL.gguf [--only NAME]
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import venv

INPUTS = ["tools/random-checkpoint", "models/examples/bytes/*", "build/bin/batonc"]
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
SKIPPED = 77
TEMPLATE = ("{% for message in messages %}<{{ message.role }}>{{ message.content }}</>"
            "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
OPENAI = "openai==3.57.0"
# What each part needs.
PARTS = {"clients_openai": [OPENAI], "clients_responses": [OPENAI],
         "clients_anthropic": [OPENAI, "anthropic==2.14.0"], "clients_langchain": [OPENAI, "langchain-openai==1.7.4"],
         "clients_harness": [OPENAI, "lm_eval[api]==0.4.13"],
         # Thousands of requests.
         "clients_mutilated": []}


def installed(cache, requirement, seconds=900):
    """Whether the environment has a package, which is fetched now if it does not."""
    python = os.path.join(cache, "bin/python")
    marker = os.path.join(cache, requirement)
    if os.path.exists(marker):
        return True
    if not os.path.exists(python):
        try:
            venv.create(cache, with_pip=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"skipped: {requirement}: there is no environment: {error}")
            return False
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--retries", "1", requirement]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"skipped: {requirement} was not there after {seconds} s")
        return False
    if result.returncode:
        print(f"skipped: {requirement} cannot be had: {result.stderr.strip().splitlines()[-1:]}")
        return False
    open(marker, "w").close()
    return True


def random_model(batonc, scratch):
    """A program and its weights, whose answers are noise, but text: what is no ASCII, in bytes
    as they are drawn, is mostly no UTF-8 either, which clients are shown as something else."""
    weights, program = os.path.join(scratch, "weights"), os.path.join(scratch, "program")
    subprocess.run([os.path.join(ROOT, "tools/random-checkpoint"), weights, "--hidden", "64", "--layers", "2"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(weights, "chat_template.jinja"), "w") as file:
        file.write(TEMPLATE)

    def change(name, action):
        path = os.path.join(weights, name)
        with open(path) as file:
            document = json.load(file)
        action(document)
        with open(path, "w") as file:
            json.dump(document, file)

    def spell(document):
        vocabulary = document["model"]["vocab"]
        document["model"]["vocab"] = {
            token if 32 <= id < 127 or id == 10 else chr(97 + id // 26) + chr(97 + id % 26): id
            for token, id in vocabulary.items()}

    change("tokenizer.json", spell)
    change("config.json", lambda document: document.update(max_position_embeddings=4096))
    subprocess.run([batonc, weights, "-o", program, "--quiet", "--optimize=1", "--max-batch=16", "--max-rows=128",
                    "--max-seq=4096", "--embeddings"], check=True)
    return program, weights


def checks_of(parts, only):
    for part in parts:
        for name, check in vars(importlib.import_module(part)).items():
            if name.startswith("check_") and check.__module__ == part and only in name:
                yield name, check


def inside(arguments):
    """In the environment: runs the checks of the parts that it has."""
    import clients_server
    clients_server.without_proxies()
    flags = [flag for name in arguments.flag for flag in name.split("=", 1)]
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="baton-clients-") as scratch:
        # Not the user's.
        os.environ["BATON_CACHE_DIR"] = os.path.join(scratch, "cache")
        program, weights = arguments.program, arguments.weights
        if arguments.batonc:
            program, weights = random_model(arguments.batonc, scratch)
        server = clients_server.Server(program, weights, *flags)
        server.scratch = scratch
        try:
            for name, check in checks_of(arguments.inside.split(","), arguments.only):
                begin = time.monotonic()
                count += 1
                try:
                    check(server)
                except clients_server.Failure as failure:
                    failures.append(name)
                    print(f"FAILED {name}: {failure}", flush=True)
                except Exception:
                    failures.append(name)
                    print(f"FAILED {name}: {traceback.format_exc()}", flush=True)
                else:
                    print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
                if server.process.poll() is not None:
                    sys.exit(f"FAILED {name}: the server ends with {server.process.returncode}")
            server.wait_until_idle()
        finally:
            server.close()
    print(f"{count - len(failures)} passed, {len(failures)} failed")
    return bool(failures) or not count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", help="the compiler, for a program of its own")
    parser.add_argument("--program")
    parser.add_argument("--weights")
    parser.add_argument("--flag", action="append", default=[], help="one for `serve`: NAME or NAME=VALUE")
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "baton-clients"))
    parser.add_argument("--only", default="", help="checks whose names have this")
    parser.add_argument("--parts", default=",".join(PARTS), help="the modules to run")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.batonc and not (arguments.program and arguments.weights):
        parser.error("--batonc, or --program and --weights")
    if arguments.inside:
        sys.exit(inside(arguments))
    parts = [part for part in arguments.parts.split(",")
             if all(installed(arguments.cache, requirement) for requirement in PARTS[part])]
    if not parts:
        sys.exit(SKIPPED)
    # Modules of the tree are found beside this one; the user's own packages are not.
    python = os.path.join(arguments.cache, "bin/python") if any(map(PARTS.get, parts)) else sys.executable
    sys.exit(subprocess.run([python, "-s", os.path.abspath(__file__), *sys.argv[1:], "--inside",
                             ",".join(parts)]).returncode)


if __name__ == "__main__":
    main()
