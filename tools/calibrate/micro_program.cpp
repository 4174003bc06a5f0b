//===- micro_program.cpp - programs whose phases are the ops to measure ---===//

#include "tools/calibrate/micro_program.h"

#include "tools/plan/measured_ops.h"

#include <algorithm>
#include <cmath>

using namespace baton;
using namespace baton::calibrate;

Point MeasuredPhase::in(const Step &step) const {
  Point at = point;
  if (by_rows)
    at.sizes["rows"] = double(step.rows);
  if (by_positions)
    at.sizes["positions"] = double(step.positions);
  if (bytes_by_row > 0)
    at.sizes["bytes"] = bytes_by_row * double(step.rows);
  return at;
}

static constexpr int64_t vocabulary = 64;
/// Of steps of one row whose positions do not matter.
static constexpr int64_t decoded_positions = 16;

/// Positions of the longest run: what is decoded goes on behind a step.
static int64_t longest(const std::vector<Step> &steps) {
  int64_t most = 0;
  for (const Step &step : steps)
    most = std::max(most, step.positions);
  return most + decoded_tokens;
}

/// "!model.tensor<rows x 256 x f32>", for any number of sizes.
static std::string tensor(const std::vector<std::string> &sizes,
                          const std::string &type = "f32") {
  std::string text = "!model.tensor<";
  for (const std::string &size : sizes)
    text += size + " x ";
  return text + type + ">";
}

static std::string rows_of(int64_t width) {
  return tensor({"rows", std::to_string(width)});
}

/// As IR names it.
static std::string element(const std::string &type) {
  return type == "f32" || type == "bf16" || type == "f16"
             ? type
             : "!model.quantized<\"" + type + "\">";
}

namespace {
/// Ops of a stack's pattern, each with a name of its own.
struct Pattern {
  std::string text;

  void add(const std::string &line) { text += "    " + line + "\n"; }

  /// Returns the name of the result: rows of `outputs`.
  std::string linear(const std::string &name, const std::string &input,
                     int64_t inputs, int64_t outputs, const std::string &type) {
    const std::string weights = tensor(
        {std::to_string(outputs), std::to_string(inputs)}, element(type));
    add("%" + name + "_weights = model.parameter [\"layers.{layer}." + name +
        "\"] : " + weights.substr(std::string("!model.tensor").size()));
    add("%" + name + " = model.linear " + input + ", %" + name +
        "_weights : (" + rows_of(inputs) + ", " + weights + ") -> " +
        rows_of(outputs) + " loc(\"" + name + "\")");
    return "%" + name;
  }
};
} // namespace

/// A program of so many repetitions of a pattern that maps rows of `width` to
/// such rows, with a small vocabulary in front and behind.
static std::string program(const std::string &name, int64_t max_seq,
                           int64_t width, int64_t repeat,
                           const std::string &before,
                           const std::string &pattern,
                           const std::string &result) {
  const std::string rows = rows_of(width);
  const std::string table =
      tensor({std::to_string(vocabulary), std::to_string(width)});
  const std::string last = tensor({"outputs", std::to_string(width)});
  const std::string logits = tensor({"outputs", std::to_string(vocabulary)});
  const std::string untyped = table.substr(std::string("!model.tensor").size());
  return "model.program @" + name + " max_seq " + std::to_string(max_seq) +
         " {\n^bb0(%tokens: !model.tensor<rows x i32>):\n"
         "  %table = model.parameter [\"embedding\"] : " +
         untyped +
         "\n  %embedded = model.embedding %tokens, %table : "
         "(!model.tensor<rows x i32>, " +
         table + ") -> " + rows + " loc(\"embedding\")\n" + before +
         "  %stack = model.stack %embedded repeat " + std::to_string(repeat) +
         " : (" + rows + ") -> " + rows + " {\n  ^bb0(%in: " + rows + "):\n" +
         pattern + "    model.yield " + result + " : " + rows +
         "\n  } loc(\"layers\")\n  %last = model.last_rows %stack : (" + rows +
         ") -> " + last +
         "\n  %head = model.parameter [\"head\"] : " + untyped +
         "\n  %logits = model.linear %last, %head : (" + last + ", " + table +
         ") -> " + logits +
         " loc(\"head\")\n  model.return %logits : " + logits + "\n}\n";
}

/// All pairs of sizes, each once, so that each begins where the one before
/// ends, and the last one ends where the first began: an Eulerian circuit
/// (Hierholzer's), as every size has as many pairs to it as from it.
static std::vector<std::pair<int64_t, int64_t>>
circuit(const std::vector<int64_t> &sizes) {
  std::map<int64_t, size_t> next;
  std::vector<int64_t> way = {sizes[0]}, closed;
  while (!way.empty()) {
    const int64_t at = way.back();
    if (next[at] < sizes.size()) {
      way.push_back(sizes[next[at]++]);
    } else {
      closed.push_back(at);
      way.pop_back();
    }
  }
  std::reverse(closed.begin(), closed.end());
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t at = 0; at + 1 < closed.size(); ++at)
    pairs.emplace_back(closed[at], closed[at + 1]);
  return pairs;
}

MicroProgram calibrate::linear_program(const std::string &type,
                                       const std::vector<int64_t> &sizes,
                                       const std::vector<int64_t> &rows,
                                       double bytes) {
  MicroProgram made;
  made.name = "linear_" + type;
  made.between_steps = true;
  const int64_t width = sizes.front();
  Pattern pattern;
  pattern.add("%gains = model.parameter [\"layers.{layer}.norm\"] : <" +
              std::to_string(width) + " x f32>");
  pattern.add("%norm = model.rms_norm %in, %gains {epsilon = 1.0e-05 : f32} : "
              "(" +
              rows_of(width) + ", !model.tensor<" + std::to_string(width) +
              " x f32>) -> " + rows_of(width) + " loc(\"norm\")");
  made.others = {"norm", "head"};
  double weights = 0;
  std::string value = "%norm";
  for (auto [inputs, outputs] : circuit(sizes)) {
    const std::string name =
        "linear_" + std::to_string(outputs) + "_" + std::to_string(inputs);
    value = pattern.linear(name, value, inputs, outputs, type);
    made.phases[name] = {
        {"linear",
         type,
         {{"outputs", double(outputs)}, {"inputs", double(inputs)}}}};
    weights += double(inputs * outputs);
  }
  // The circuit ends where it began, and so does this one.
  for (auto [inputs, outputs] : circuit(sizes)) {
    const std::string name =
        std::to_string(outputs) + "_" + std::to_string(inputs);
    const std::string gate =
        pattern.linear("gate_" + name, value, inputs, outputs, type);
    const std::string up =
        pattern.linear("up_" + name, value, inputs, outputs, type);
    const std::string row = rows_of(outputs);
    pattern.add("%act_" + name + " = model.activate " + gate +
                " {activation = #model.activation<silu>} : (" + row + ") -> " +
                row);
    value = "%gated_" + name;
    pattern.add(value + " = model.mul %act_" + name + ", " + up + " : (" + row +
                ", " + row + ") -> " + row + " loc(\"gated_" + name + "\")");
    made.phases["gated_" + name] = {
        {"gated_linear",
         type,
         {{"outputs", double(outputs)}, {"inputs", double(inputs)}}}};
    weights += 2 * double(inputs * outputs);
  }
  made.phases["embedding"] = {{"embedding", "f32", {{"width", width}}}};
  const int64_t repeat = std::max<int64_t>(
      1, std::llround(std::ceil(bytes / (weights * plan::weight_bytes(type)))));
  for (int64_t many : rows)
    made.steps.push_back({many, many == 1 ? decoded_positions : many});
  made.text = program(made.name, longest(made.steps), width, repeat, "",
                      pattern.text, value);
  return made;
}

MicroProgram calibrate::attention_program(const Heads &heads,
                                          const std::vector<Step> &steps) {
  MicroProgram made;
  made.name = "attention";
  made.steps = steps;
  made.others = {"head"};
  Pattern pattern;
  std::string before, value = "%in";
  const int64_t width = 64;
  for (int64_t size : heads.sizes) {
    before += "  %angles_" + std::to_string(size) +
              " = model.rope_table {frequencies = array<f32: 1.0";
    for (int64_t pair = 1; pair < size / 2; ++pair)
      before += ", 0.5";
    before += ">} : () -> " + rows_of(size) + " loc(\"angles_" +
              std::to_string(size) + "\")\n";
    made.others.push_back("angles_" + std::to_string(size));
    for (int64_t keys : heads.key_heads)
      for (int64_t group : heads.groups) {
        const std::string name = "_" + std::to_string(keys) + "_" +
                                 std::to_string(group) + "_" +
                                 std::to_string(size);
        const int64_t queries = keys * group;
        auto split = [&](int64_t many) {
          return tensor({"rows", std::to_string(many), std::to_string(size)});
        };
        const std::string angles = "%angles_" + std::to_string(size) + " : (";
        std::string inputs[3];
        for (int which = 0; which < 3; ++which) {
          const int64_t many = which == 0 ? queries : keys;
          const std::string own = std::string(1, "qkv"[which]) + name;
          const std::string made_by =
              pattern.linear(own, value, width, many * size, "f32");
          inputs[which] = "%split_" + own;
          pattern.add(inputs[which] + " = model.reshape " + made_by + " : (" +
                      rows_of(many * size) + ") -> " + split(many));
          if (which == 2)
            continue;
          pattern.add("%rope_" + own + " = model.rope " + inputs[which] + ", " +
                      angles + split(many) + ", " + rows_of(size) + ") -> " +
                      split(many) + " loc(\"rope_" + own + "\")");
          inputs[which] = "%rope_" + own;
          made.phases["rope_" + own] = {
              {"rope", "f32", {{"width", double(many * size)}}}};
        }
        made.others.push_back("q" + name + "+k" + name + "+v" + name);
        const std::string state =
            tensor({"kv", std::to_string(keys), std::to_string(size)});
        for (int which : {1, 2}) {
          const std::string own = std::string(1, "qkv"[which]) + name;
          pattern.add("%state_" + own + " = model.kv_append " + inputs[which] +
                      " to \"" + own + "\" : (" + split(keys) + ") -> " +
                      state + " loc(\"state_" + own + "\")");
          made.phases["state_" + own] = {
              {"append", "f32", {{"width", double(keys * size)}}}};
        }
        const std::string row = rows_of(queries * size);
        pattern.add("%attention" + name + " = model.attention " + inputs[0] +
                    ", %state_k" + name + ", %state_v" + name +
                    " {scale = 1.25e-01 : f32} : (" + split(queries) + ", " +
                    state + ", " + state + ") -> " + split(queries) +
                    " loc(\"attention" + name + "\")");
        made.phases["attention" + name] = {{"attention",
                                            "f32",
                                            {{"key_heads", double(keys)},
                                             {"group", double(group)},
                                             {"head_size", double(size)}}},
                                           true,
                                           true};
        pattern.add("%merged" + name + " = model.reshape %attention" + name +
                    " : (" + split(queries) + ") -> " + row);
        pattern.add("%product" + name + " = model.mul %merged" + name +
                    ", %merged" + name + " : (" + row + ", " + row + ") -> " +
                    row + " loc(\"product" + name + "\")");
        // The same row twice is read once.
        made.phases["product" + name] = {
            {"elementwise", "f32", {}}, false, false, 2. * 4 * queries * size};
        value = pattern.linear("o" + name, "%product" + name, queries * size,
                               width, "f32");
        made.others.push_back("o" + name);
      }
  }
  made.others.push_back("embedding");
  made.text = program(made.name, longest(steps), width, /*repeat=*/1, before,
                      pattern.text, value);
  return made;
}
