//===- plan.cpp - a plan as check-plan reads it ---------------------------===//

#include "tools/check-plan/plan.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace baton::check;
using nlohmann::json;

int64_t Buffer::address(const int64_t *index, int64_t copy) const {
  const size_t last = strides.size() - 1;
  int64_t result = offset + copy * layer_stride;
  for (size_t d = 0; d < strides.size(); ++d)
    if (interleave == 1 || (d > 0 && (d < last || interleave_columns == 1)))
      result += index[d] * strides[d];
  if (interleave == 1)
    return result;
  const int64_t n = interleave, m = interleave_columns, row = index[0] % n;
  result += index[0] / n * n * strides[0];
  if (m == 1)
    return result + row;
  const int64_t column = index[last];
  const int64_t width = std::min(m, capacity[last] - column / m * m);
  return result + column / m * m * n + row * width + column % m;
}

namespace {
using Names = std::map<std::string, uint32_t>;

/// Reads one program; errors name it.
class ProgramReader {
public:
  explicit ProgramReader(const json &source) : source(source) {}

  Program read() {
    result.name = source.at("name");
    result.max_rows = source.at("max_rows");
    result.max_seq = source.at("max_seq");
    result.max_outputs = source.at("max_outputs");
    if (result.max_rows < 1 || result.max_seq < result.max_rows ||
        result.max_outputs < 1)
      fail("has limits of a step that do not fit together");
    read_mesh();
    read_storages();
    for (const json &buffer : source.at("buffers"))
      read_buffer(buffer);
    for (const json &event : source.at("events"))
      read_event(event);
    for (const json &segment : source.at("segments"))
      read_segment(segment);
    if (result.phases.empty())
      fail("has no phase");
    if (auto schedules = source.find("schedules"); schedules != source.end())
      for (const json &schedule : *schedules)
        read_schedule(schedule);
    return std::move(result);
  }

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("program @" + result.name + " " + what);
  }

  uint32_t look_up(const Names &names, const json &name,
                   const std::string &what) const {
    auto found = names.find(name.get<std::string>());
    if (found == names.end())
      fail(what + " names '" + name.get<std::string>() +
           "', which is not there");
    return found->second;
  }

  static Expression expression(const json &text) {
    return Expression(text.is_number() ? std::to_string(text.get<int64_t>())
                                       : text.get<std::string>());
  }

  /// So many, unless `count` is negative; they name `dimensions` coordinates.
  Expressions expressions(const json &list, int64_t count, size_t dimensions,
                          const std::string &what) const {
    Expressions all;
    for (const json &text : list) {
      all.push_back(expression(text));
      if (all.back().dimensions() > dimensions)
        fail(what + " names a coordinate that is not there");
    }
    if (count >= 0 && all.size() != size_t(count))
      fail(what + " has " + std::to_string(all.size()) + " numbers, expected " +
           std::to_string(count));
    if (all.size() > max_dimensions)
      fail(what + " has more than 8 dimensions");
    return all;
  }

  void read_mesh() {
    auto mesh = source.find("mesh");
    if (mesh == source.end() || mesh->is_null())
      return;
    result.axes = mesh->at("names").get<std::vector<std::string>>();
    result.sizes = mesh->at("sizes").get<std::vector<int64_t>>();
    auto batch = mesh->at("batch").get<std::vector<std::string>>();
    int64_t ranks = 1;
    for (int64_t size : result.sizes)
      if (size < 1 || (ranks *= size) > 1024)
        fail("has a mesh of no rank, or of more than 1024");
    if (result.axes.size() != result.sizes.size())
      fail("has a mesh of other names than sizes");
    for (const std::string &axis : result.axes)
      result.batch.push_back(std::count(batch.begin(), batch.end(), axis) > 0);
  }

  void read_storages() {
    for (const auto &[name, value] : source.at("storages").items()) {
      Storage storage;
      storage.name = name;
      storage.bytes = value.is_number() ? value : value.at("bytes");
      std::string scope = value.is_number() ? "" : value.value("scope", "");
      storage.slot = value.is_number() ? "" : value.value("slot", "");
      storage.scope = scope == "rank"    ? Storage::Scope::Rank
                      : scope == "stage" ? Storage::Scope::Stage
                                         : Storage::Scope::Transient;
      storages[name] = uint32_t(result.storages.size());
      result.storages.push_back(std::move(storage));
    }
  }

  void read_buffer(const json &json) {
    Buffer buffer;
    buffer.name = json.at("name");
    const std::string what = "'s buffer @" + buffer.name;
    std::string kind = json.at("kind");
    buffer.kind = kind == "state"        ? Buffer::Kind::State
                  : kind == "input"      ? Buffer::Kind::Input
                  : kind == "persistent" ? Buffer::Kind::Persistent
                                         : Buffer::Kind::Transient;
    if (buffer.kind == Buffer::Kind::Transient && kind != "transient")
      fail(what + " is of an unknown kind, " + kind);
    std::string carry = json.contains("carry") && json["carry"].is_string()
                            ? json["carry"]
                            : "";
    buffer.carry = carry == "kept"      ? Buffer::Carry::Kept
                   : carry == "renewed" ? Buffer::Carry::Renewed
                   : carry == "shared"  ? Buffer::Carry::Shared
                                        : Buffer::Carry::Step;
    if (buffer.carry == Buffer::Carry::Step && !carry.empty())
      fail(what + " has an unknown carry, " + carry);
    buffer.element_bytes = json.at("element_bytes");
    buffer.extents = expressions(json.at("extents"), -1, 0, what);
    buffer.capacity = json.at("capacity").get<std::vector<int64_t>>();
    const size_t rank = buffer.extents.size();
    if (auto strides = json.find("strides"); strides != json.end()) {
      buffer.strides = strides->get<std::vector<int64_t>>();
    } else {
      buffer.strides.assign(rank, 1);
      for (size_t d = rank; d-- > 1 && buffer.capacity.size() == rank;)
        buffer.strides[d - 1] = buffer.strides[d] * buffer.capacity[d];
    }
    buffer.offset = json.value("offset", int64_t(0));
    buffer.layers = json.value("layers", int64_t(1));
    buffer.layer_stride = json.value("layer_stride", int64_t(0));
    buffer.ring = json.value("ring", false);
    buffer.interleave = json.value("interleave", int64_t(1));
    buffer.interleave_columns = json.value("interleave_columns", int64_t(1));
    auto positive = [](const std::vector<int64_t> &numbers) {
      return std::all_of(numbers.begin(), numbers.end(), [](int64_t number) {
        return number >= 1 && number <= int64_t(1) << 40;
      });
    };
    if (rank == 0 || buffer.capacity.size() != rank ||
        buffer.strides.size() != rank || !positive(buffer.capacity) ||
        !positive(buffer.strides) || buffer.offset < 0 ||
        buffer.layer_stride < 0 ||
        !positive({buffer.element_bytes, buffer.layers, buffer.interleave,
                   buffer.interleave_columns}))
      fail(what + " has a shape that none can have");
    __int128 end =
        buffer.offset + __int128(buffer.layers) * buffer.layer_stride;
    for (size_t d = 0; d < rank; ++d)
      end += __int128(buffer.capacity[d]) * buffer.strides[d];
    if (end * buffer.element_bytes > int64_t(1) << 50 ||
        buffer.layers > 1 << 20)
      fail(what + " is larger than any memory");
    auto storage = json.find("storage");
    buffer.storage = storage == json.end() || storage->is_null()
                         ? own_storage(buffer)
                         : look_up(storages, *storage, what);
    if (!buffers.emplace(buffer.name, result.buffers.size()).second)
      fail(what + " is there twice");
    result.buffers.push_back(std::move(buffer));
  }

  /// Of a buffer that nobody has given memory yet.
  uint32_t own_storage(const Buffer &buffer) {
    std::vector<int64_t> last;
    for (int64_t extent : buffer.capacity)
      last.push_back(extent - 1);
    Storage storage;
    storage.name = "@" + buffer.name;
    storage.bytes = (buffer.address(last.data(), buffer.layers - 1) + 1) *
                    buffer.element_bytes;
    storage.scope = buffer.kind == Buffer::Kind::Transient
                        ? Storage::Scope::Transient
                        : Storage::Scope::Rank;
    result.storages.push_back(std::move(storage));
    return uint32_t(result.storages.size() - 1);
  }

  void read_event(const json &json) {
    Event event;
    event.name = json.at("name");
    const std::string what = "'s event @" + event.name;
    event.shape = expressions(json.at("shape"), -1, 0, what);
    if (json.contains("capacity"))
      event.capacity = json["capacity"].get<std::vector<int64_t>>();
    if (!event.capacity.empty() && event.capacity.size() != event.shape.size())
      fail(what + " has another capacity than shape");
    event.count = expression(json.at("count"));
    event.system = json.value("scope", "device") == "system";
    if (!events.emplace(event.name, result.events.size()).second)
      fail(what + " is there twice");
    result.events.push_back(std::move(event));
  }

  void read_segment(const json &json) {
    Segment segment;
    segment.name = json.at("name");
    segment.repeat = json.value("repeat", int64_t(1));
    segment.reverse = json.value("reverse", false);
    if (segment.repeat < 1 || segment.repeat > 1 << 20)
      fail("'s segment " + segment.name +
           " repeats less than once, or too "
           "often");
    result.segments.push_back(std::move(segment));
    for (const auto &phase : json.at("phases"))
      read_phase(phase);
  }

  void read_phase(const json &json) {
    Phase phase;
    phase.name = json.at("name");
    const std::string what = "'s phase '" + phase.name + "'";
    phase.segment = uint32_t(result.segments.size() - 1);
    phase.grid = expressions(json.at("grid"), -1, 0, what);
    const size_t rank = phase.grid.size();
    if (json.contains("capacity"))
      phase.capacity = json["capacity"].get<std::vector<int64_t>>();
    phase.cyclic = json.value("distribution", "blocked") == "cyclic";
    if (auto tiles = json.find("row_tiles"); tiles != json.end()) {
      phase.tile_rows = expression(tiles->at("rows"));
      phase.tile_size = tiles->at("size");
    } else {
      phase.tile_rows = rank ? phase.grid[0] : Expression("1");
    }
    if (phase.tile_size < 1)
      fail(what + " has tiles of no row");
    phase.ahead = json.value("ahead", false);
    for (const auto &access : json.at("accesses"))
      read_access(access, rank, what, phase);
    if (auto waits = json.find("waits"); waits != json.end())
      for (const auto &wait : *waits) {
        Wait &added = phase.waits.emplace_back();
        added.event = look_up(events, wait.at("event"), what);
        added.distance = wait.value("distance", int64_t(0));
        const int64_t count = result.events[added.event].shape.size();
        added.low = expressions(wait.at("low"), count, rank, what);
        added.high = expressions(wait.at("high"), count, rank, what);
        if (added.distance < 0 || added.distance > 1)
          fail(what + " waits at another distance than 0 or 1");
      }
    read_notification(json, rank, what, phase);
    if (auto body = json.find("body"); body != json.end())
      read_body(*body, what, phase);
    const uint32_t number = uint32_t(result.phases.size());
    if (!phases.emplace(phase.name, number).second)
      fail(what + " is there twice");
    result.segments.back().phases.push_back(number);
    result.phases.push_back(std::move(phase));
  }

  void read_access(const json &json, size_t rank, const std::string &what,
                   Phase &phase) {
    Access &access = phase.accesses.emplace_back();
    access.write = json.at("write");
    access.may = json.value("may", false);
    if (auto flag = json.find("if"); flag != json.end() && !flag->is_null()) {
      look_up(buffers, *flag, what);
      access.conditional = true;
    }
    access.buffer = look_up(buffers, json.at("buffer"), what);
    const int64_t count = result.buffers[access.buffer].extents.size();
    access.low = expressions(json.at("low"), count, rank, what);
    access.high = expressions(json.at("high"), count, rank, what);
  }

  void read_notification(const json &json, size_t rank, const std::string &what,
                         Phase &phase) {
    auto notify = json.find("notify");
    if (notify == json.end() || notify->is_null())
      return;
    phase.notifies = look_up(events, notify->at("event"), what);
    Event &event = result.events[*phase.notifies];
    if (event.notifier)
      fail(what + " notifies @" + event.name + ", which another phase does");
    event.notifier = uint32_t(result.phases.size());
    phase.word =
        expressions(notify->at("index"), event.shape.size(), rank, what);
  }

  uint32_t axis(const json &name, const std::string &what) const {
    for (uint32_t i = 0; i < result.axes.size(); ++i)
      if (result.axes[i] == name.get<std::string>())
        return i;
    fail(what + " is over '" + name.get<std::string>() +
         "', which is no axis of the mesh");
  }

  void read_body(const json &body, const std::string &what, Phase &phase) {
    if (auto found = body.find("advance"); found != body.end())
      phase.advances = look_up(buffers, *found, what);
    if (auto found = body.find("exchange"); found != body.end()) {
      Exchange exchange;
      std::string kind = found->at("kind");
      exchange.gathers = kind == "all_gather";
      if (!exchange.gathers && kind != "all_to_all")
        fail(what + " has an unknown exchange, " + kind);
      for (const json &name : found->at("axes"))
        exchange.axes.push_back(axis(name, what));
      for (const json &transfer : found->at("transfers"))
        exchange.transfers.push_back(
            {look_up(buffers, transfer.at("send"), what),
             look_up(buffers, transfer.at("receive"), what),
             expression(transfer.at("elements")),
             expression(transfer.at("part"))});
      phase.exchange = std::move(exchange);
    }
    if (auto found = body.find("message"); found != body.end()) {
      Message message;
      message.sends = found->at("direction") == "send";
      message.direction = found->at("peer") == "next" ? 1 : -1;
      message.axis = axis(found->at("axis"), what);
      message.channel = found->at("channel");
      for (const json &tensor : found->at("tensors"))
        message.tensors.push_back(look_up(buffers, tensor, what));
      phase.message = std::move(message);
    }
  }

  void read_schedule(const json &json) {
    Schedule schedule;
    schedule.symbols = {json.at("rows"), json.at("past"), json.at("outputs")};
    for (const auto &list : json.at("workers")) {
      auto &tasks = schedule.workers.emplace_back();
      for (const auto &task : list)
        tasks.push_back({look_up(phases, task.at("phase"), "'s schedule"),
                         task.at("iteration"), task.at("coordinates")});
    }
    if (schedule.workers.empty())
      fail("'s schedule has no worker");
    result.schedules.push_back(std::move(schedule));
  }

  const json &source;
  Program result;
  Names storages, buffers, events, phases;
};
} // namespace

static void read_places(const json &step, Plan &plan) {
  plan.axis = step.at("axis");
  for (const json &place : step.at("places")) {
    std::vector<Call> &calls = plan.places.emplace_back();
    for (const json &entry : place) {
      Call call;
      int64_t program = entry.at("program");
      if (program < 0 || size_t(program) >= plan.programs.size())
        throw Error("a rank runs program " + std::to_string(program) +
                    ", which is not there");
      call.program = uint32_t(program);
      call.chunk = entry.value("chunk", int64_t(0));
      if (auto found = entry.find("microbatch");
          found != entry.end() && !found->is_null())
        call.microbatch = *found;
      call.slot = entry.value("slot", int64_t(0));
      calls.push_back(call);
    }
    if (calls.empty())
      throw Error("a place of axis " + plan.axis + " runs no program");
  }
  for (const Program &program : plan.programs) {
    const auto found =
        std::find(program.axes.begin(), program.axes.end(), plan.axis);
    if (found == program.axes.end() ||
        size_t(program.sizes[found - program.axes.begin()]) !=
            plan.places.size() ||
        program.axes != plan.programs[0].axes ||
        program.sizes != plan.programs[0].sizes)
      throw Error("program @" + program.name + " has no axis '" + plan.axis +
                  "' of as many ranks as there are places, or another mesh");
  }
}

Plan baton::check::parse_plan(const json &source) {
  try {
    if (source.at("format") != 1)
      throw Error("the plan is of another format than 1");
    Plan plan;
    plan.training = source.value("training", false);
    for (const json &program : source.at("programs"))
      plan.programs.push_back(ProgramReader(program).read());
    if (plan.programs.empty())
      throw Error("the plan has no program");
    if (auto step = source.find("step");
        step != source.end() && !step->is_null())
      read_places(*step, plan);
    return plan;
  } catch (const json::exception &failure) {
    throw Error(std::string("this is no plan: ") + failure.what());
  }
}
