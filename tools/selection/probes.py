"""The plans that batonc makes of a fixed set of models and flags: where none of them
changes, no change of a pass reaches programs."""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess

from . import rules

TRAIN = "--mode=train"
MESH = ("--mesh=dp=2,tp=2,pp=2", "--pipeline=1f1b", "--microbatches=4")
# What every model is compiled for: features, as tests have them, and flags.
OF_EVERY_MODEL = (
    ("decode", ()),
    ("decode unfused", ("--disable-pass=attention-fusion,hyper-fusion,linear-grouping,norm-rewrites",)),
    ("decode cuda", ("--target=cuda:emulated",)),
    ("decode ranks tensor", ("--mesh=tp=2",)),
    ("decode ranks stages", ("--mesh=pp=2",)),
    ("train", (TRAIN,)),
    ("train unfused", (TRAIN, "--disable-pass=attention-fusion")),
    ("train cuda", (TRAIN, "--target=cuda:emulated")),
    ("train ranks tensor stages", (TRAIN, *MESH)),
)
# What one model stands for.
ONE_MODEL = rules.ONE_MODEL
OF_ONE_MODEL = (
    ("train ranks", (TRAIN, "--mesh=dp=2")),
    ("train lion", (TRAIN, "--optimizer=lion")),
    ("train muon", (TRAIN, "--optimizer=muon")),
    ("train sgd", (TRAIN, "--optimizer=sgd")),
    ("train f64", (TRAIN, "--dtype=f64")),
    ("train bf16", (TRAIN, "--dtype=bf16")),
    ("train f16", (TRAIN, "--dtype=f16")),
    ("train recompute", (TRAIN, "--recompute=selective")),
    ("train recompute", (TRAIN, "--recompute=full")),
    ("train zero", (TRAIN, "--mesh=dp=2", "--zero=1")),
    ("train zero", (TRAIN, "--mesh=dp=2", "--zero=2")),
    ("train zero", (TRAIN, "--mesh=dp=2", "--zero=3")),
    ("train zero gathered", (TRAIN, "--mesh=dp=2", "--zero=3", "--gathered-layers=1")),
    ("train zero fsdp", (TRAIN, "--mesh=dp=2,fsdp=2", "--zero=3")),
    ("train zero tensor stages", (TRAIN, *MESH, "--zero=1")),
    ("train zero tensor stages", (TRAIN, *MESH, "--zero=3")),
    ("train tensor sequence", (TRAIN, "--mesh=tp=2", "--sequence-parallel")),
    ("train stages", (TRAIN, "--mesh=pp=2", "--pipeline=gpipe", "--microbatches=4")),
    ("train stages", (TRAIN, "--mesh=pp=2", "--pipeline=zb-h1", "--microbatches=4")),
    ("train stages", (TRAIN, "--mesh=pp=2", "--pipeline=zb-h2", "--microbatches=4")),
    ("train stages", (TRAIN, "--mesh=pp=2", "--pipeline=interleaved:2", "--microbatches=4")),
    ("decode tensor stages", ("--mesh=tp=2,pp=2",)),
    ("decode bf16", ("--dtype=bf16",)),
    ("decode cuda", ("--target=cuda:emulated-sm_80",)),
    ("decode cuda", ("--target=cuda:sm_90a", "--batch-invariant")),
    ("train cuda bf16", (TRAIN, "--target=cuda:emulated", "--dtype=bf16")),
    ("train cuda ranks", (TRAIN, "--target=cuda:emulated", "--mesh=dp=2", "--exchanges=overlapped")),
)
EXPORTED = "test/e2e/inputs/exported"
DEFERRED = "test/passes/fusion/inputs/deferred.mlir"
BOTTLENECK = "test/passes/sharding/inputs/bottleneck.mlir"
ROUTERS = ("--router-aux-loss=0.25", "--router-z-loss=0.05")
OF_OTHERS = (
    *(("train routers", f"test/golden/{model}", (TRAIN, *ROUTERS))
      for model in ("mixtral-top2", "olmoe-top3", "qwen2moe-shared", "qwen3moe-dense", "qwen3moe-norm")),
    ("train routers f64", "test/golden/qwen3moe-dense", (TRAIN, "--dtype=f64", *ROUTERS)),
    ("train routers cuda", "test/golden/qwen3moe-dense", (TRAIN, "--target=cuda:emulated", *ROUTERS)),
    ("decode rounded", "test/golden/llama-mha-tied", ("--activations=bf16",)),
    ("decode ranks queries", "test/golden/llama3-rope", ("--mesh=tp=2,tq=2",)),
    ("train ranks queries", "test/golden/llama3-rope", (TRAIN, "--mesh=tp=2,tq=2")),
    ("decode ranks experts", "test/golden/mixtral-top2", ("--mesh=tp=2,ep=5",)),
    ("decode ranks experts", "test/golden/qwen2moe-shared", ("--mesh=ep=3",)),
    ("decode ranks experts", "test/golden/qwen2moe-shared", ("--mesh=tp=2", "--tensor-parallel=experts")),
    ("train bottleneck", BOTTLENECK, (TRAIN,)),
    ("train bottleneck tensor", BOTTLENECK, (TRAIN, "--mesh=tp=2", "--tensor-parallel=bottleneck")),
    ("train bottleneck tensor", BOTTLENECK, (TRAIN, "--mesh=dp=2,tp=2", "--tensor-parallel=bottleneck")),
    ("decode bottleneck tensor", BOTTLENECK, ("--mesh=tp=2", "--tensor-parallel=bottleneck")),
    ("decode", DEFERRED, ()),
    ("train", DEFERRED, (TRAIN,)),
    ("train cuda", DEFERRED, (TRAIN, "--target=cuda:emulated")),
    ("decode bodies", f"test/golden/{ONE_MODEL}", ("--schedule=models/examples/schedules/own-body.mlir",)),
    ("decode cuda bodies", f"test/golden/{ONE_MODEL}",
     ("--target=cuda:emulated", "--schedule=models/examples/schedules/own-body.mlir")),
    ("decode", "models/examples/bytes", ()),
    ("train", "models/examples/bytes", (TRAIN,)),
    ("decode", "models/examples/llama-block.mlir", ()),
    ("decode", "models/examples/hyper-connections.mlir", ()),
    ("decode", "models/examples/softcap-pairs.mlir", ()),
)


# What batonc refuses, in the words that scripts expect: --zero=1 of one rank is one. Scripts
# that see programs look at these, too.
REFUSED = (
    ("decode ranks", ("--mesh=dp=2",)),
    ("train", (TRAIN, "--disable-pass=norm-rewrites")),
    ("train", (TRAIN, "--schedule=models/examples/schedules/own-body.mlir")),
    ("train zero", (TRAIN, "--zero=1")),
    ("train zero", (TRAIN, "--mesh=dp=2", "--zero=4")),
    ("train zero gathered", (TRAIN, "--gathered-layers=1")),
    ("train zero gathered", (TRAIN, "--mesh=dp=2", "--zero=2", "--gathered-layers=2")),
    ("train zero gathered", (TRAIN, "--mesh=dp=2", "--zero=3", "--gathered-layers=3")),
    ("train zero fsdp", (TRAIN, "--mesh=dp=2,fsdp=2")),
    ("train stages", (TRAIN, "--mesh=pp=2", "--pipeline=2f2b")),
    ("train stages", (TRAIN, "--mesh=pp=2", "--pipeline=interleaved:2", "--microbatches=3")),
    ("train stages", (TRAIN, "--pipeline=gpipe")),
    ("train stages", (TRAIN, "--microbatches=4")),
    ("train stages", (TRAIN, "--mesh=pp=64")),
    ("train bottleneck", (TRAIN, "--mesh=tp=2", "--tensor-parallel=bottleneck")),
    ("train bottleneck", (TRAIN, "--mesh=tp=3")),
    ("train bottleneck", (TRAIN, "--mesh=tp=2", "--tensor-parallel=diagonal")),
)


class Probe:
    def __init__(self, features, model, flags):
        self.features, self.model, self.flags = frozenset(features.split()), model, flags
        self.name = " ".join((model, *flags))


def all_probes(root, tests):
    """Of every model's only those that a test may be judged by."""
    def serves(probe):
        return any(test.features is not None and probe.features <= test.features
                   and os.path.basename(probe.model) in test.models
                   and rules.sees_of(test) for test in tests)

    golden = os.path.join(root, "test/golden")
    models = sorted(name for name in os.listdir(golden) if os.path.isfile(os.path.join(golden, name, "config.json")))
    probes = [Probe(features, f"test/golden/{model}", flags)
              for model in models for features, flags in OF_EVERY_MODEL]
    probes = [probe for probe in probes if serves(probe)]
    probes += [Probe(features, f"test/golden/{ONE_MODEL}", flags) for features, flags in OF_ONE_MODEL]
    probes += [Probe(features, f"test/golden/{ONE_MODEL}", flags) for features, flags in REFUSED]
    for case in sorted(os.listdir(os.path.join(root, EXPORTED))):
        model = f"{EXPORTED}/{case}/model.mlir"
        probes += [Probe("decode", model, ()), Probe("train", model, (TRAIN,))]
    return probes + [Probe(*other) for other in OF_OTHERS]


def calls(plan):
    """The task bodies that a plan names."""
    return sorted(set(re.findall(r'event\.call "(\w+)"', plan)))


def run(root, batonc, probes, workers=None):
    """name -> plan, as a hash, and the bodies it calls. What is refused is told by the
    line that refuses it."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("BATON_")}

    def one(probe):
        result = subprocess.run([batonc, probe.model, "--emit=event", "--no-cache", "--quiet", *probe.flags],
                                cwd=root, capture_output=True, env=environment, check=False)
        text = b"%d\n%s%s" % (result.returncode, result.stdout, result.stderr)
        return {"plan": hashlib.sha256(text).hexdigest()[:20],
                "calls": calls(result.stdout.decode(errors="replace"))}

    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        return dict(zip((probe.name for probe in probes), pool.map(one, probes)))


class Plans:
    """What the probes say now, against what they said when tests passed last."""

    def __init__(self, probes, now, before):
        self.probes, self.now, self.before = probes, now, before
        self.changed = [probe for probe in probes
                        if before is None or now[probe.name]["plan"] != before.get(probe.name, {}).get("plan")]
        # Models that stand for a combination of features, by that.
        self.models = {}
        for probe in probes:
            self.models.setdefault(probe.features, set()).add(probe.model)

    def reaches(self, test, probes, sees):
        """The first of some probes that stands for what a test compiles."""
        for probe in probes:
            if not probe.features <= test.features:
                continue
            own = {f"test/golden/{model}" for model in test.models}
            stands = probe.model in own or not own or sees == rules.OTHERS
            # No model of the test's is probed with these flags.
            if stands or not own & self.models[probe.features]:
                return probe
        return None

    def calling(self, bodies):
        return [probe for probe in self.probes if bodies & set(self.now[probe.name]["calls"])]


def read(path):
    """What the probes said when tests passed last; None if they never did."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)["probes"]
    except (OSError, ValueError, KeyError):
        return None


def write(path, now):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"probes": now}, file, indent=1, sort_keys=True)
    os.replace(path + ".new", path)
