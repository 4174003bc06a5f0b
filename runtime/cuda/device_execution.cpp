//===- device_execution.cpp - a program that runs on a device -------------===//

#include "runtime/cuda/device_execution.h"

#include "runtime/comm/job_end.h"
#include "runtime/comm/shards.h"
#include "runtime/decode/generation.h"
#include "runtime/error.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <stdexcept>

/// By batonc: of each program what the host does in a step, or null in a
/// program of one rank.
extern "C" void (*const baton_host_programs[])(baton::HostStep &);

namespace baton {

static_assert(sizeof(BatonDeviceStep) == sizeof(BatonStep));

namespace {

BatonDeviceStep to_device(const BatonStep &step) {
  return {step.rows, step.past, step.outputs, 0};
}
BatonStep to_host(const BatonDeviceStep &step) {
  return {step.rows, step.past, step.outputs, 0};
}

int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

DeviceExecution::DeviceExecution(const Metadata &metadata,
                                 const Parameters &parameters,
                                 const ExecutionOptions &options,
                                 std::shared_ptr<Device> given)
    : Execution(metadata, options), device(std::move(given)),
      launches_graph(metadata.device.at("launch") == "graph"),
      worker_count(options.workers ? options.workers : device->usual_workers()),
      event_origin(options.event_origin) {
  if (worker_count > device->most_workers())
    throw Error("--workers: " + std::to_string(worker_count) +
                " blocks do not "
                "run at the same time on " +
                device->name() + ", at most " +
                std::to_string(device->most_workers()) + " do");
  const std::set<size_t> paged(options.paged.storages.begin(),
                               options.paged.storages.end());
  uint64_t left = options.paged.most;
  for (const StorageDescription &storage : metadata.storages) {
    const uint64_t bytes = std::max<uint64_t>(1, storage.bytes_of(pages()));
    const std::string what = "storage \"" + storage.name + "\"";
    // The host writes inputs, and reads what was drawn, while the kernel waits
    // for its answer.
    bool is_shared =
        metadata.batch && metadata.batch->shares(storage_pointers.size());
    // Kernels read and write what does not fit where it lies, in the host's
    // memory.
    if (paged.contains(storage_pointers.size())) {
      is_shared = bytes > left;
      left -= is_shared ? 0 : bytes;
    }
    storage_pointers.push_back(is_shared ? device->share(bytes, what)
                                         : device->allocate(bytes, what));
  }
  if (metadata.batch)
    step_inputs = batch_inputs(*metadata.batch, storage_pointers.data());
  auto *table = allocate<void *>(std::max<size_t>(1, storage_pointers.size()),
                                 "the table of storages");
  device->write(table, storage_pointers.data(),
                storage_pointers.size() * sizeof(void *));
  if (communicator)
    for (const PlaceNumbers &place :
         numbers_of(metadata.json.value("places", nlohmann::json()),
                    communicator->mesh(), communicator->rank()))
      device->write(storage_pointers.at(place.storage), place.numbers.data(),
                    place.numbers.size() * sizeof(int32_t));
  upload_parameters(parameters, options.progress);
  // The token sampled from the last position is stored, never computed on.
  tokens = static_cast<int32_t *>(device->share(
      (uint64_t(metadata.max_seq) + 1) * sizeof(int32_t), "token ids"));
  exchange = static_cast<BatonHostExchange *>(
      device->share(sizeof(BatonHostExchange), "the exchange with the host"));

  state.storages = table;
  state.tokens = tokens;
  if (!launches_graph) {
    uint64_t words = std::max<uint64_t>(1, metadata.event_words);
    state.events =
        allocate<uint32_t>(words * BATON_DEVICE_WORD_STRIDE, "event words");
    state.bases = allocate<uint32_t>(words * worker_count, "bases of events");
  }
  uint64_t scratch = 0;
  for (const nlohmann::json &kernel : metadata.device.at("kernels"))
    if (!kernel.at("scratch_is_shared").get<bool>())
      scratch = std::max(scratch, kernel.at("scratch_bytes").get<uint64_t>());
  if (scratch)
    state.scratch = allocate<unsigned char>(scratch * worker_count, "scratch");
  progress = static_cast<BatonProgress *>(
      device->share(sizeof(BatonProgress), "the progress of a generation"));
  state.exchange = exchange;
  state.progress = progress;
  state.failure = allocate<BatonFailure>(1, "the report of a failure");
  state.wait_nanoseconds = device->wait_nanoseconds();
  program = allocate<BatonDevice>(1, "the program's description");
  if (metadata.device.contains("cublaslt"))
    prepare_products();
  if (communicator)
    exchanges = std::make_unique<DeviceExchanges>(
        *communicator, device, storage_pointers, baton_host_programs[0],
        metadata.device.value("nccl_multiprocessors", 0u));
  if (exchanges && exchanges->overlap()) {
    // Tasks wait for other ranks, of which the host finds those that are late.
    state.wait_nanoseconds = std::max<uint64_t>(
        state.wait_nanoseconds,
        2 * std::chrono::nanoseconds(communicator->timeout()).count());
    exchanges->serve = [this] { answer_question(); };
  }
  if (launches_graph)
    device->prepare_steps(worker_count, program);
  for (const ProgramDescription &description : metadata.programs)
    if (description.logits)
      logits.resize(std::max<size_t>(logits.size(), description.logits->stride *
                                                        metadata.max_outputs));
}

DeviceExecution::~DeviceExecution() {
  stop = true;
  if (server.joinable())
    server.join();
  // What is left on the stream uses the exchanges: the device, which ends it,
  // has to go before them.
  device.reset();
}

/// Each piece of memory that parameters lie in moves as one.
void DeviceExecution::upload_parameters(
    const Parameters &parameters,
    const std::function<void(uint64_t done, uint64_t total)> &progress) {
  struct Copy {
    std::span<const std::byte> host;
    const std::byte *device;
  };
  std::vector<Copy> copies;
  uint64_t total = 0, before = 0;
  for (std::span<const std::byte> piece : parameters.pieces())
    total += piece.size();
  auto arrived = [&](uint64_t bytes) {
    if (progress)
      progress(before + bytes, total);
  };
  for (std::span<const std::byte> piece : parameters.pieces()) {
    copies.push_back({piece, static_cast<const std::byte *>(device->upload(
                                 piece, "the weights", arrived))});
    before += piece.size();
  }
  std::vector<const void *> pointers;
  for (size_t i = 0; i < parameters.table_size(); ++i) {
    auto *pointer = static_cast<const std::byte *>(parameters.table()[i]);
    auto copy = std::find_if(copies.begin(), copies.end(), [&](const Copy &c) {
      return pointer >= c.host.data() &&
             pointer < c.host.data() + c.host.size();
    });
    if (copy == copies.end())
      throw std::logic_error("a parameter lies outside the weights' memory");
    pointers.push_back(copy->device + (pointer - copy->host.data()));
  }
  auto *table = allocate<const void *>(std::max<size_t>(1, pointers.size()),
                                       "the table of parameters");
  device->write(table, pointers.data(), pointers.size() * sizeof(void *));
  state.parameters = table;
}

void DeviceExecution::write_storages(
    std::span<const StorageCopy> copies,
    const std::function<void(uint64_t done, uint64_t total)> &progress) {
  std::vector<DeviceCopy> all;
  uint64_t total = 0;
  for (const StorageCopy &copy : copies) {
    all.push_back({storage_pointers[copy.storage], copy.bytes});
    total += copy.bytes.size();
  }
  device->write_all(all, "weights and states",
                    [&](uint64_t bytes) { progress(bytes, total); });
}

void DeviceExecution::reset_events() {
  // Thousands of words for each worker: the device sets them itself.
  device->fill(state.events, event_origin,
               metadata.event_words * BATON_DEVICE_WORD_STRIDE);
  device->fill(state.bases, event_origin, metadata.event_words * worker_count);
}

void DeviceExecution::start(StepDriver &next_driver, bool observed) {
  if (server.joinable())
    server.join();
  if (observed && workers() != 1)
    throw std::logic_error("only one worker can be observed");
  drive_by(next_driver);
  if (exchanges)
    exchanges->connect({metadata.max_rows, 0, 1, 0});
  BatonStep step = first_step({tokens, size_t(metadata.max_seq) + 1});
  if (step.rows == 0)
    return;
  current = step;
  next_mask = 0;
  while (exchanges && make_mask()) {
  }
  BatonFailure none = {};
  device->write(state.failure, &none, sizeof none);
  *exchange = {};
  answered = 0;
  // A trace tells steps apart by when the host saw them.
  prepare_generation(observed || recorder ? nullptr : driver->request());
  state.observed = observed;
  state.trace = nullptr;
  state.trace =
      recorder ? trace_memory(recorder->capacity_by_worker()) : nullptr;
  device->write(program, &state, sizeof state);
  clock_difference = std::numeric_limits<int64_t>::max();
  try {
    launch(to_device(step));
  } catch (const CommunicationError &error) {
    // What others do not come to never ends.
    end_job(*communicator, error.what());
  } catch (...) {
    drain();
    throw;
  }
  server = std::thread([this] { serve(); });
}

/// Starts the kernel of the program that takes the step.
void DeviceExecution::launch(const BatonDeviceStep &step) {
  auto set = [&](auto *member, const auto &value) {
    device->write(member, &value, sizeof value);
  };
  const BatonDeviceStep none = {};
  const uint32_t zero = 0;
  set(&program->steps[0], step);
  set(&program->steps[1], none);
  if (launches_graph) {
    launched_steps = 0;
    steps_under_way.clear();
    return launch_step(step);
  }
  reset_events();
  set(&program->pending, none);
  set(&program->asking, zero);
  set(&program->border, zero);
  if (begin_exchanges(step, 0) || begin_parts(step.rows, 0))
    return;
  device->launch(metadata.program_of(step.rows), worker_count, program);
  if (exchanges) {
    exchanges->begin_kernel(state.events, &program->epoch, event_origin);
    exchanges->start(step);
  }
}

/// Puts a step of one of several ranks on the stream, all of it.
bool DeviceExecution::begin_exchanges(const BatonDeviceStep &step,
                                      uint32_t number) {
  if (!exchanges || exchanges->overlap())
    return false;
  exchanges->start(step, [&](BatonPart phases) {
    device->launch_part(metadata.program_of(step.rows),
                        {phases, std::nullopt, 0}, step.rows, worker_count,
                        program, number, {});
    // A stream that is full blocks this thread, while kernels may want answers
    // to all of their phases.
    while (state.observed && device->running()) {
      exchanges->check();
      if (!answer_question())
        device->pause();
    }
  });
  return true;
}

/// Starts the graph of the next step, which is there or will be when the steps
/// before have ended.
void DeviceExecution::launch_step(const BatonDeviceStep &step) {
  const uint32_t number = launched_steps++;
  if (!begin_exchanges(step, number) && !begin_parts(step.rows, number))
    device->launch_step(metadata.program_of(step.rows), worker_count, program,
                        number);
  launched_positions = uint64_t(step.past) + step.rows;
  steps_under_way.push_back(launched_positions);
}

/// Starts the step behind those that are under way, so that the device need not
/// wait for the host; true if it did. Where the kernel generates by itself its
/// rows are known. A step that does not come, because the generation has ended,
/// is nothing to its kernels.
bool DeviceExecution::run_ahead() {
  constexpr size_t most_under_way = 2;
  if (!launches_graph || !state.generation.active || next_part < parts.size() ||
      __atomic_load_n(&progress->end, __ATOMIC_ACQUIRE) != BATON_END_NOT_YET)
    return false;
  const uint64_t computed =
      __atomic_load_n(&progress->positions, __ATOMIC_ACQUIRE);
  while (!steps_under_way.empty() && steps_under_way.front() <= computed)
    steps_under_way.pop_front();
  const uint64_t past = launched_positions;
  const bool in_prompt = past < prompt_tokens;
  if (steps_under_way.size() >= most_under_way ||
      (!in_prompt &&
       past - prompt_tokens + 1 >= state.generation.max_new_tokens))
    return false;
  launch_step({in_prompt
                   ? static_cast<uint32_t>(std::min<uint64_t>(
                         prompt_tokens - past, state.generation.prefill_chunk))
                   : 1,
               static_cast<uint32_t>(past), 0, 0});
  return true;
}

/// When a kernel has ended because a step is another one's, that one starts;
/// when a step that is a graph has ended, the next one; and when some parts of
/// a step have ended, those behind.
bool DeviceExecution::go_on() {
  if (next_part < parts.size()) {
    launch_parts();
    return true;
  }
  if (launches_graph) {
    BatonDeviceStep next = {};
    device->read(&next, &program->steps[launched_steps & 1], sizeof next);
    steps_under_way.clear();
    if (next.rows != 0)
      launch_step(next);
    return next.rows != 0;
  }
  BatonDeviceStep pending = {};
  device->read(&pending, &program->pending, sizeof pending);
  if (pending.rows == 0)
    return false;
  launch(pending);
  return true;
}

BatonTraceRecord *DeviceExecution::trace_memory(uint64_t capacity) {
  if (capacity > state.trace_capacity) {
    records = allocate<BatonTraceRecord>(capacity * worker_count, "the trace");
    state.traced = allocate<uint64_t>(worker_count, "the trace");
    state.trace_capacity = capacity;
  }
  std::vector<uint64_t> none(worker_count);
  device->write(state.traced, none.data(), worker_count * sizeof(uint64_t));
  return records;
}

void DeviceExecution::wait() {
  if (server.joinable())
    server.join();
  rethrow();
}

/// Makes a mask that the step wants; false if it wants no more. Of several
/// ranks, with which the thread is busy otherwise, all masks are there when a
/// step begins.
bool DeviceExecution::make_mask() {
  while (metadata.batch && next_mask < current.outputs) {
    const uint32_t row = next_mask++;
    BatonSampling &wanted = step_inputs.sampling[row];
    if (!wanted.masked)
      continue;
    const size_t words = (metadata.vocabulary + 31) / 32;
    wanted.make_mask(wanted.text, step_inputs.masks + row * words, words);
    __atomic_store_n(&wanted.mask_made, 1, __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

/// Answers what the kernel asks, if it does.
bool DeviceExecution::answer_question() {
  const uint32_t asked = __atomic_load_n(&exchange->asked, __ATOMIC_ACQUIRE);
  if (asked == answered)
    return false;
  try {
    answer(*exchange);
  } catch (...) {
    // The kernel waits for an answer, whatever happens.
    if (!failure)
      failure = std::current_exception();
    exchange->next = {};
  }
  const bool advances = exchange->question == BATON_QUESTION_ADVANCE;
  answered = asked;
  __atomic_store_n(&exchange->answered, answered, __ATOMIC_RELEASE);
  // The next step has begun beside it.
  if (advances && exchanges && exchanges->overlap() && current.rows != 0)
    exchanges->start(to_device(current));
  return true;
}

/// Answers until the kernel has ended. Looks as often as it can, because a
/// decode step takes less than a millisecond; other threads have the core in
/// between.
void DeviceExecution::serve() noexcept {
  try {
    while (true) {
      if (exchanges)
        exchanges->check();
      if (answer_question()) {
        // There may be more.
      } else if (state.generation.active && follow()) {
        // There may be more.
      } else if (run_ahead()) {
        // There may be more.
      } else if (!device->running()) {
        if (!go_on())
          break;
      } else if (!make_mask()) {
        device->pause();
      }
    }
    check_waits();
    if (state.generation.active)
      end_generation();
    if (!failure && current.rows != 0)
      throw Error("the kernel on " + device->name() +
                  " ended in the middle of the program");
    if (state.trace)
      collect_trace();
  } catch (const CommunicationError &error) {
    end_job(*communicator, error.what());
  } catch (...) {
    if (!failure)
      failure = std::current_exception();
    drain();
  }
  // The driver has not been told yet when the kernel failed.
  if (current.rows != 0)
    driver->finish();
}

/// After an error, lets what was started end: a kernel that asks waits for an
/// answer, and its sampling for masks.
void DeviceExecution::drain() noexcept {
  try {
    while (device->running()) {
      while (make_mask()) {
      }
      exchange->next = {};
      __atomic_store_n(&exchange->answered,
                       __atomic_load_n(&exchange->asked, __ATOMIC_ACQUIRE),
                       __ATOMIC_RELEASE);
      device->pause();
    }
  } catch (...) {
    // The device has ended them.
  }
}

/// The kernel generates by itself if the driver lets it.
void DeviceExecution::prepare_generation(const GenerationRequest *request) {
  state.generation = {};
  state.new_tokens = 0;
  *progress = {};
  followed_tokens = 0;
  if (!request)
    return;
  const SamplingOptions &sampling = request->sampling;
  if (request->stop_tokens.size() > stop_capacity) {
    stop_capacity = request->stop_tokens.size();
    stops = allocate<int32_t>(stop_capacity, "stop tokens");
  }
  device->write(stops, request->stop_tokens.data(),
                request->stop_tokens.size() * sizeof(int32_t));
  state.generation = {1,
                      static_cast<uint32_t>(request->prompt.size()),
                      request->prefill_chunk,
                      static_cast<uint32_t>(request->stop_tokens.size()),
                      stops,
                      request->max_new_tokens,
                      sampling.seed,
                      sampling.top_k == 1 ? 0 : sampling.temperature,
                      sampling.top_k,
                      sampling.top_p};
  prompt_tokens = request->prompt.size();
}

/// Tells the driver what the kernel has done since; false if that is nothing.
bool DeviceExecution::follow() {
  if (stop.load(std::memory_order_relaxed))
    __atomic_store_n(&progress->stop, 1, __ATOMIC_RELEASE);
  uint32_t count = __atomic_load_n(&progress->new_tokens, __ATOMIC_ACQUIRE);
  driver->computed(__atomic_load_n(&progress->positions, __ATOMIC_ACQUIRE));
  if (count == followed_tokens)
    return false;
  while (followed_tokens < count && !failure) {
    try {
      driver->sampled(tokens[prompt_tokens + followed_tokens++]);
    } catch (...) {
      failure = std::current_exception();
      __atomic_store_n(&progress->stop, 1, __ATOMIC_RELEASE);
    }
  }
  followed_tokens = count;
  return true;
}

void DeviceExecution::end_generation() {
  follow();
  uint32_t end = __atomic_load_n(&progress->end, __ATOMIC_ACQUIRE);
  if (end == BATON_END_NOT_YET)
    return;
  current = {};
  driver->finish();
  if (!failure && end == BATON_END_NOT_FINITE)
    throw Error("logits at position " + std::to_string(progress->positions) +
                " are not finite");
}

void DeviceExecution::answer(const BatonHostExchange &question) {
  clock_difference = std::min(clock_difference,
                              steady_nanoseconds() -
                                  static_cast<int64_t>(question.nanoseconds));
  if (question.question == BATON_QUESTION_OBSERVE)
    return show_phase(question);
  const BatonStep step = to_host(question.current);
  Logits rows = {logits.data(), 0, 0};
  const auto &place = metadata.programs[metadata.program_of(step.rows)].logits;
  if (place && driver->needs_logits()) {
    rows.stride = place->stride;
    rows.vocabulary = place->vocabulary;
    device->read(
        logits.data(),
        static_cast<const std::byte *>(storage_pointers[place->storage]) +
            place->offset * sizeof(float),
        (metadata.trains() ? 1 : step.outputs) * rows.stride * sizeof(float));
  }
  current = next_step(step, rows);
  next_mask = 0;
  while (exchanges && make_mask()) {
  }
  exchange->next = to_device(current);
}

/// Copies the storages that the phase has written to, all of them.
void DeviceExecution::show_phase(const BatonHostExchange &question) {
  storage_copies.resize(storage_pointers.size());
  std::vector<void *> copies(storage_pointers.size());
  for (const WrittenBuffer &written :
       metadata.phases.at(question.phase).writes) {
    std::vector<std::byte> &copy = storage_copies[written.storage];
    copy.resize(metadata.storages[written.storage].bytes);
    device->read(copy.data(), storage_pointers[written.storage], copy.size());
    copies[written.storage] = copy.data();
  }
  show(current, question.phase, question.iteration, copies.data());
}

/// A wait that was never fulfilled ended the kernel.
void DeviceExecution::check_waits() {
  BatonFailure report;
  device->read(&report, state.failure, sizeof report);
  if (report.failed == 0)
    return;
  if (report.table) {
    const PhaseDescription &phase = metadata.phases.at(report.phase);
    throw Error("the kernel on " + device->name() + " was ended: the table @" +
                phase.tables.at(report.table - 1) + ", which phase \"" +
                phase.name + "\" has written, holds " +
                std::to_string(static_cast<int32_t>(report.seen)) +
                " at place " + std::to_string(report.expected) +
                ", which its range or its property in the plan does not allow");
  }
  std::string where =
      report.word >= metadata.event_words
          ? "the border between two steps"
          : "event word " + std::to_string(report.word) + " in phase \"" +
                metadata.phases.at(report.phase).name + "\", iteration " +
                std::to_string(report.iteration) + ", task " +
                std::to_string(report.task);
  throw Error("the kernel on " + device->name() + " was ended: worker " +
              std::to_string(report.worker) + " waited more than " +
              std::to_string(device->wait_nanoseconds() / 1000000000) +
              " s for " + where + ": expected " +
              std::to_string(report.expected) + ", saw " +
              std::to_string(report.seen));
}

void DeviceExecution::collect_trace() {
  std::vector<uint64_t> counts(worker_count);
  device->read(counts.data(), state.traced, worker_count * sizeof(uint64_t));
  for (unsigned worker = 0; worker < worker_count; ++worker) {
    uint64_t kept = std::min(counts[worker], state.trace_capacity);
    std::vector<BatonTraceRecord> kept_records(kept);
    device->read(kept_records.data(),
                 state.trace + worker * state.trace_capacity,
                 kept * sizeof(BatonTraceRecord));
    auto time = [&](uint64_t nanoseconds) {
      return nanoseconds + static_cast<uint64_t>(clock_difference);
    };
    for (const BatonTraceRecord &record : kept_records)
      recorder->add(worker,
                    {time(record.begin), time(record.ready), time(record.end),
                     record.task, record.phase, record.iteration});
    recorder->drop(worker, counts[worker] - kept);
  }
}

} // namespace baton
