//===- plan.cpp - a plan as check-plan reads it ---------------------------===//

#include "tools/check-plan/plan.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace baton::check;
using nlohmann::json;

int64_t Buffer::address(const Index &logical, int64_t copy) const {
  const size_t last = strides.rank - 1;
  int64_t result = offset + copy * layer_stride;
  Index index = logical;
  if (page) {
    result += index[0] / page * page_stride;
    index[0] %= page;
  }
  for (size_t d = 0; d < strides.rank; ++d)
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

/// What is null is not there.
static const json *find(const json &from, const char *key) {
  auto found = from.find(key);
  return found == from.end() || found->is_null() ? nullptr : &*found;
}

namespace {
/// Reads one program; errors name it, and the part that is read.
class ProgramReader {
public:
  explicit ProgramReader(const json &source) {
    result.name = source.at("name");
    result.max_rows = source.at("max_rows");
    result.max_seq = source.at("max_seq");
    result.max_outputs = source.at("max_outputs");
    if (result.max_rows < 1 || result.max_seq < result.max_rows ||
        result.max_outputs < 1)
      fail("has limits of a step that do not fit together");
    if (const json *mesh = find(source, "mesh"))
      read_mesh(*mesh);
    for (const auto &[name, value] : source.at("storages").items())
      read_storage(name, value);
    for (const json &buffer : source.at("buffers"))
      read_buffer(buffer);
    for (const json &event : source.at("events"))
      read_event(event);
    for (const json &table : source.value("tables", json::array()))
      read_table(table);
    for (const json &segment : source.at("segments"))
      read_segment(segment);
    if (result.phases.empty())
      fail("has no phase");
    part = "'s schedule";
    for (const json &schedule : source.value("schedules", json::array()))
      read_schedule(schedule);
  }

  Program result;

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw Error("program @" + result.name + " " + part + what);
  }

  void begin(const std::string &kind, const std::string &name, size_t number) {
    part = "'s " + kind + "'" + name + "'";
    if (!numbers.emplace(kind + name, uint32_t(number)).second)
      fail(" is there twice");
  }
  uint32_t number(const std::string &kind, const std::string &name) const {
    auto found = numbers.find(kind + name);
    if (found == numbers.end())
      fail(" names '" + name + "', which is not there");
    return found->second;
  }
  /// Which of some texts it is.
  int pick(const std::string &name, std::vector<std::string> names) const {
    auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      fail(" has an unknown word, '" + name + "'");
    return int(found - names.begin());
  }

  Index index(const std::vector<int64_t> &from) const {
    Index index{{}, from.size()};
    if (index.rank > max_dimensions)
      fail(" has more than 8 dimensions");
    std::copy(from.begin(), from.end(), index.at.begin());
    return index;
  }
  Index capacity(const json &from) const {
    return index(from.value("capacity", std::vector<int64_t>()));
  }
  Expression expression(const json &from, size_t dimensions = 0) {
    Expression read(from.is_number() ? std::to_string(from.get<int64_t>())
                                     : from.get<std::string>());
    if (read.dimensions > dimensions)
      fail(" names a coordinate that is not there");
    result.names_past |= read.names_past;
    return read;
  }
  Expressions expressions(const json &list, size_t dimensions = 0) {
    Expressions all;
    for (const json &entry : list)
      all.push_back(expression(entry, dimensions));
    if (all.size() > max_dimensions)
      fail(" has more than 8 dimensions");
    return all;
  }
  /// As many as what they are an index or bound of has dimensions.
  Expressions expressions(const json &list, size_t dimensions, size_t count) {
    Expressions all = expressions(list, dimensions);
    if (all.size() != count)
      fail(text(" has ", all.size(), " numbers, expected ", count));
    return all;
  }

  void read_mesh(const json &mesh) {
    result.axes = mesh.at("names");
    result.sizes = index(mesh.at("sizes"));
    const std::vector<std::string> batch = mesh.at("batch");
    if (result.axes.size() != result.sizes.rank)
      fail("has a mesh of other names than sizes");
    for (size_t axis = 0; axis < result.axes.size(); ++axis) {
      const std::string &name = result.axes[axis];
      if (result.sizes[axis] < 1 || volume(result.sizes) > 1024)
        fail("has a mesh of no rank, or of more than 1024");
      result.batch.push_back(std::count(batch.begin(), batch.end(), name) > 0);
      numbers.emplace("axis " + name, uint32_t(axis));
    }
  }

  void read_storage(const std::string &name, const json &value) {
    begin("storage ", name, result.storages.size());
    Storage &storage = result.storages.emplace_back();
    storage.name = name;
    storage.bytes = value.is_number() ? value : value.at("bytes");
    if (value.is_number())
      return;
    storage.scope = Storage::Scope(pick(value.value("scope", "transient"),
                                        {"transient", "rank", "stage"}));
    storage.slot = value.value("slot", "");
    pick(storage.slot, {"", "flight", "microbatch", "chunk"});
  }

  void read_buffer(const json &from) {
    Buffer buffer;
    buffer.name = from.at("name");
    begin("buffer ", buffer.name, result.buffers.size());
    buffer.kind = Buffer::Kind(
        pick(from.at("kind"), {"transient", "state", "input", "persistent"}));
    if (const json *carry = find(from, "carry"))
      buffer.carry =
          Buffer::Carry(pick(*carry, {"", "kept", "renewed", "shared"}));
    buffer.element_bytes = from.at("element_bytes");
    buffer.extents = expressions(from.at("extents"));
    buffer.capacity = index(from.at("capacity"));
    buffer.strides.rank = buffer.capacity.rank;
    for (size_t d = 0; d < buffer.strides.rank; ++d)
      buffer.strides[d] = volume(buffer.capacity, d + 1);
    if (auto strides = from.find("strides"); strides != from.end())
      buffer.strides = index(*strides);
    buffer.offset = from.value("offset", int64_t(0));
    buffer.layers = from.value("layers", int64_t(1));
    buffer.layer_stride = from.value("layer_stride", int64_t(0));
    buffer.ring = from.value("ring", false);
    buffer.interleave = from.value("interleave", int64_t(1));
    buffer.interleave_columns = from.value("interleave_columns", int64_t(1));
    buffer.page = from.value("page", int64_t(0));
    buffer.page_stride = from.value("page_stride", int64_t(0));
    check_shape(buffer);
    const json *storage = find(from, "storage");
    buffer.storage =
        storage ? number("storage ", *storage) : own_storage(buffer);
    result.buffers.push_back(std::move(buffer));
  }

  void check_shape(const Buffer &buffer) const {
    const size_t rank = buffer.capacity.rank;
    bool possible = rank > 0 && buffer.extents.size() == rank &&
                    buffer.strides.rank == rank && buffer.offset >= 0 &&
                    buffer.layer_stride >= 0 && buffer.page >= 0 &&
                    buffer.page_stride >= 0 &&
                    (buffer.page != 0) == (buffer.page_stride != 0);
    auto demand = [&](int64_t number) {
      possible &= number >= 1 && number <= int64_t(1) << 40;
    };
    __int128 end =
        buffer.offset + __int128(buffer.layers) * buffer.layer_stride;
    for (size_t d = 0; d < rank; ++d) {
      demand(buffer.capacity[d]);
      demand(buffer.strides[d]);
      end += __int128(buffer.capacity[d]) * buffer.strides[d];
    }
    if (buffer.page)
      end +=
          (__int128(buffer.capacity[0]) / buffer.page + 1) * buffer.page_stride;
    for (int64_t number : {buffer.element_bytes, buffer.layers,
                           buffer.interleave, buffer.interleave_columns})
      demand(number);
    if (!possible)
      fail(" has a shape that none can have");
    if (end * buffer.element_bytes > int64_t(1) << 50 ||
        buffer.layers > 1 << 20)
      fail(" is larger than any memory");
  }

  /// Of a buffer that nobody has given memory yet.
  uint32_t own_storage(const Buffer &buffer) {
    const Index last = unflatten(volume(buffer.capacity) - 1, buffer.capacity);
    const int64_t end = buffer.address(last, buffer.layers - 1) + 1;
    result.storages.push_back({"@" + buffer.name, end * buffer.element_bytes,
                               buffer.kind == Buffer::Kind::Transient
                                   ? Storage::Scope::Transient
                                   : Storage::Scope::Rank,
                               ""});
    return uint32_t(result.storages.size() - 1);
  }

  void read_event(const json &from) {
    Event event;
    event.name = from.at("name");
    begin("event ", event.name, result.events.size());
    event.shape = expressions(from.at("shape"));
    event.capacity = capacity(from);
    if (event.capacity.rank && event.capacity.rank != event.shape.size())
      fail(" has another capacity than shape");
    event.count = expression(from.at("count"));
    event.system =
        pick(from.value("scope", "device"), {"device", "system"}) == 1;
    result.events.push_back(std::move(event));
  }

  void read_table(const json &from) {
    Table table;
    table.buffer = number("buffer ", from.at("buffer"));
    const Buffer &buffer = result.buffers[table.buffer];
    begin("table ", buffer.name, result.tables.size());
    if (buffer.extents.size() != 1)
      fail(" has not one dimension");
    table.low = expression(from.at("low"));
    table.high = expression(from.at("high"));
    table.property = Table::Property(
        pick(from.value("property", "any"), {"any", "distinct", "partition"}));
    result.tables.push_back(std::move(table));
  }

  void read_segment(const json &from) {
    Segment &segment = result.segments.emplace_back();
    segment.name = from.at("name");
    segment.repeat = from.value("repeat", int64_t(1));
    segment.reverse = from.value("reverse", false);
    part = "'s segment '" + segment.name + "'";
    if (segment.repeat < 1 || segment.repeat > 1 << 20)
      fail(" repeats less than once, or too often");
    for (const json &phase : from.at("phases")) {
      segment.phases.push_back(uint32_t(result.phases.size()));
      result.phases.push_back(read_phase(phase));
    }
  }

  Phase read_phase(const json &from) {
    Phase phase;
    phase.name = from.at("name");
    begin("phase ", phase.name, result.phases.size());
    phase.segment = uint32_t(result.segments.size() - 1);
    phase.grid = expressions(from.at("grid"));
    const size_t rank = phase.grid.size();
    phase.capacity = capacity(from);
    const auto distribution = pick(from.value("distribution", "blocked"),
                                   {"blocked", "cyclic", "ticket"});
    phase.cyclic = distribution == 1;
    phase.ticket = distribution == 2;
    phase.tile_rows = rank ? phase.grid[0] : Expression("1");
    if (auto tiles = from.find("row_tiles"); tiles != from.end()) {
      phase.tile_rows = expression(tiles->at("rows"));
      phase.tile_size = tiles->at("size");
    }
    if (phase.tile_size < 1)
      fail(" has tiles of no row");
    phase.ahead = from.value("ahead", false);
    for (const json &entry : from.value("entries", json::array()))
      phase.entries.push_back({number("table ", entry.at("table")),
                               expression(entry.at("place"), rank)});
    const size_t dimensions = rank + phase.entries.size();
    if (dimensions > max_dimensions)
      fail(" has more than 8 coordinates and entries");
    for (const json &access : from.at("accesses"))
      phase.accesses.push_back(read_access(access, dimensions));
    for (const json &wait : from.value("waits", json::array()))
      phase.waits.push_back(read_wait(wait, rank));
    if (const json *notify = find(from, "notify")) {
      phase.notifies = number("event ", notify->at("event"));
      Event &event = result.events[*phase.notifies];
      if (event.notifier)
        fail(" notifies @" + event.name + ", which another phase does");
      event.notifier = uint32_t(result.phases.size());
      phase.word = expressions(notify->at("index"), rank, event.shape.size());
    }
    if (const json *body = find(from, "body"))
      read_body(*body, phase);
    return phase;
  }

  Access read_access(const json &from, size_t rank) {
    Access access;
    access.write = from.at("write");
    access.may = from.value("may", false);
    if (const json *flag = find(from, "if")) {
      number("buffer ", *flag);
      access.conditional = true;
    }
    access.buffer = number("buffer ", from.at("buffer"));
    const size_t count = result.buffers[access.buffer].extents.size();
    access.low = expressions(from.at("low"), rank, count);
    access.high = expressions(from.at("high"), rank, count);
    return access;
  }

  Wait read_wait(const json &from, size_t rank) {
    Wait wait;
    wait.event = number("event ", from.at("event"));
    wait.distance = from.value("distance", int64_t(0));
    if (wait.distance < 0 || wait.distance > 1)
      fail(" waits at another distance than 0 or 1");
    const size_t count = result.events[wait.event].shape.size();
    wait.low = expressions(from.at("low"), rank, count);
    wait.high = expressions(from.at("high"), rank, count);
    return wait;
  }

  void read_body(const json &body, Phase &phase) {
    if (const json *buffer = find(body, "advance"))
      phase.advances = number("buffer ", *buffer);
    if (const json *from = find(body, "exchange")) {
      Exchange &exchange = phase.exchange.emplace();
      const size_t kind = pick(from->at("kind"), {"all_to_all", "all_gather",
                                                  "dispatch", "combine"});
      exchange.gathers = kind == 1;
      exchange.dispatches = kind == 2;
      exchange.combines = kind == 3;
      if (kind > 1) {
        const uint32_t buffer = number("buffer ", from->at("by").at(2));
        const auto found = std::find_if(
            result.tables.begin(), result.tables.end(),
            [&](const Table &table) { return table.buffer == buffer; });
        if (found == result.tables.end())
          fail(" exchanges rows by @" + result.buffers[buffer].name +
               ", which is no table");
        exchange.received = uint32_t(found - result.tables.begin());
      }
      for (const json &axis : from->at("axes"))
        exchange.axes.push_back(number("axis ", axis));
      for (const json &transfer : from->at("transfers"))
        exchange.transfers.push_back({number("buffer ", transfer.at("send")),
                                      number("buffer ", transfer.at("receive")),
                                      expression(transfer.at("elements")),
                                      expression(transfer.at("part"))});
    }
    if (const json *from = find(body, "message")) {
      Message &message = phase.message.emplace();
      message.sends = pick(from->at("direction"), {"receive", "send"}) == 1;
      message.direction = pick(from->at("peer"), {"previous", "next"}) ? 1 : -1;
      message.axis = number("axis ", from->at("axis"));
      message.channel = from->at("channel");
      for (const json &tensor : from->at("tensors"))
        message.tensors.push_back(number("buffer ", tensor));
    }
  }

  void read_schedule(const json &from) {
    Schedule &schedule = result.schedules.emplace_back();
    schedule.symbols = {from.at("rows"), from.at("past"), from.at("outputs")};
    for (const json &list : from.at("workers")) {
      auto &tasks = schedule.workers.emplace_back();
      for (const json &task : list)
        tasks.push_back({number("phase ", task.at("phase")),
                         task.at("iteration"), index(task.at("coordinates"))});
    }
    if (schedule.workers.empty())
      fail(" has no worker");
  }

  std::string part;
  /// Of what has a name, by its kind and that.
  std::map<std::string, uint32_t> numbers;
};
} // namespace

static Call read_call(const json &from, const Plan &plan) {
  const int64_t program = from.at("program");
  if (program < 0 || size_t(program) >= plan.programs.size())
    throw Error(text("a rank runs program ", program, ", which is not there"));
  const json *microbatch = find(from, "microbatch");
  return {uint32_t(program), from.value("chunk", int64_t(0)),
          microbatch ? microbatch->get<int64_t>() : 0,
          from.value("slot", int64_t(0))};
}

static void read_places(const json &step, Plan &plan) {
  plan.axis = step.at("axis");
  for (const json &place : step.at("places")) {
    std::vector<Call> &calls = plan.places.emplace_back();
    for (const json &call : place)
      calls.push_back(read_call(call, plan));
    if (calls.empty())
      throw Error("a place of axis " + plan.axis + " runs no program");
  }
  const Program &first = plan.programs[0];
  const size_t axis =
      std::find(first.axes.begin(), first.axes.end(), plan.axis) -
      first.axes.begin();
  for (const Program &program : plan.programs)
    if (axis == first.axes.size() ||
        size_t(first.sizes[axis]) != plan.places.size() ||
        program.axes != first.axes || program.sizes != first.sizes)
      throw Error("program @" + program.name + " has no axis '" + plan.axis +
                  "' of as many ranks as there are places, or another mesh");
}

Plan baton::check::parse_plan(const json &source) {
  try {
    if (source.at("format") != 1)
      throw Error("the plan is of another format than 1");
    Plan plan;
    plan.training = source.value("training", false);
    for (const json &program : source.at("programs"))
      plan.programs.push_back(std::move(ProgramReader(program).result));
    if (plan.programs.empty())
      throw Error("the plan has no program");
    if (const json *step = find(source, "step"))
      read_places(*step, plan);
    return plan;
  } catch (const json::exception &failure) {
    throw Error(std::string("this is no plan: ") + failure.what());
  }
}
