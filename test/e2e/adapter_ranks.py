"""Adapters of requests on several ranks.

Folders as PEFT writes them, of random pairs of several ranks, are loaded into programs of
--max-adapters on each mesh that is given. Logits with each lie near one rank's (stages of a
pipeline alone have its bits). Requests with different adapters, with none, and of one beginning
have in one run the tokens and log-probabilities that each has when it is alone, also where there
is room for fewer adapters than they name, with other workers, few pages, and on ranks that are
processes. A server on ranks knows adapters as models.
"""

import argparse
import json
import math
import os
import random
import shutil

import programs
from adapter_batches import BATCH, ROOM, Batch, check_server, in_f32, make_requests, page_bytes, random_adapter
from programs import MPI, Program, expect, rows_of, run
from training import read_tensors


def axes_of(mesh):
    return dict(axis.split("=") for axis in mesh.split(","))


class Processes(Batch):
    """A batch on ranks that are processes."""

    def __init__(self, batch, ranks):
        super().__init__(batch.program, batch.weights, {}, batch.path)
        self.flags = batch.flags
        self.launcher = [*MPI, "-n", ranks]

    def run(self, requests, *flags):
        out = self.path("processes.jsonl")
        if os.path.exists(out):
            os.remove(out)
        lines = self.path("processes-requests.jsonl")
        with open(lines, "w") as file:
            file.writelines(json.dumps(request) + "\n" for request in requests)
        run([*self.launcher, self.program, "batch", "--weights", self.weights, "--requests", lines, "--out", out,
             "--json", "--quiet", "--no-cache", *self.flags, *flags])
        with open(out) as file:
            results = [json.loads(line) for line in file]
        for result in results:
            expect("error" not in result, f"{result}")
            result.pop("cached_tokens")
        return {result["id"]: result for result in results}


def check_logits(one, many, adapters, tokens, mesh, launcher, path):
    sums = not axes_of(mesh).keys() <= {"pp"}
    plain = one.logits(tokens, path("plain.npy"))
    for name, folder in [(None, None), *adapters.items()]:
        adapter = ["--adapter", folder] if name else []
        expected, found = (program.logits(tokens, path("logits.npy"), *adapter) for program in (one, many))
        size = max(abs(value) for row in rows_of(expected) for value in row)
        error = max(abs(a - b) for row, line in zip(rows_of(expected), rows_of(found), strict=True)
                    for a, b in zip(row, line, strict=True)) / size
        print(f"{mesh}, {name}: logits are off by {error:.1e}")
        expect(error < 1e-5 if sums else found == expected, f"{mesh}, {name}: logits are off by {error}")
        change = max(abs(a - b) for row, line in zip(rows_of(plain), rows_of(found)) for a, b in zip(row, line)) / size
        expect(name is None or change > 1e-2, f"{mesh}, {name}: changes logits by {change:.2e} only")
        if launcher:
            processes = many.logits(tokens, path("processes.npy"), *adapter, launcher=launcher)
            expect(processes == found, f"{mesh}, {name}, processes: other logits")


def test(arguments, scratch):
    path = lambda name: os.path.join(scratch, name)
    generator = random.Random(7)
    arguments.folder = in_f32(arguments.folder, path(os.path.basename(arguments.folder)))
    template = read_tensors(os.path.join(arguments.adapter, "adapter_model.safetensors"))
    tokens = programs.golden(arguments.folder)["tokens"]
    adapters = {
        "small": random_adapter(path("small"), template, 3, generator),
        # Beside linears of the first layer only.
        "some": random_adapter(path("some"), template, 24, generator, lambda name: ".0." in name, lora_alpha=24),
        "large": random_adapter(path("large"), template, 40, generator),
    }
    one = Program(arguments.batonc, arguments.folder, path("one"), "--dtype=f32", *BATCH, *ROOM, *arguments.flags)
    requests = make_requests(tokens, [None, *adapters], generator)
    for mesh in arguments.meshes:
        ranks = math.prod(map(int, axes_of(mesh).values()))
        many = Program(arguments.batonc, arguments.folder, path("many"), "--dtype=f32", *BATCH, *ROOM,
                       f"--mesh={mesh}", *arguments.flags)
        info = json.loads(run([many.path, "info", "--json"]).stdout)
        whole = json.loads(run([one.path, "info", "--json"]).stdout)
        expect(0 < info["batch"]["adapters"]["bytes"] < whole["batch"]["adapters"]["bytes"] + (mesh[:2] == "ep"),
               f"{mesh}: {info['batch']['adapters']}, of one rank {whole['batch']['adapters']}")
        launcher = [*MPI, "-n", ranks] if shutil.which("mpirun") and not arguments.quick else []
        check_logits(one, many, adapters, tokens[:40], mesh, launcher, path)
        batch = Batch(many.path, arguments.folder, adapters, path)
        results, summary = batch.run(requests)
        expect(summary["adapter_loads"] > len(adapters), f"{mesh}: {summary}")
        for request in requests:
            expect(batch.run([request])[0] == {request["id"]: results[request["id"]]},
                   f"{mesh}: {request['id']} has other results alone")
        for workers in (ranks, ranks + 3):
            expect(batch.run(requests, f"--workers={workers}")[0] == results, f"{mesh}, {workers} workers: other results")
        # So few that texts are put off, their adapters gone meanwhile.
        pages = 3
        again, counts = batch.run(requests, f"--kv-memory={ranks * pages * page_bytes(many) // 1024}KiB")
        expect(again == results and counts["pages"] == pages, f"{mesh}, {pages} pages: other results, {counts}")
        if launcher:
            expect(Processes(batch, ranks).run(requests) == results, f"{mesh}, processes: other results")
        print(f"{mesh}: {len(requests)} requests have the bits of each alone, {summary['adapter_loads']} loads")
        if not arguments.quick:
            check_server(arguments, many, adapters, batch, tokens, path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batonc", required=True)
    parser.add_argument("--quick", action="store_true", help="neither processes nor a server")
    parser.add_argument("--flag", dest="flags", action="append", default=[], help="for batonc")
    parser.add_argument("folder", help="the model")
    parser.add_argument("adapter", help="a PEFT folder beside it")
    parser.add_argument("meshes", nargs="+")
    arguments = parser.parse_args()
    programs.main(lambda scratch: test(arguments, scratch))
