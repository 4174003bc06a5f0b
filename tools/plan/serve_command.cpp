//===- serve_command.cpp - batonc plan serve ------------------------------===//

#include "tools/plan/commands.h"

#include "runtime/error.h"
#include "runtime/main/interrupt.h"
#include "runtime/main/output.h"
#include "runtime/main/progress.h"
#include "runtime/main/table.h"
#include "tools/plan/page.h"
#include "tools/plan/serving_search.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

using namespace baton;
using namespace baton::plan;
using Json = nlohmann::ordered_json;

namespace {
struct Options {
  std::string model, device = "h100-80gb", step_times, trace, html;
  int64_t devices = 1;
  double memory = 0;
  // What comes.
  TraceOptions made;
  // What is wanted, milliseconds.
  double max_ttft = 0, max_tpot = 0, percentile = 90;
  // What may be chosen of.
  std::vector<int64_t> batches, rows;
  int64_t most_tensor = 8, most_expert = 0, most_pipeline = 8;
  bool no_disaggregation = false, simulate = false;
  // The model and the program.
  double weight_bits = 16, kv_bits = 16, imbalance = 1;
  int64_t pages = 0, max_outputs = 0, prefill_chunk = 0;
  double overhead = 0;
  int64_t guesses = 0;
  double acceptance = 0;
  bool no_prefix_cache = false;
  bool json = false, quiet = false;
};

constexpr double never = std::numeric_limits<double>::infinity();
} // namespace

static ServingSearchOptions wanted_of(const Options &options) {
  ServingSearchOptions wanted;
  wanted.trace = options.trace.empty() ? make_trace(options.made)
                                       : read_trace(options.trace);
  wanted.limits.to_first =
      options.max_ttft > 0 ? options.max_ttft / 1e3 : never;
  wanted.limits.between = options.max_tpot > 0 ? options.max_tpot / 1e3 : never;
  wanted.limits.part = options.percentile / 100;
  wanted.devices = options.devices;
  wanted.pages = options.pages;
  wanted.max_outputs = options.max_outputs;
  wanted.step_overhead = options.overhead * 1e-6;
  wanted.guesses = options.guesses;
  wanted.acceptance = options.acceptance;
  wanted.prefill_chunk = options.prefill_chunk;
  wanted.prefix_cache = !options.no_prefix_cache;
  wanted.disaggregated = !options.no_disaggregation;
  wanted.batches = options.batches;
  wanted.rows = options.rows;
  auto powers = [](int64_t first, int64_t last) {
    std::vector<int64_t> all;
    for (int64_t at = first; at < last; at *= 2)
      all.push_back(at);
    all.push_back(last);
    return all;
  };
  if (!options.step_times.empty()) {
    const auto measured =
        std::make_shared<MeasuredStepTimes>(options.step_times);
    wanted.measured = measured;
    auto check = [&](const char *flag, const std::vector<int64_t> &values,
                     int64_t most) {
      for (int64_t value : values)
        if (value > most)
          throw Error(
              std::string(flag) + ": " + std::to_string(value) +
              " is above the " + std::to_string(most) +
              " of the program that " + options.step_times +
              " is of; compile it with a larger one, and measure again");
    };
    check("--max-batch", wanted.batches, measured->max_sequences);
    check("--max-rows", wanted.rows, measured->max_rows);
    if (wanted.batches.empty())
      wanted.batches = options.simulate
                           ? std::vector<int64_t>{measured->max_sequences}
                           : powers(1, measured->max_sequences);
    if (wanted.rows.empty())
      wanted.rows = options.simulate
                        ? std::vector<int64_t>{measured->max_rows}
                        : powers(std::min<int64_t>(32, measured->max_rows),
                                 measured->max_rows);
    if (!wanted.max_outputs && options.simulate)
      wanted.max_outputs = measured->max_outputs;
    return wanted;
  }
  wanted.served = read_served_decoder(options.model);
  wanted.served->weight_bytes = options.weight_bits / 8;
  wanted.served->kv_bytes = options.kv_bits / 8;
  wanted.served->imbalance = options.imbalance;
  wanted.device = read_device(options.device);
  wanted.memory =
      options.memory > 0 ? options.memory * 1e9 : .95 * wanted.device.memory;
  wanted.most_tensor = options.most_tensor;
  wanted.most_pipeline = options.most_pipeline;
  wanted.most_expert = options.most_expert      ? options.most_expert
                       : wanted.served->experts ? 8
                                                : 1;
  if (wanted.batches.empty())
    wanted.batches = powers(1, 256);
  if (wanted.rows.empty())
    wanted.rows = {256, 1024, 4096};
  return wanted;
}

/// What batonc takes to compile such a replica.
static std::string flags(const ServingSearchOptions &wanted,
                         const ReplicaPlan &plan) {
  std::string mesh;
  auto axis = [&](const char *name, int64_t size) {
    if (size > 1)
      mesh += (mesh.empty() ? "--mesh=" : ",") + std::string(name) + "=" +
              std::to_string(size);
  };
  axis("pp", plan.split.pipeline);
  axis("tp", plan.split.tensor);
  axis("ep", plan.split.expert);
  int64_t longest = 0;
  for (const ServedRequest &request : wanted.trace)
    longest = std::max(longest, request.prompt + request.answer);
  std::string text = mesh + (mesh.empty() ? "" : " ") +
                     "--max-batch=" + std::to_string(plan.max_sequences) +
                     " --max-rows=" + std::to_string(plan.max_rows) +
                     " --max-seq=" + std::to_string(longest);
  return text;
}

static std::string note(const ServingPlan &plan) {
  std::string text;
  if (std::ranges::any_of(plan.pools, [](const Pool &pool) {
        return pool.plan.split.pipeline > 1;
      }))
    text += "batonc's stages take turns at a step yet, where these have parts "
            "of it at the same time: --max-pipeline 1 leaves stages out.\n";
  if (plan.pools.size() > 1)
    text += "batonc's servers do not hand keys and values to each other yet: "
            "--no-disaggregation leaves two pools out.\n";
  return text;
}

static const char *role_of(const ServingPlan &plan, size_t pool) {
  return plan.pools.size() == 1 ? "both" : pool == 0 ? "prompts" : "answers";
}

static std::string text_of_split(const ReplicaSplit &split) {
  return "tp " + std::to_string(split.tensor) + " ep " +
         std::to_string(split.expert) + " pp " + std::to_string(split.pipeline);
}

static std::string limits_text(const Options &options) {
  std::string text;
  if (options.max_ttft > 0)
    text += "first token within " + fixed_text(options.max_ttft, 1) + " ms";
  if (options.max_tpot > 0)
    text += std::string(text.empty() ? "" : ", ") + "tokens " +
            fixed_text(options.max_tpot, 1) + " ms apart";
  if (text.empty())
    return "no limits";
  return text + " for " + fixed_text(options.percentile, 0) +
         " % of the requests";
}

static std::string heading(const Options &options,
                           const ServingSearchOptions &wanted) {
  const std::string what =
      wanted.served
          ? options.model + " on " + std::to_string(options.devices) + " x " +
                wanted.device.name
          : options.step_times + ", " + std::to_string(options.devices) +
                (options.devices == 1 ? " program" : " programs");
  return what + "; " + limits_text(options);
}

static Json to_json(const ServingSearchOptions &wanted,
                    const ReplicaPlan &plan) {
  return {{"tensor", plan.split.tensor},     {"expert", plan.split.expert},
          {"pipeline", plan.split.pipeline}, {"max_batch", plan.max_sequences},
          {"max_rows", plan.max_rows},       {"pages", plan.pages},
          {"flags", flags(wanted, plan)}};
}

static Json to_json(const ServingSearchOptions &wanted,
                    const ServingPlan &plan) {
  Json json = {{"requests_per_s", plan.rate}, {"devices", plan.devices}};
  json["pools"] = Json::array();
  for (size_t at = 0; at < plan.pools.size(); ++at) {
    const Pool &pool = plan.pools[at];
    Json one = to_json(wanted, pool.plan);
    one["role"] = role_of(plan, at);
    one["replicas"] = pool.replicas;
    one["requests_per_s"] = pool.rate;
    json["pools"].push_back(one);
  }
  if (plan.pools.size() > 1)
    json["transfer_s"] = plan.transfer;
  return json;
}

static std::vector<std::vector<std::string>>
plan_rows(const ServingSearchResult &result) {
  std::vector<std::vector<std::string>> rows = {
      {"", "pool", "replicas", "tp", "ep", "pp", "max-batch", "max-rows",
       "pages", "requests/s each", "requests/s", "devices"}};
  auto add = [&](const char *name, const std::optional<ServingPlan> &plan) {
    for (size_t at = 0; plan && at < plan->pools.size(); ++at) {
      const Pool &pool = plan->pools[at];
      rows.push_back({at == 0 ? name : "", role_of(*plan, at),
                      std::to_string(pool.replicas),
                      std::to_string(pool.plan.split.tensor),
                      std::to_string(pool.plan.split.expert),
                      std::to_string(pool.plan.split.pipeline),
                      std::to_string(pool.plan.max_sequences),
                      std::to_string(pool.plan.max_rows),
                      std::to_string(pool.plan.pages), fixed_text(pool.rate, 3),
                      at == 0 ? fixed_text(plan->rate, 3) : "",
                      at == 0 ? std::to_string(plan->devices) : ""});
    }
  };
  add("one pool", result.colocated);
  add("two pools", result.disaggregated);
  return rows;
}

static std::vector<std::vector<std::string>>
front_rows(const ServingSearchOptions &wanted,
           const std::vector<SaturatedReplica> &front) {
  std::vector<std::vector<std::string>> rows = {
      {"tp", "ep", "pp", "max-batch", "max-rows", "tokens/s of a device",
       "between tokens"}};
  for (const SaturatedReplica &replica : front)
    rows.push_back({std::to_string(replica.plan.split.tensor),
                    std::to_string(replica.plan.split.expert),
                    std::to_string(replica.plan.split.pipeline),
                    std::to_string(replica.plan.max_sequences),
                    std::to_string(replica.plan.max_rows),
                    fixed_text(replica.tokens_per_second /
                                   double(replica.plan.split.devices()),
                               1),
                    fixed_text(replica.between * 1e3, 2) + " ms"});
  return rows;
}

/// The first row has the names.
static std::string aligned(const std::vector<std::vector<std::string>> &rows,
                           size_t texts) {
  std::set<size_t> numbers;
  for (size_t column = texts; column < rows[0].size(); ++column)
    numbers.insert(column);
  Table table(numbers);
  for (const std::vector<std::string> &row : rows)
    table.add(row);
  return table.text(0);
}

static std::string counts(const ServingSearchResult &result) {
  return std::to_string(result.settings) + " settings of a replica, " +
         std::to_string(result.simulations) + " played out" +
         (result.complete ? "" : " until you stopped it");
}

static std::string source(const ServingSearchOptions &wanted) {
  if (wanted.served)
    return wanted.device.source;
  return "Steps were measured with " +
         std::to_string(wanted.measured->workers) +
         " workers; half of those of a point are within " +
         percent_text(wanted.measured->spread) + ".";
}

static std::vector<std::vector<std::string>>
played_rows(const Simulation &played) {
  std::vector<std::vector<std::string>> rows = {
      {"milliseconds", "mean", "50 %", "90 %", "99 %"}};
  auto add = [&](const char *name, std::vector<double> values) {
    double mean = 0;
    for (double value : values)
      mean += value / double(values.size());
    rows.push_back({name, fixed_text(mean * 1e3, 2),
                    fixed_text(percentile(values, .5) * 1e3, 2),
                    fixed_text(percentile(values, .9) * 1e3, 2),
                    fixed_text(percentile(values, .99) * 1e3, 2)});
  };
  std::vector<double> first, between, last;
  for (const ServedTimes &request : played.requests) {
    first.push_back(request.to_first());
    last.push_back(request.last_token - request.arrival);
    if (request.tokens > 1)
      between.push_back(request.between());
  }
  add("to the first token", first);
  if (!between.empty())
    add("between tokens", between);
  add("to the last token", last);
  return rows;
}

static Json statistics(std::vector<double> values) {
  double mean = 0;
  for (double value : values)
    mean += value / double(values.size());
  return {{"mean", mean},
          {"p50", percentile(values, .5)},
          {"p90", percentile(values, .9)},
          {"p99", percentile(values, .99)}};
}

static Json to_json(const Simulation &played) {
  std::vector<double> first, between;
  Json requests = Json::array();
  for (const ServedTimes &request : played.requests) {
    first.push_back(request.to_first());
    if (request.tokens > 1)
      between.push_back(request.between());
    requests.push_back({{"arrival", request.arrival},
                        {"first_token", request.first_token},
                        {"last_token", request.last_token},
                        {"tokens", request.tokens}});
  }
  return {{"seconds", played.seconds},
          {"busy", played.busy},
          {"tokens_per_s", double(played.generated_tokens) / played.seconds},
          {"requests_per_s", double(played.requests.size()) / played.seconds},
          {"ttft_s", statistics(first)},
          {"tpot_s", statistics(between)},
          {"mean_running", played.mean_running},
          {"steps", played.steps},
          {"rows", played.rows},
          {"prompt_tokens", played.prompt_tokens},
          {"cached_tokens", played.cached_tokens},
          {"generated_tokens", played.generated_tokens},
          {"guessed_tokens", played.guessed_tokens},
          {"right_guesses", played.right_guesses},
          {"preemptions", played.preemptions},
          {"recomputed_tokens", played.recomputed},
          {"requests", requests}};
}

static std::string summary(const Simulation &played) {
  return std::to_string(played.requests.size()) + " requests in " +
         fixed_text(played.seconds, 3) + " s: " +
         fixed_text(double(played.generated_tokens) / played.seconds, 1) +
         " tokens/s, " + fixed_text(played.mean_running, 1) +
         " texts in a step, " + std::to_string(played.steps) + " steps of " +
         fixed_text(double(played.rows) /
                        double(std::max<int64_t>(played.steps, 1)),
                    1) +
         " rows, " + std::to_string(played.cached_tokens) +
         " tokens of prompts found, " + std::to_string(played.preemptions) +
         " preemptions";
}

/// The times of each request, as points.
static std::string requests_picture(const Simulation &played) {
  std::vector<Point> points;
  for (const ServedTimes &request : played.requests)
    if (request.tokens > 1 && request.to_first() > 0 && request.between() > 0)
      points.push_back({request.to_first() * 1e3, request.between() * 1e3,
                        "came at " + fixed_text(request.arrival, 2) + " s, " +
                            std::to_string(request.tokens) + " tokens",
                        false});
  return points.size() < 2 ? ""
                           : scatter(points, "ms to the first token",
                                     "ms between tokens", Axes::logarithmic);
}

[[noreturn]] static void refuse(const Options &options,
                                const ServingSearchOptions &wanted,
                                const std::string &binding) {
  throw Error((wanted.served ? options.model : options.step_times) +
              " cannot be served so; what binds is " + binding);
}

static void run_simulation(const Options &options,
                           const ServingSearchOptions &wanted) {
  if (wanted.batches.size() != 1 || wanted.rows.size() != 1)
    throw Error("--simulate plays out one setting: give one --max-batch and "
                "one --max-rows");
  std::string binding;
  ServingSearchOptions one = wanted;
  one.most_tensor = one.most_expert = one.most_pipeline = 1;
  if (wanted.served) {
    const ReplicaSplit split = {options.most_tensor,
                                std::max<int64_t>(options.most_expert, 1),
                                options.most_pipeline};
    const std::string why = check_split(*wanted.served, split, wanted.device);
    if (!why.empty())
      throw Error(text_of_split(split) + ": " + why);
    one.most_tensor = split.tensor;
    one.most_expert = split.expert;
    one.most_pipeline = split.pipeline;
    one.devices = split.devices();
  }
  const std::vector<ReplicaPlan> plans = replica_plans(one, binding);
  if (plans.empty() || plans.back().split.devices() != one.most_tensor *
                                                           one.most_expert *
                                                           one.most_pipeline)
    refuse(options, wanted, binding);
  const ReplicaPlan &plan = plans.back();
  const Simulation played = play(wanted, plan, Role::both, wanted.trace);
  if (!options.html.empty())
    write_page(
        options.html, heading(options, wanted),
        {{"Times", summary(played) + ".", html_table(played_rows(played))},
         {"Each request", "Point at one for what it is.",
          requests_picture(played)},
         {"Facts", source(wanted), ""}});
  if (options.json) {
    Json json = to_json(played);
    json["replica"] = to_json(wanted, plan);
    baton::print(text_of(json));
    return;
  }
  baton::print(heading(options, wanted) + "\n\n" +
               aligned(played_rows(played), 1) + summary(played) + "\n" +
               source(wanted) + "\n");
}

static std::string better(const ServingSearchResult &result) {
  if (!result.colocated || !result.disaggregated)
    return "";
  const double part = result.disaggregated->rate / result.colocated->rate;
  return "Two pools, one for prompts and one for answers, serve " +
         fixed_text(part, 2) + " times what one pool does.\n";
}

static void write_html(const Options &options,
                       const ServingSearchOptions &wanted,
                       const ServingSearchResult &result) {
  std::vector<Section> sections = {
      {"Plans",
       better(result) + counts(result) +
           ". For batonc: " + flags(wanted, result.best->pools[0].plan) + ". " +
           note(*result.best),
       html_table(plan_rows(result))}};
  std::vector<Point> points;
  for (const SaturatedReplica &replica : result.front)
    points.push_back(
        {replica.between * 1e3,
         replica.tokens_per_second / double(replica.plan.split.devices()),
         flags(wanted, replica.plan), false});
  sections.push_back(
      {"Speed for one against speed for all",
       "Replicas that always have something to do, than which no other makes "
       "more tokens with a device and has less time between a text's tokens. "
       "Point at one for its flags.",
       (points.size() > 1 ? scatter(points, "ms between tokens",
                                    "tokens/s of a device", Axes::linear)
                          : "") +
           html_table(front_rows(wanted, result.front))});
  sections.push_back({"Facts", source(wanted), ""});
  write_page(options.html, heading(options, wanted), sections);
}

static void run_search(const Options &options, ServingSearchOptions &wanted) {
  if (wanted.limits.to_first < never || wanted.limits.between < never)
    if (wanted.trace.front().arrival == wanted.trace.back().arrival)
      throw Error("all requests of the trace come at once: limits are of "
                  "requests that come one after the other; leave --max-ttft "
                  "and --max-tpot out, or give arrivals");
  ServingSearchResult result;
  {
    std::atomic<bool> stopped = false;
    const Interruptible interruptible(stopped);
    Progress progress("planning", options.quiet);
    wanted.progress = [&](uint64_t done, uint64_t total,
                          const std::string &best) {
      progress.update(done, total, best);
      check_interrupted();
    };
    result = search_serving(wanted);
    if (!result.best && !result.complete)
      check_interrupted();
  }
  if (!result.best)
    refuse(options, wanted, result.binding);
  if (!options.html.empty())
    write_html(options, wanted, result);
  if (options.json) {
    Json json;
    json["best"] = to_json(wanted, *result.best);
    for (const auto &[name, plan] :
         {std::pair("colocated", &result.colocated),
          std::pair("disaggregated", &result.disaggregated)})
      json[name] = *plan ? to_json(wanted, **plan) : Json();
    json["front"] = Json::array();
    for (const SaturatedReplica &replica : result.front) {
      Json one = to_json(wanted, replica.plan);
      one["requests_per_s"] = replica.rate;
      one["tokens_per_s_of_device"] =
          replica.tokens_per_second / double(replica.plan.split.devices());
      one["tpot_s"] = replica.between;
      json["front"].push_back(one);
    }
    json["settings"] = result.settings;
    json["simulations"] = result.simulations;
    json["complete"] = result.complete;
    baton::print(text_of(json));
    return;
  }
  std::string text = heading(options, wanted) + "\n\n" +
                     aligned(plan_rows(result), 2) + better(result) +
                     "\nFor batonc:";
  for (size_t at = 0; at < result.best->pools.size(); ++at)
    text += std::string(" ") +
            (result.best->pools.size() > 1
                 ? std::string(role_of(*result.best, at)) + ": "
                 : std::string()) +
            flags(wanted, result.best->pools[at].plan) +
            (at + 1 < result.best->pools.size() ? ";" : "\n");
  text += note(*result.best);
  text += "\nReplicas that always have something to do:\n" +
          aligned(front_rows(wanted, result.front), 0) + "\n" + counts(result) +
          "\n" + source(wanted) + "\n";
  baton::print(text);
}

namespace {
/// Adds options to a command, in groups. Some are of modelled machines only.
struct Flags {
  CLI::App &command;
  CLI::Option *measured = nullptr;

  CLI::Option *count(const char *name, int64_t &value, int64_t least,
                     const char *what, const char *group) const {
    return command.add_option(name, value, what)
        ->type_name("N")
        ->check(CLI::Range(least, int64_t(1000000000)))
        ->capture_default_str()
        ->group(group);
  }
  CLI::Option *real(const char *name, double &value, double least, double most,
                    const char *what, const char *group) const {
    return command.add_option(name, value, what)
        ->type_name("X")
        ->check(CLI::Range(least, most))
        ->group(group);
  }
  CLI::Option *of_model(CLI::Option *option) const {
    return option->excludes(measured);
  }
};
} // namespace

static constexpr char requests[] = "Requests", limits[] = "Limits",
                      choice[] = "What is chosen of", program[] = "The program";

/// Where steps' times are from.
static void add_sources(Flags &flags, Options &options) {
  CLI::Option *model = flags.command
                           .add_option("--model", options.model,
                                       "a checkpoint folder, or a config.json")
                           ->type_name("DIR");
  flags.measured =
      flags.command
          .add_option("--step-times", options.step_times,
                      "what a program's bench --step-times has written")
          ->type_name("FILE.json")
          ->excludes(model);
  flags.of_model(flags.command
                     .add_option("--device", options.device,
                                 "the devices: a name, or a file")
                     ->type_name("DEVICE")
                     ->capture_default_str());
  flags.command
      .add_option("--devices", options.devices,
                  "how many there are; with --step-times, programs side by "
                  "side on machines alike")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 14))
      ->capture_default_str();
  flags.of_model(
      flags.command
          .add_option("--memory-gb", options.memory,
                      "what may be taken of a device, in 1e9 bytes; 95 % "
                      "of what it has without it")
          ->type_name("X")
          ->check(CLI::Range(1e-3, 1e9)));
}

static void add_requests(const Flags &flags, Options &options) {
  flags.command
      .add_option("--trace", options.trace, "the requests; else they are drawn")
      ->type_name("FILE")
      ->group(requests);
  flags.command
      .add_option("--requests", options.made.requests, "how many are drawn")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1000000)))
      ->capture_default_str()
      ->group(requests);
  flags.real("--rate", options.made.rate, 0, 1e9,
             "requests in a second with --simulate; 0: all at once (1)",
             requests);
  flags.real("--prompt", options.made.prompt.median, 1, 1e8,
             "the median length of prompts, tokens (512)", requests);
  flags.real("--prompt-deviation", options.made.prompt.deviation, 0, 5,
             "standard deviation of its logarithm (0.5)", requests);
  flags.count("--longest-prompt", options.made.prompt.most, 1,
              "longer ones are cut to it", requests);
  flags.real("--answer", options.made.answer.median, 1, 1e8,
             "the median length of answers (128)", requests);
  flags.real("--answer-deviation", options.made.answer.deviation, 0, 5,
             "standard deviation of its logarithm (0.5)", requests);
  flags.count("--longest-answer", options.made.answer.most, 1,
              "longer ones are cut to it", requests);
  flags.count("--prefixes", options.made.prefixes, 0,
              "prompts begin with one of so many texts", requests);
  flags.count("--prefix-length", options.made.prefix_length, 0,
              "tokens of these, before the prompt's own", requests);
  flags.command
      .add_option("--seed", options.made.seed, "what is drawn hangs on it")
      ->type_name("N")
      ->capture_default_str()
      ->group(requests);
}

static void add_choices(const Flags &flags, Options &options) {
  flags.real("--max-ttft", options.max_ttft, 1e-6, 1e12,
             "milliseconds to a request's first token, at most", limits);
  flags.real("--max-tpot", options.max_tpot, 1e-6, 1e12,
             "milliseconds between a request's tokens on average, at most",
             limits);
  flags.real("--percentile", options.percentile, 1, 100,
             "of so large a part of the requests, in percent (90)", limits);
  auto list = [&](const char *name, std::vector<int64_t> &values,
                  const char *what) {
    return flags.command.add_option(name, values, what)
        ->type_name("N,N,...")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
        ->group(choice);
  };
  list("--max-batch", options.batches,
       "sequences of a replica (powers of two up to 256, or those of the "
       "program)");
  list("--max-rows", options.rows,
       "rows of a step (256, 1024, 4096, or powers of two up to those of the "
       "program)");
  flags.of_model(flags.count("--max-tensor", options.most_tensor, 1,
                             "ranks that share each matrix, at most", choice));
  flags.of_model(
      flags.count("--max-expert", options.most_expert, 0,
                  "ranks that share a mixture's experts, at most; 0: 8 of a "
                  "mixture",
                  choice));
  flags.of_model(flags.count("--max-pipeline", options.most_pipeline, 1,
                             "stages, at most", choice));
  flags.of_model(flags.command
                     .add_flag("--no-disaggregation", options.no_disaggregation,
                               "no pools of their own for prompts and answers")
                     ->group(choice));
  flags.command
      .add_flag(
          "--simulate", options.simulate,
          "search nothing: play the requests out as they come, with one "
          "--max-batch, one --max-rows and as many ranks as --max-tensor, "
          "--max-expert and --max-pipeline say")
      ->group(choice);
}

static void add_program(const Flags &flags, Options &options) {
  flags.of_model(flags.real("--weight-bits", options.weight_bits, 1, 32,
                            "of a weight (16)", program));
  flags.of_model(flags.real("--kv-bits", options.kv_bits, 4, 32,
                            "of a number of keys and values (16)", program));
  flags.of_model(flags.real(
      "--expert-imbalance", options.imbalance, 1, 1000,
      "rows of the busiest rank's experts beside the mean (1)", program));
  flags
      .count(
          "--pages", options.pages, 0,
          "pages of keys and values of a measured program, 64 positions each; "
          "0: for all sequences",
          program)
      ->needs(flags.measured);
  flags.count(
      "--max-outputs", options.max_outputs, 0,
      "rows with logits of a step; 0: as many as sequences, and 9 at least",
      program);
  flags.count("--prefill-chunk", options.prefill_chunk, 0,
              "most rows of prompts in a step; 0: all that are left", program);
  flags.real("--step-overhead", options.overhead, 0, 1e9,
             "microseconds of each step beside its own time (0)", program);
  flags.count("--guesses", options.guesses, 0,
              "most tokens that are guessed of a text in a step", program);
  flags.real("--acceptance", options.acceptance, 0, 1,
             "probability that a guess is right, behind right ones (0)",
             program);
  flags.command
      .add_flag("--no-prefix-cache", options.no_prefix_cache,
                "prompts that begin alike share nothing")
      ->group(program);
}

void plan::add_serve_command(CLI::App &app) {
  auto options = std::make_shared<Options>();
  options->made.requests = 400;
  options->made.rate = 1;
  options->made.prompt = {512, .5, 2048};
  options->made.answer = {128, .5, 512};
  CLI::App *command = app.add_subcommand(
      "serve", "finds how to serve most requests a second within limits of "
               "time to the first token and between tokens");
  command->footer(
      "Steps take what a device's facts say (--model, --device), or what a "
      "program's bench has measured on a\nmachine (--step-times). Requests "
      "come from a file (--trace: lines of JSON, or CSV whose first line "
      "names\nthe columns arrival, prompt, answer and perhaps prefix and "
      "prefix_length), or are drawn: lengths are\nlog-normal, arrivals a "
      "Poisson process. Requests, their order and the pattern of their "
      "arrivals stay;\nhow fast they come is what is looked for.\n\nExamples:\n"
      "  ./model bench --weights DIR --step-times times.json\n"
      "  batonc plan serve --step-times times.json --trace day.csv --max-ttft "
      "500 --max-tpot 50\n"
      "  batonc plan serve --step-times times.json --trace day.csv --simulate\n"
      "  batonc plan serve --model ./llama --device h100-80gb --devices 8 "
      "--prompt 2048 --answer 256 \\\n    --max-ttft 1000 --max-tpot 25");
  Flags flags{*command};
  add_sources(flags, *options);
  add_requests(flags, *options);
  add_choices(flags, *options);
  add_program(flags, *options);
  command
      ->add_option("--html", options->html,
                   "a page with pictures of the plans, too")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--quiet", options->quiet, "no progress");
  command->callback([options] {
    if (options->model.empty() && options->step_times.empty())
      throw Error("give --model, or what a program's bench has measured as "
                  "--step-times");
    if (options->guesses > 0 && options->acceptance == 0)
      throw Error("--guesses: guesses that are never right help nobody; give "
                  "--acceptance, which a server's metrics tell");
    if (options->made.prefixes > 0 && options->made.prefix_length == 0)
      throw Error("--prefixes: of how many tokens says --prefix-length");
    ServingSearchOptions wanted = wanted_of(*options);
    if (options->simulate)
      run_simulation(*options, wanted);
    else
      run_search(*options, wanted);
  });
}
