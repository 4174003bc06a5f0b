//===- compile_flags.cpp - flags that every command of batonc takes -------===//
//
// Flags become CompileOptions; what the contract names but is not built yet is
// refused by name.
//
//===----------------------------------------------------------------------===//

#include "tools/batonc/compile_flags.h"

#include "codegen/link/Cache.h"
#include "compiler/Pipeline.h"
#include "compiler/schedule/Schedule.h"
#include "compiler/targets/Targets.h"
#include "dialects/Model/Model.h"
#include "passes/pipeline/Generators.h"
#include "runtime/weights/message.h"
#include "tools/batonc/plan_file.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>

using namespace baton;
using namespace baton::compiler;

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// What --help says of --target.
static std::string describeTargets() {
  std::vector<std::string> names;
  for (const auto &target : allTargets())
    names.push_back(target->help());
  return join(names);
}

/// Whether the target of this name has something; its name was looked up.
static bool has(const std::string &target, Feature feature) {
  return llvm::cantFail(findTarget(target)).has(feature);
}

/// "--target=cuda:...": those that have it.
static std::string targetsWith(Feature feature) {
  std::string text;
  for (const auto &target : allTargets())
    if (target->has(feature))
      text += (text.empty() ? "--target=" : " or --target=") + target->name();
  return text;
}

static std::vector<std::string> allAxes() {
  return {kDataAxis,  kShardAxis,  kTensorAxis,
          kQueryAxis, kExpertAxis, kPipelineAxis};
}

/// "; did you mean tp=2?" for "tp2", or for another name that is near.
static std::string nearestAxis(llvm::StringRef name, llvm::StringRef number) {
  const llvm::StringRef letters = name.rtrim("0123456789");
  const std::string size =
      (number.empty() ? name.drop_front(letters.size()) : number).str();
  if (llvm::is_contained(allAxes(), letters) && !size.empty())
    return "; did you mean " + letters.str() + "=" + size + "?";
  std::vector<std::string> axes = allAxes();
  if (!size.empty())
    for (std::string &axis : axes)
      axis += "=" + size;
  const std::string given = letters.str() + (size.empty() ? "" : "=" + size);
  std::string nearest = nearest_text(given, axes);
  return nearest.empty() ? ", as in tp=2" : nearest;
}

/// "dp=2,tp=4"; axes of one rank are left out. An error line, or nothing.
static std::string parseMesh(const std::string &text,
                             std::vector<MeshAxis> &mesh) {
  auto fail = [&](const llvm::Twine &problem) {
    return ("--mesh=" + text + ": " + problem).str();
  };
  llvm::SmallVector<llvm::StringRef> parts, seen;
  llvm::StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/!text.empty());
  for (llvm::StringRef part : parts) {
    auto [name, number] = part.split('=');
    if (!llvm::is_contained(allAxes(), name))
      return fail("axis '" + name + "' is unknown; there is " +
                  join(allAxes()) + nearestAxis(name, number));
    if (llvm::is_contained(seen, name))
      return fail("axis " + name + " occurs twice");
    seen.push_back(name);
    int64_t size;
    if (number.getAsInteger(10, size) || size < 1 || size > 1024)
      return fail("axis " + name + " has size '" + number +
                  "', expected 1 to 1024");
    if (size == 1)
      continue;
    mesh.push_back({name.str(), size});
  }
  return "";
}

std::string tools::Choice::check() const {
  for (const std::string &known : built)
    if (known == value)
      return "";
  for (const std::string &known : later)
    if (value.rfind(known, 0) == 0)
      return std::string(flag) + "=" + value + " is not built yet; there is " +
             join(built);
  return std::string(flag) + "=" + value + " is unknown; there is " +
         join(built) + nearest_text(value, built);
}

void tools::CompileFlags::addTo(CLI::App &app) {
  this->app = &app;
  addCodeFlags(app);
  addProgramFlags(app);
  addBatchFlags(app);
  addRankFlags(app);
}

void tools::CompileFlags::addCodeFlags(CLI::App &app) {
  app.add_option(
         "MODEL", model,
         "checkpoint folder with config.json, a .gguf file, or an .mlir "
         "file in the model or event dialect")
      ->required();
  app.add_option("--dtype", dtype.value,
                 "type of linear weights: auto (the config's), f32, bf16, f16; "
                 "in training, of what products multiply (weights, gradients "
                 "and sums are f32), or f64 for everything");
  app.add_option(
      "--activations", activations.value,
      "what linears multiply weights by: f32, their inputs, or these "
      "rounded, which is quicker: of BF16 weights to bf16, whose sums are "
      "those of the CPU's AMX or else AVX512-BF16 (bf16-amx and bf16-avx512 "
      "have one's on any CPU), of quantised ones to int8, 8 bits with a scale "
      "for each 32");
  maxSeqOption = app.add_option(
      "--max-seq", maxSeq,
      "longest sequence in tokens, prompt and answer; the config's limit "
      "without it");
  app.add_option("--target-cpu", targetCpu,
                 "CPU to compile for: native, or an LLVM name such as "
                 "x86-64-v3, znver4");
  app.add_option("--disable-pass", disabled,
                 "leave out a pass: " + join({schedule::optionalParts().begin(),
                                              schedule::optionalParts().end()}))
      ->delimiter(',');
  app.add_option("--optimize", optimize.value,
                 "how much the code is optimised: 3, or 2 or 1, which compile "
                 "faster and run slower, with the same bits");
  app.add_option("--sanitize", sanitize.value,
                 "instrument program, runtime and task library: thread, "
                 "address; the program also judges its plan before each new "
                 "step");
  app.add_option(
      "--plan", plan,
      "a file of batonc plan train, memory or offload -o: its flags, "
      "as if they stood here");
  app.add_option("--target-file", targetFile,
                 "target description (JSON) with other tile sizes");
  app.add_flag("--batch-invariant", batchInvariant,
               "CUDA: only bodies with the CPU's bits, which do not depend on "
               "how many tokens share a step");
  app.add_option("--launch", launch.value,
                 "CUDA: what a step runs as: persistent (one kernel for all "
                 "steps, whose tasks wait for events), or graph (the same "
                 "tasks as kernels of a CUDA graph, one for each phase, to "
                 "compare with)");
  app.add_option("--cublaslt", cublasLt.value,
                 "CUDA: whether cuBLASLt, opened when the program starts, "
                 "computes products with BF16 weights in steps of many rows: "
                 "auto (where the target description's figures say that it is "
                 "faster, and it is found), never, always");
  app.add_option("--exchanges", exchanges.value,
                 "CUDA, with --mesh: where ranks exchange tensors: borders "
                 "(between launches of the kernel, which ends there), or "
                 "overlapped (on a stream beside the kernel, which goes on)");
  ncclOption = app.add_option("--nccl-sms", ncclMultiprocessors,
                              "--exchanges=overlapped: multiprocessors that "
                              "the kernel leaves to NCCL: 8");
  app.add_flag("--no-cache", noCache,
               "neither look among what was compiled, and measured of this "
               "machine, before, in BATON_CACHE_DIR or ~/.cache/baton, nor "
               "keep anything there");
  app.add_flag("--quiet", quiet, "say nothing but errors");
}

void tools::CompileFlags::addProgramFlags(CLI::App &app) {
  app.add_option("--mode", mode.value,
                 "what the executable does: decode, train");
  app.add_option("--recompute", recompute.value,
                 "training: what the backward step computes again instead of "
                 "keeping it: none, selective (fewest bytes without a second "
                 "product of matrices, but hyper-connections' small ones), "
                 "full (all but each layer's input)");
  app.add_option(
      "--memory", memory,
      "--mode=train: what a run may have resident, such as 6GiB: "
      "weights, gradients, states and saved values of layers are "
      "then in a file as far as they do not fit, and tasks of the "
      "plan fetch a layer's before it computes and release them "
      "behind it; the bits are the same. --offload: what FILE batch, "
      "score and bench --batch have in memory unless their own "
      "--memory says otherwise");
  slotsOption = app.add_option(
      "--memory-slots", slots,
      "--memory: layers that there is room for at once, beside those that "
      "stay; 1 without it. With more the backward step finds the forward "
      "step's last ones");
  app.add_option(
      "--adapter", adapter,
      "--mode=train: freeze the model and train low-rank pairs beside its "
      "linears (LoRA): lora, lora:r=16,alpha=32,targets=q_proj,v_proj,rslora, "
      "where targets are names of modules or all-linear, or a PEFT folder, "
      "whose adapter_config.json says it; lora:dora also trains the lengths of "
      "the adapted weights' rows (DoRA). MODEL may be quantised");
  app.add_option(
      "--loss", loss.value,
      "--mode=train, what is minimised: cross-entropy (each token by "
      "itself), dpo (direct preference optimisation: data are "
      "pairs of answers, one chosen and one rejected), or distill (divergence "
      "from what a teacher has said of the data, and cross-entropy)");
  teacherOption = app.add_option(
      "--teacher-top-k", teacherTokens,
      "--loss=distill: of how many tokens a teacher may say the probability at "
      "each position, or all, which is the vocabulary: 64");
  balanceLossOption = app.add_option(
      "--router-aux-loss", balanceLoss,
      "--mode=train, a mixture of experts: adds so many times the loss that "
      "balances experts; without the flag router_aux_loss_coef, if the config "
      "sets output_router_logits");
  routerZLossOption = app.add_option(
      "--router-z-loss", routerZLoss,
      "--mode=train, a mixture of experts: adds so many times the mean square "
      "of the log-sum-exp of routers' logits");
  routerBiasOption = app.add_option(
      "--router-bias-update", routerBiasUpdate,
      "--mode=train, a mixture of experts whose routers correct their choice "
      "by biases (DeepSeek-V3): after each step adds so much to the bias of an "
      "expert that fewer rows than the mean went to, and takes it from one "
      "that more did; without the flag biases stay as they are");
  app.add_option("--target", target,
                 "machine to compile for: " + describeTargets());
  app.add_option("--schedule", order.value,
                 "what decides about fusion, tiles and events: auto (as "
                 "--emit=schedule prints it), or FILE.mlir");
  app.add_option("--optimizer", optimizer,
                 "--mode=train: adamw (the usual one), adamw_8bit, adafactor, "
                 "lion, muon, sgd, small_fc_lopt, or "
                 "FILE.mlir of update rules and groups");
}

/// Of programs that work on many sequences.
void tools::CompileFlags::addBatchFlags(CLI::App &app) {
  maxBatchOption = app.add_option(
      "--max-batch", maxBatch,
      "most sequences that a step works on, with keys and values in pages, for "
      "FILE batch and FILE score; without it a program holds one, for FILE "
      "generate");
  maxRowsOption =
      app.add_option("--max-rows", maxRows,
                     "--max-batch: most rows of a step, new tokens and parts "
                     "of prompts together; 256, or as many as sequences");
  maxOutputsOption = app.add_option(
      "--max-outputs", maxOutputs,
      "--max-batch: most rows of a step that have logits; as many as "
      "sequences, and nine at least, so that tokens of few texts can be "
      "guessed. FILE score takes more of them at once: each is three times "
      "the vocabulary in F32");
  app.add_option("--kv-type", kvType.value,
                 "--max-batch: how pages keep keys and values: f32, bf16, or "
                 "int8 or fp8 with a scale for each position and head");
  app.add_flag("--embeddings", embeddings,
               "--max-batch: steps also give each row's last hidden state, for "
               "/v1/embeddings, /score and /rerank of FILE serve");
  app.add_flag("--offload", offload,
               "--max-batch: layers' weights, keys and values may come from a "
               "file while a step runs, for FILE batch --memory=SIZE");
  app.add_option("--kv-memory", usualMemory.kvMemory,
                 "--offload with --memory: FILE batch's and FILE score's own, "
                 "unless they are told otherwise");
  app.add_option("--kv-in-memory", usualMemory.kvInMemory,
                 "--offload with --memory: the program's own, unless it is "
                 "told otherwise");
  maxAdaptersOption = app.add_option(
      "--max-adapters", maxAdapters,
      "--max-batch: how many low-rank adapters of --max-adapter-rank there is "
      "room for at once, more of lower ranks; each request then names its own "
      "(FILE serve --adapter NAME=DIR)");
  adapterRankOption = app.add_option(
      "--max-adapter-rank", adapterRank,
      "--max-adapters: most ranks of an adapter, 1 to 1024; 16 without it");
  adapterTargetsOption =
      app.add_option("--adapter-targets", adapterTargets,
                     "--max-adapters: names of the linears that adapters may "
                     "have pairs beside, as q_proj,v_proj; all-linear")
          ->delimiter(',');
  app.add_option("--adapter-type", adapterType.value,
                 "--max-adapters: how adapters are kept: f32, or bf16, which "
                 "takes half of the memory");
}

void tools::CompileFlags::addRankFlags(CLI::App &app) {
  app.add_option(
      "--mesh", mesh,
      "ranks to run on, as axes and their sizes: tp=2 gives each "
      "of two ranks a half of the heads, of feed-forward layers "
      "and of the vocabulary, tq=2, behind tp, a half of each "
      "key/value head's queries, too, ep=2 a half of a mixture's experts, "
      "pp=2 a half of the layers, and in "
      "training dp=2 a half of the sequences, as fsdp=2 does, with "
      "parts of what --zero says");
  app.add_option("--tensor-parallel", tensorParallel.value,
                 "--mesh=tp=N: what ranks have parts of, and add up: megatron "
                 "(heads, the inside of feed-forward layers; values as wide as "
                 "the model), experts (the same, but some of a mixture's "
                 "experts each), or bottleneck (of a model whose linears are "
                 "low-rank pairs, the wide sides of each; narrow values)");
  app.add_option(
      "--expert-parallel", expertParallel.value,
      "--mesh=ep=N: replicated (all ranks along ep have the same "
      "rows, and add up what their experts make of them), or, in "
      "training, all-to-all (each has sequences of its own, as along "
      "dp, and rows go to the ranks of their experts and back)");
  app.add_flag("--sequence-parallel", sequenceParallel,
               "training with --mesh=tp=N: ranks along tp have parts of the "
               "rows between attention and feed-forward layers, too; they "
               "gather rows for those, and scatter their sums");
  app.add_option("--zero", zero.value,
                 "with --mesh: what ranks along fsdp, or along dp without it, "
                 "have only a part of: 0 "
                 "(nothing), 1 (the optimizer's states), 2 (gradients, too), 3 "
                 "(weights, too)");
  app.add_option(
      "--gathered-layers", gatheredLayers.value,
      "--zero=3: layers whose gathered weights are there at once: 2 "
      "(the usual ones: a layer's are gathered while the layer "
      "before computes), 1 (right before the layer, and what CUDA has)");
  app.add_option("--pipeline", pipeline,
                 "--mesh=pp=N: the order in which stages run microbatches: "
                 "1f1b (the usual one), gpipe, interleaved:CHUNKS, zb-h1, "
                 "zb-h2");
  app.add_option("--pipeline-cuts", pipelineCuts,
                 "--mesh=pp=N: layers of each stage, such as 5,3 (of each "
                 "position, in interleaved schedules); as even as products "
                 "allow without it")
      ->delimiter(',');
  microbatchesOption =
      app.add_option("--microbatches", microbatches,
                     "--mesh=pp=N: microbatches of a step; as many as stages "
                     "without it");
  app.add_option("--sharding", sharding)->group("");
}

std::string tools::CompileFlags::finishPipeline(CompileOptions &options) const {
  int64_t stages = countStages(options);
  options.pipelineCuts = pipelineCuts;
  if (stages == 1) {
    if (!pipelineCuts.empty())
      return "--pipeline-cuts: there is one stage; --mesh=pp=N makes several";
    if (!pipeline.empty())
      return "--pipeline=" + pipeline +
             ": there is one stage; --mesh=pp=N makes several";
    if (microbatchesOption->count())
      return "--microbatches: there is one stage; --accumulate of a program "
             "that trains says how many microbatches make a step";
    return "";
  }
  if (!has(target, Feature::pipeline))
    return "--mesh=" + mesh + " with --target=" + target +
           " is not built yet; stages of a pipeline run on " +
           targetsWith(Feature::pipeline);
  for (int64_t layers : pipelineCuts)
    if (layers < 1)
      return "--pipeline-cuts: a stage of " + std::to_string(layers) +
             " layers, expected at least 1";
  const bool trains = mode.value == "train";
  if (!trains && !pipeline.empty())
    return "--pipeline=" + pipeline +
           " is for --mode=train; a program that decodes has one sequence, "
           "which passes one stage after the other";
  if (!trains && microbatchesOption->count())
    return "--microbatches is for --mode=train; a program that decodes has one "
           "sequence";
  if (!trains)
    return "";
  options.pipeline = pipeline.empty() ? "1f1b" : pipeline;
  options.microbatches = microbatchesOption->count() ? microbatches : stages;
  if (options.microbatches < 1 || options.microbatches > 1 << 16)
    return "--microbatches=" + std::to_string(options.microbatches) +
           " is out of range, expected 1 to 65536";
  std::string error;
  if (!pipeline::makeSchedule(options.pipeline, int(stages),
                              int(options.microbatches), error))
    return "--pipeline=" + options.pipeline + ": " + error;
  return "";
}

/// How ranks on devices exchange tensors; options have the mesh.
std::string
tools::CompileFlags::finishExchanges(CompileOptions &options) const {
  if (exchanges.value != "overlapped")
    return ncclOption->count()
               ? "--nccl-sms: between launches NCCL has all multiprocessors; "
                 "it is for --exchanges=overlapped"
               : "";
  const std::string flag = "--exchanges=overlapped";
  if (!has(target, Feature::nccl))
    return flag + ": --target=" + target + " has no NCCL; " +
           targetsWith(Feature::nccl) + " does";
  if (options.mesh.empty())
    return flag + ": there is one rank; --mesh says which there are";
  if (launch.value == "graph")
    return flag + " with --launch=graph: there is no kernel for all of a step; "
                  "--launch=persistent has one";
  if (llvm::any_of(options.mesh,
                   [](const MeshAxis &axis) { return axis.name != kDataAxis; }))
    return flag + " with --mesh=" + mesh +
           " is not built yet; --exchanges=borders has both";
  if (zero.value != "0")
    return flag + " with --zero=" + zero.value +
           " is not built yet; --exchanges=borders has both";
  if (ncclMultiprocessors < 1 || ncclMultiprocessors > 1024)
    return "--nccl-sms=" + std::to_string(ncclMultiprocessors) +
           " is out of range, expected 1 to 1024";
  options.ncclMultiprocessors = ncclMultiprocessors;
  return "";
}

/// What of a layer is cut; options have the mesh.
std::string tools::CompileFlags::finishTensors(CompileOptions &options) const {
  options.shardsBottlenecks = tensorParallel.value == "bottleneck";
  options.spreadsExperts = tensorParallel.value == "experts";
  if (!options.shardsBottlenecks && !options.spreadsExperts)
    return "";
  auto has = [&](const char *name) {
    return llvm::any_of(
        options.mesh, [&](const MeshAxis &axis) { return axis.name == name; });
  };
  const std::string flag = "--tensor-parallel=" + tensorParallel.value;
  if (!has(kTensorAxis))
    return flag + ": it is ranks along tp that have parts of layers; add tp=N "
                  "to --mesh";
  if (options.spreadsExperts)
    return "";
  if (has(kQueryAxis))
    return flag + " with --mesh=" + mesh +
           ": queries of one key/value head are not cut along tq so far; leave "
           "tq out";
  if (countStages(options) > 1)
    return flag + " with --mesh=" + mesh +
           " is not built yet: stages send one another rows, not columns of "
           "them; leave pp out";
  if (sequenceParallel)
    return flag + " with --sequence-parallel: ranks have parts of the columns "
                  "that stacks carry, and so of no rows; leave one of them out";
  return "";
}

/// Whose rows experts see; options have the mesh.
std::string tools::CompileFlags::finishExperts(CompileOptions &options) const {
  options.exchangesExperts = expertParallel.value == "all-to-all";
  if (!options.exchangesExperts)
    return "";
  const std::string flag = "--expert-parallel=all-to-all";
  if (llvm::none_of(options.mesh, [](const MeshAxis &axis) {
        return axis.name == kExpertAxis;
      }))
    return flag + ": it is ranks along ep that have some of the experts each; "
                  "add ep=N to --mesh";
  if (mode.value != "train")
    return flag + " is for --mode=train; ranks that decode have the same rows";
  if (options.spreadsExperts)
    return flag +
           " with --tensor-parallel=experts: ranks along tp have some of "
           "the experts each, too; leave one of them out";
  return "";
}

/// Whether positions are cut; options have the mesh.
std::string
tools::CompileFlags::finishSequences(CompileOptions &options) const {
  options.sequenceParallel = sequenceParallel;
  if (!sequenceParallel)
    return "";
  const std::string flag = "--sequence-parallel";
  if (mode.value != "train")
    return flag + " is for --mode=train; steps of a program that decodes have "
                  "few rows";
  if (llvm::none_of(options.mesh, [](const MeshAxis &axis) {
        return isTensorAxis(axis.name);
      }))
    return flag + ": it is ranks along tp that have parts of rows; add tp=N to "
                  "--mesh";
  if (llvm::any_of(options.mesh, [](const MeshAxis &axis) {
        return axis.name == kQueryAxis;
      }))
    return flag + " with --mesh=" + mesh +
           ": rows are not cut along tq so far; leave the flag out";
  return "";
}

/// Choices of which some values are not built, and what only some targets have.
std::string tools::CompileFlags::checkChoices() const {
  if (schedules() && !disabled.empty())
    return "--disable-pass: the schedule in " + order.value +
           " says what is done; change it there";
  for (const Choice *choice :
       {&mode, &dtype, &activations, &kvType, &adapterType, &optimize,
        &sanitize, &recompute, &loss, &launch, &cublasLt, &exchanges,
        &tensorParallel, &expertParallel, &zero, &gatheredLayers})
    if (std::string error = choice->check(); !error.empty())
      return error;
  if (auto found = findTarget(target); !found)
    return llvm::toString(found.takeError());
  if (launch.value == "graph" && !has(target, Feature::graph))
    return "--launch=graph: --target=" + target + " launches no kernels; " +
           targetsWith(Feature::graph) + " does";
  if (cublasLt.value == "always") {
    if (!has(target, Feature::cublasLt))
      return "--cublaslt=always: --target=" + target + " has no cuBLASLt; " +
             targetsWith(Feature::cublasLt) + " does";
    if (batchInvariant)
      return "--cublaslt=always with --batch-invariant: cuBLASLt's bits depend "
             "on how many tokens share a step; leave one of them out";
    if (mode.value == "train")
      return "--cublaslt=always with --mode=train is not built yet; products "
             "of training are the kernel's own";
  }
  const bool rounds = llvm::StringRef(activations.value).starts_with("bf16");
  if (rounds && !has(target, Feature::roundedInputs))
    return "--activations=" + activations.value + " with --target=" + target +
           " is not built yet; " + targetsWith(Feature::roundedInputs) +
           " has such products";
  return schedules() ? "" : order.check();
}

std::string tools::CompileFlags::finishMesh(CompileOptions &options) const {
  if (std::string error = parseMesh(mesh, options.mesh); !error.empty())
    return error;
  for (const MeshAxis &axis : options.mesh) {
    if (mode.value != "train" && isDataAxis(axis.name))
      return "--mesh=" + mesh + ": axis " + axis.name +
             " is for --mode=train; a program that decodes has one sequence";
  }
  return "";
}

/// What ranks have only a part of, and gather; options have the mesh.
std::string tools::CompileFlags::finishParts(CompileOptions &options) const {
  options.zero = zero.value[0] - '0';
  if (options.zero && options.mesh.empty())
    return "--zero=" + zero.value +
           ": there is one rank; --mesh says which there are";
  if (options.zero && llvm::none_of(options.mesh, [](const MeshAxis &axis) {
        return isDataAxis(axis.name);
      }))
    return "--zero=" + zero.value + " with --mesh=" + mesh +
           ": it is ranks along dp or fsdp that have only a part of something; "
           "add dp=N to --mesh";
  if (!options.zero && llvm::any_of(options.mesh, [](const MeshAxis &axis) {
        return axis.name == kShardAxis;
      }))
    return "--mesh=" + mesh +
           ": ranks along fsdp have parts of what --zero=1, 2 or 3 says";
  if (!gatheredLayers.value.empty()) {
    if (options.zero != 3)
      return "--gathered-layers=" + gatheredLayers.value +
             ": weights that ranks gather are those of --zero=3";
    options.gatheredLayers = gatheredLayers.value[0] - '0';
    if (options.gatheredLayers > 1 && !has(target, Feature::gatheringAhead))
      return "--gathered-layers=" + gatheredLayers.value +
             " with --target=" + target +
             " is not built yet; there each layer waits for its own weights";
  } else if (!has(target, Feature::gatheringAhead)) {
    options.gatheredLayers = 1;
  }
  return "";
}

std::string tools::CompileFlags::finishBatch(CompileOptions &options) const {
  if (!maxBatchOption->count()) {
    if (maxRowsOption->count())
      return "--max-rows is for --max-batch: a program of one sequence takes "
             "what its target's description says";
    if (maxOutputsOption->count())
      return "--max-outputs is for --max-batch: a program of one sequence has "
             "as many as its target's description says";
    if (kvType.value != "f32")
      return "--kv-type=" + kvType.value +
             " is for --max-batch, whose programs have pages";
    if (embeddings)
      return "--embeddings is for --max-batch: it is FILE serve and FILE batch "
             "that make them";
    if (offload)
      return "--offload is for --max-batch: it is FILE batch and FILE bench "
             "that "
             "leave layers in a file";
    if (maxAdaptersOption->count())
      return "--max-adapters is for --max-batch, whose requests name adapters";
    return finishAdapters(options);
  }
  std::string flag = "--max-batch=" + std::to_string(maxBatch);
  if (maxBatch < 1 || maxBatch > (1 << 16))
    return flag + " is out of range, expected 1 to 65536";
  if (mode.value == "train")
    return flag + " is for programs that decode; of a program that trains, "
                  "FILE train --batch says how many sequences a step has";
  if (!has(target, Feature::batches))
    return flag + " with --target=" + target + " is not built yet; " +
           targetsWith(Feature::batches) + " has batches";
  options.batch = maxBatch;
  options.kvType = kvType.value;
  options.hiddenStates = embeddings;
  if (offload && !has(target, Feature::offloading))
    return "--offload with --target=" + target + " is not built yet; " +
           targetsWith(Feature::offloading) + " has it";
  if (offload && !mesh.empty())
    return "--offload with --mesh=" + mesh +
           " is not built yet; leave one of them out";
  options.offloads = offload;
  if (maxRowsOption->count() && (maxRows < maxBatch || maxRows > (1 << 20)))
    return "--max-rows=" + std::to_string(maxRows) +
           " is out of range, expected 1048576 at most and a row for each of " +
           std::to_string(maxBatch) + " sequences";
  options.rows = maxRows;
  if (maxOutputsOption->count() && maxOutputs < 1)
    return "--max-outputs=" + std::to_string(maxOutputs) +
           " is out of range, expected 1 to the most rows of a step";
  options.outputs = maxOutputs;
  return finishAdapters(options);
}

std::string tools::CompileFlags::finishAdapters(CompileOptions &options) const {
  constexpr int64_t most = model::kMostRanks;
  if (!maxAdaptersOption->count()) {
    if (adapterRankOption->count())
      return "--max-adapter-rank is for --max-adapters";
    if (adapterTargetsOption->count())
      return "--adapter-targets is for --max-adapters";
    if (adapterType.value != "f32")
      return "--adapter-type is for --max-adapters";
    return "";
  }
  if (maxAdapters < 1 || maxAdapters > 4096)
    return "--max-adapters=" + std::to_string(maxAdapters) +
           " is out of range, expected 1 to 4096";
  if (adapterRank < 1 || adapterRank > most)
    return "--max-adapter-rank=" + std::to_string(adapterRank) +
           " is out of range, expected 1 to " + std::to_string(most);
  AdapterSlots &slots = options.adapterSlots.emplace();
  slots.most = llvm::alignTo(adapterRank, model::kRankUnit);
  slots.ranks = slots.most * maxAdapters;
  slots.type = adapterType.value;
  if (adapterTargetsOption->count())
    slots.targets = adapterTargets;
  for (const std::string &target : slots.targets)
    if (target.empty())
      return "--adapter-targets has an empty name";
  return "";
}

/// What only one of the modes has, or neither yet.
std::string tools::CompileFlags::finishMode(CompileOptions &options) const {
  if (!optimizer.empty() && mode.value != "train")
    return "--optimizer is for --mode=train";
  if (recompute.value != "none" && mode.value != "train")
    return "--recompute=" + recompute.value +
           ": a program that decodes keeps nothing for a backward step; "
           "--mode=train does";
  if (!adapter.empty()) {
    if (mode.value != "train")
      return "--adapter is for --mode=train";
    auto parsed = parseAdapter(adapter);
    if (!parsed)
      return llvm::toString(parsed.takeError());
    options.adapter = *parsed;
  }
  if (loss.value == "dpo") {
    if (mode.value != "train")
      return "--loss=dpo is for --mode=train";
    for (const MeshAxis &axis : options.mesh)
      if (axis.name == kPipelineAxis)
        return "--loss=dpo with --mesh=pp=N is not built yet; ranks along dp "
               "and tp train on pairs of answers";
    if (balanceLoss > 0 || routerZLoss > 0)
      return std::string(balanceLoss > 0 ? "--router-aux-loss"
                                         : "--router-z-loss") +
             " with --loss=dpo is not built yet; leave the flag out";
  }
  if (loss.value == "distill") {
    if (mode.value != "train")
      return "--loss=distill is for --mode=train";
    for (const MeshAxis &axis : options.mesh)
      if (axis.name == kPipelineAxis)
        return "--loss=distill with --mesh=pp=N is not built yet; ranks along "
               "dp and tp train with a teacher";
    if (balanceLoss > 0 || routerZLoss > 0)
      return std::string(balanceLoss > 0 ? "--router-aux-loss"
                                         : "--router-z-loss") +
             " with --loss=distill is not built yet; leave the flag out";
    options.teacherTokens = 64;
    if (teacherTokens == "all")
      options.teacherTokens = 1 << 30;
    else if (teacherOption->count() &&
             (llvm::StringRef(teacherTokens)
                  .getAsInteger(10, options.teacherTokens) ||
              options.teacherTokens < 1 || options.teacherTokens > 1 << 20))
      return "--teacher-top-k=" + teacherTokens +
             ": expected a number from 1 to 1048576, or all";
  } else if (teacherOption->count()) {
    return "--teacher-top-k is for --loss=distill";
  }
  for (auto [name, option, value] :
       {std::tuple{"--router-aux-loss", balanceLossOption, balanceLoss},
        {"--router-z-loss", routerZLossOption, routerZLoss},
        {"--router-bias-update", routerBiasOption, routerBiasUpdate}}) {
    if (!option->count())
      continue;
    if (mode.value != "train")
      return std::string(name) + " is for --mode=train";
    if (!(value >= 0 && value <= 1000))
      return std::string(name) + " is out of range, expected 0 to 1000";
  }
  if (balanceLossOption->count())
    options.balanceLoss = balanceLoss;
  options.routerZLoss = routerZLoss;
  options.routerBiasUpdate = routerBiasUpdate;
  if (mode.value == "train" && activations.value == "bf16-avx512")
    return "--activations=bf16-avx512 is for programs that decode; with "
           "--adapter=lora bf16-amx trains";
  if (mode.value == "train" && adapter.empty() &&
      llvm::StringRef(activations.value).starts_with("bf16"))
    return "--activations=" + activations.value +
           " is for programs that decode, and for --adapter=lora; --dtype=bf16 "
           "with --mode=train rounds both sides of products";
  if (dtype.value == "f64" && mode.value != "train")
    return "--dtype=f64 is for --mode=train, where gradients are checked in it";
  if (std::string error = finishBatch(options); !error.empty())
    return error;
  if (maxSeqOption->count()) {
    if (maxSeq < 1 || maxSeq > (1 << 24))
      return "--max-seq=" + std::to_string(maxSeq) +
             " is out of range, expected 1 to 16777216";
    options.maxSeq = maxSeq;
  }
  return "";
}

/// "512MiB" or "4GiB" in bytes; nothing where it is no size.
static std::optional<uint64_t> parseSize(llvm::StringRef text) {
  double scale = 1;
  for (llvm::StringRef unit : {"", "KiB", "MiB", "GiB", "TiB"}) {
    llvm::StringRef number = text;
    double value = 0;
    if ((unit.empty() || number.consume_back(unit)) &&
        !number.getAsDouble(value) && value > 0 && value * scale < 0x1p63)
      return uint64_t(value * scale);
    scale *= 1024;
  }
  return std::nullopt;
}

/// Of programs that decode: what they have in memory unless told otherwise.
std::string
tools::CompileFlags::finishUsualMemory(CompileOptions &options) const {
  for (auto [flag, value] :
       {std::pair<const char *, const std::string &>{"--memory", memory},
        {"--kv-memory", usualMemory.kvMemory},
        {"--kv-in-memory", usualMemory.kvInMemory}})
    if (!value.empty() && !parseSize(value))
      return std::string(flag) + "=" + value +
             ": expected a size such as 512MiB or 6GiB";
  options.usualMemory = usualMemory;
  options.usualMemory->memory = memory;
  return slotsOption->count() ? "--memory-slots is for --mode=train" : "";
}

std::string tools::CompileFlags::finishMemory(CompileOptions &options) const {
  for (auto [flag, value] : {std::pair<const char *, const std::string &>{
                                 "--kv-memory", usualMemory.kvMemory},
                             {"--kv-in-memory", usualMemory.kvInMemory}})
    if (!value.empty() && (!offload || memory.empty()))
      return std::string(flag) + "=" + value +
             " is for --offload with --memory=SIZE";
  if (memory.empty())
    return slotsOption->count() ? "--memory-slots is for --memory=SIZE" : "";
  if (offload)
    return finishUsualMemory(options);
  const std::string flag = "--memory=" + memory;
  if (mode.value != "train")
    return flag + " is for --mode=train and --offload; FILE info says what a "
                  "program that decodes takes, and --kv-memory of FILE batch "
                  "limits it";
  const std::optional<uint64_t> bytes = parseSize(memory);
  if (!bytes)
    return flag + ": expected a size such as 512MiB or 6GiB";
  if (slots < 1 || slots > 64)
    return "--memory-slots=" + std::to_string(slots) +
           " is out of range, expected 1 to 64";
  if (!has(target, Feature::tiers))
    return flag + ": --target=" + target + " has no tiers of memory; " +
           targetsWith(Feature::tiers) +
           " does, and --state-memory of FILE train has states of a GPU in "
           "the host's memory";
  if (!mesh.empty())
    return flag + " with --mesh=" + mesh +
           " is not built yet; --state-memory of FILE train limits the "
           "states of ranks";
  options.memory = {*bytes, slots};
  return "";
}

std::string tools::CompileFlags::finishPasses(CompileOptions &options) const {
  std::vector<std::string> all = allPasses();
  for (const std::string &name : disabled) {
    if (std::find(all.begin(), all.end(), name) == all.end())
      return "--disable-pass=" + name + ": there is no such pass; there is " +
             join(all) + nearest_text(name, all);
    if (!schedule::optionalParts().count(name))
      return "--disable-pass=" + name +
             ": no plan is emitted without this pass";
    if (mode.value == "train" && name != "attention-fusion")
      return "--disable-pass=" + name +
             ": --mode=train runs no such pass; it does attention-fusion";
    options.disabledPasses.insert(name);
  }
  return "";
}

/// Those that need no check but checkChoices().
void tools::CompileFlags::fill(CompileOptions &options) const {
  options.model = model;
  options.dtype = dtype.value;
  options.activations = activations.value;
  if (schedules())
    options.schedule = order.value;
  options.training = mode.value == "train";
  options.prefers = loss.value == "dpo";
  options.optimizer = optimizer;
  for (auto [name, value] :
       {std::pair<const char *, training::RecomputeMode>{
            "selective", training::RecomputeMode::selective},
        {"full", training::RecomputeMode::full}})
    if (recompute.value == name)
      options.recompute = value;
  options.target = target;
  options.targetCpu = targetCpu;
  options.optimization = optimize.value[0] - '0';
  options.sanitize = sanitize.value;
  options.targetFile = targetFile;
  options.launchesGraph = launch.value == "graph";
  options.cublasLt = cublasLt.value == "always"  ? CublasLt::always
                     : cublasLt.value == "never" ? CublasLt::never
                                                 : CublasLt::automatic;
  options.batchInvariant = batchInvariant;
  options.quiet = quiet;
  if (!noCache)
    options.cache = link::Cache::userFolder();
}

std::string tools::CompileFlags::finish(CompileOptions &options) {
  if (!plan.empty())
    if (std::string error = applyPlan(*app, plan, planned); !error.empty())
      return error;
  if (std::string error = checkChoices(); !error.empty())
    return error;
  using Finish = std::string (CompileFlags::*)(CompileOptions &) const;
  for (Finish finish :
       {&CompileFlags::finishMesh, &CompileFlags::finishExchanges,
        &CompileFlags::finishParts, &CompileFlags::finishTensors,
        &CompileFlags::finishExperts, &CompileFlags::finishSequences})
    if (std::string error = (this->*finish)(options); !error.empty())
      return error;
  if (!sharding.empty())
    return "--sharding is not built yet";
  for (Finish finish :
       {&CompileFlags::finishPipeline, &CompileFlags::finishMode,
        &CompileFlags::finishMemory, &CompileFlags::finishPasses})
    if (std::string error = (this->*finish)(options); !error.empty())
      return error;
  fill(options);
  return "";
}
