//===- Importer.cpp - finds the family of a config and runs its importer --===//

#include "models/Importer.h"

#include "models/Family.h"
#include "models/GgufConfig.h"
#include "models/StoredTypes.h"

#include "runtime/weights/gguf_model.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <fstream>

using namespace mlir;
using namespace baton;
using namespace baton::models;

static const Family *const kFamilies[] = {
#define BATON_MODEL_FAMILY(NAME) &NAME##Family,
#include "models/Families.inc"
#undef BATON_MODEL_FAMILY
};

std::vector<std::string> models::families() {
  std::vector<std::string> names;
  for (const Family *family : kFamilies)
    names.push_back(family->modelType);
  std::sort(names.begin(), names.end());
  return names;
}

static std::string listFamilies() {
  std::string list;
  for (const std::string &name : families())
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

static const Family &findFamily(const Config &config) {
  std::string modelType = config.text("model_type");
  for (const Family *family : kFamilies)
    if (modelType == family->modelType)
      return *family;
  for (const Family *family : kFamilies)
    if (family->wrapper && modelType == family->wrapper)
      config.fail("model_type",
                  std::string(family->modelType) +
                      ": images are not supported, only the model's "
                      "'text_config' and 'language_model' by themselves");
  config.fail("model_type", "one that has an importer: " + listFamilies());
}

/// Refuses what would be read as something that it is not: other heads on the
/// same body.
static void checkCheckpointKind(const Config &config, const Family &family) {
  if (!config.listsText("architectures", family.architecture))
    config.fail("architectures",
                std::string("a list with \"") + family.architecture + "\"");
}

int64_t models::maxSeqOption(const Config &config, const ImportOptions &options,
                             const char *limitName) {
  int64_t limit = config.integer(limitName, 1, kMaxPositions);
  if (!options.maxSeq)
    return limit;
  if (*options.maxSeq < 1 || *options.maxSeq > limit)
    throw ConfigError("--max-seq is " + std::to_string(*options.maxSeq) +
                      ", expected 1 to " + std::to_string(limit) + ", the '" +
                      limitName + "' of " + config.getFile());
  return *options.maxSeq;
}

FloatType models::weightTypeOption(MLIRContext &context, const Config &config,
                                   const ImportOptions &options) {
  std::string option = options.dtype.value_or("auto");
  if (option == "f32")
    return FloatType::getF32(&context);
  if (option == "bf16")
    return FloatType::getBF16(&context);
  if (option == "f16")
    return FloatType::getF16(&context);
  if (option == "f64")
    return FloatType::getF64(&context);
  if (option != "auto")
    throw ConfigError("--dtype is '" + option +
                      "', expected auto, f32, bf16, f16 or f64");
  const char *field = config.has("dtype") ? "dtype" : "torch_dtype";
  std::string stored = config.text(field, "float32");
  if (stored == "float32")
    return FloatType::getF32(&context);
  if (stored == "bfloat16")
    return FloatType::getBF16(&context);
  if (stored == "float16")
    return FloatType::getF16(&context);
  config.fail(field, "float32, bfloat16 or float16 (--dtype chooses another)");
}

bool models::isGgufFile(StringRef path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path.str(), failure))
    return false;
  char magic[4] = {};
  std::ifstream(path.str(), std::ios::binary).read(magic, 4);
  return path.ends_with(".gguf") || StringRef(magic, 4) == "GGUF";
}

static void useTypesOf(ModuleOp module, const Checkpoint &checkpoint) {
  useStoredTypes(module,
                 [&](const std::string &name) -> std::optional<DataType> {
                   if (!checkpoint.contains(name))
                     return std::nullopt;
                   return checkpoint.find({name}).tensor->type;
                 });
}

/// Whether a folder has nothing but a config.json: what a program of its model
/// needs can be told without weights.
static bool hasNoWeights(const std::filesystem::path &folder) {
  std::error_code failure;
  for (const char *name : {"model.safetensors", "model.safetensors.index.json"})
    if (std::filesystem::exists(folder / name, failure))
      return false;
  return true;
}

/// What bitsandbytes makes of a model: all linears of its layers are quantised
/// but those of modules that are skipped. Other methods leave it to the files
/// which linears are.
static std::optional<TypeOfTensor> typesByConfig(const Config &config) {
  const std::optional<Config> fields = config.object("quantization_config");
  if (fields->text("quant_method") != "bitsandbytes")
    return std::nullopt;
  DataType type = DataType::Int8_G64;
  if (fields->boolean("load_in_4bit", false))
    type = fields->text("bnb_4bit_quant_type", "fp4") == "nf4" ? DataType::NF4
                                                               : DataType::FP4;
  std::vector<std::string> skipped;
  if (!fields->isNull("llm_int8_skip_modules"))
    skipped = fields->optionalTexts("llm_int8_skip_modules").value_or(skipped);
  return [=](const std::string &name) -> std::optional<DataType> {
    const bool isOfLayer =
        StringRef(name).contains("layers.") || StringRef(name).contains("h.");
    const bool isSkipped =
        llvm::any_of(skipped, [&](const std::string &module) {
          return ("." + name).find("." + module + ".") != std::string::npos;
        });
    if (!isOfLayer || isSkipped)
      return std::nullopt;
    return type;
  };
}

OwningOpRef<ModuleOp> models::importFolder(MLIRContext &context, StringRef path,
                                           const ImportOptions &options,
                                           std::string &error) {
  error.clear();
  context.getOrLoadDialect<model::ModelDialect>();
  try {
    std::optional<GgufModel> stored;
    std::error_code failure;
    if (isGgufFile(path) || std::filesystem::is_directory(path.str(), failure))
      if (auto file = find_gguf(path.str()))
        stored = GgufModel::open(*file);
    Config config = stored ? ggufConfig(*stored) : Config::read(path.str());
    const Family &family = findFamily(config);
    checkCheckpointKind(config, family);
    const bool isQuantised = !stored && config.has("quantization_config") &&
                             Quantisation::read(path.str());
    OwningOpRef<ModuleOp> module = family.build(context, config, options);
    if (stored && options.dtype.value_or("auto") == "auto")
      useStoredTypes(*module, [&](const std::string &name) {
        return stored->type_of(name);
      });
    if (isQuantised && options.dtype.value_or("auto") == "auto") {
      std::optional<TypeOfTensor> types;
      if (hasNoWeights(path.str()))
        types = typesByConfig(config);
      if (types)
        useStoredTypes(*module, *types);
      else
        useTypesOf(*module, Checkpoint::open(path.str()));
    }

    // The builders are checked as everybody's IR is.
    std::string diagnostic;
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &found) {
      if (diagnostic.empty())
        diagnostic = found.str();
      return success();
    });
    if (succeeded(verify(*module)))
      return module;
    error = config.getFile() + ": " + diagnostic;
  } catch (const std::exception &failure) {
    error = failure.what();
  }
  return nullptr;
}
