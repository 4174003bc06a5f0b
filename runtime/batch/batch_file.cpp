//===- batch_file.cpp - a file of requests, and that of their results ----===//

#include "runtime/batch/batch_file.h"

#include "runtime/batch/score_json.h"
#include "runtime/error.h"
#include "runtime/files/temporary.h"
#include "runtime/weights/message.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace baton {

namespace {

namespace fs = std::filesystem;

std::string line_key(uint64_t number) { return "#" + std::to_string(number); }

/// Calls `take` with each line that is complete, without its end, and where it
/// begins. Returns where those end.
template <typename Take>
uint64_t read_lines(std::istream &stream, bool torn_too, Take take) {
  uint64_t offset = 0;
  std::string text;
  while (std::getline(stream, text)) {
    const bool torn = stream.eof();
    if (torn && !torn_too)
      break;
    take(text, offset);
    offset += text.size() + (torn ? 0 : 1);
  }
  return offset;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::ifstream open_lines(const fs::path &path) {
  std::error_code failure;
  // A pipe cannot be read twice.
  if (fs::exists(path, failure) && !fs::is_regular_file(path, failure))
    throw Error(path.string() + ": is not a plain file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw Error(path.string() + ": cannot be read: " + std::strerror(errno));
  return stream;
}

} // namespace

RequestFile::RequestFile(fs::path path)
    : file(std::move(path)), stream(open_lines(file)) {
  uint64_t number = 0;
  read_lines(stream, /*torn_too=*/true,
             [&](const std::string &text, uint64_t offset) {
               ++number;
               if (!is_blank(text))
                 add(text, {number, offset, text.size(), {}});
             });
  if (stream.bad())
    throw Error(file.string() + ": cannot be read");
  stream.clear();
}

void RequestFile::add(std::string_view text, Line line) {
  const nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(text, nullptr, false);
  std::optional<std::string> id;
  if (!json.is_object())
    line.fault = "is no JSON object";
  else if (id = request_id(json); !id)
    line.fault = "has no id, which is a text";
  const size_t index = lines.size();
  if (id) {
    auto [earlier, is_new] = places.emplace("=" + *id, index);
    if (!is_new)
      line.fault = "has the id " + quote_name(*id) + " of line " +
                   std::to_string(lines[earlier->second].number);
  }
  if (!line.fault.empty())
    places.emplace(line_key(line.number), index);
  lines.push_back(std::move(line));
}

std::optional<size_t> RequestFile::find(const std::string &key) const {
  auto found = places.find(key);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string>
RequestFile::result_key(const nlohmann::ordered_json &result) {
  if (auto line = result.find("line");
      line != result.end() && line->is_number_unsigned())
    return line_key(line->get<uint64_t>());
  // OpenAI's results have an id of their own.
  auto id = result.find(result.contains("custom_id") ? "custom_id" : "id");
  if (id == result.end() || !id->is_string())
    return std::nullopt;
  return "=" + id->get<std::string>();
}

std::string RequestFile::place(const Line &line) const {
  return file.string() + ":" + std::to_string(line.number) + ": ";
}

std::vector<BatchRequest>
RequestFile::read(size_t index, const BatchFormat &format, std::string &error) {
  const Line &line = lines[index];
  if (!line.fault.empty()) {
    error = error_line(line.number, place(line) + line.fault);
    return {};
  }
  std::string text(line.bytes, '\0');
  stream.seekg(static_cast<std::streamoff>(line.offset));
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  const nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(text, nullptr, false);
  if (!stream || !json.is_object() || !request_id(json))
    throw Error(place(line) + "has changed since it was read first");
  RequestOrigin origin;
  try {
    std::vector<BatchRequest> requests;
    if (format.scores)
      requests = parse_scores(json, format, origin);
    else
      requests.push_back(parse_request(json, format, origin));
    for (BatchRequest &request : requests)
      request.tag = index;
    open[index] = {std::move(origin), std::vector<BatchResult>(requests.size()),
                   requests.size()};
    return requests;
  } catch (const Error &failure) {
    error = error_line(origin, place(line) + failure.what());
    return {};
  }
}

std::optional<RequestFile::Result>
RequestFile::result(BatchResult &&result, const BatchFormat &format) {
  const size_t index = result.request.tag;
  OpenLine &line = open.at(index);
  line.results[result.request.part] = std::move(result);
  if (--line.left)
    return std::nullopt;
  const OpenLine whole = std::move(open.extract(index).mapped());
  const std::string at = place(lines[index]);
  bool failed = false;
  for (const BatchResult &each : whole.results)
    for (const BatchChoice &choice : each.choices)
      failed |= choice.finish == BatchFinish::Error;
  return Result{
      format.scores
          ? scores_line(whole.origin, whole.results, format, at)
          : result_line(whole.origin, whole.results.front(), format, at),
      failed};
}

ResultFile::ResultFile(fs::path path, const RequestFile &requests)
    : file(std::move(path)), requests(requests), results(requests.size()) {
  std::error_code failure;
  if (fs::equivalent(file, requests.path(), failure))
    throw Error(file.string() + ": holds the requests; name another file for "
                                "results");
  if (fs::exists(file, failure) && !fs::is_regular_file(file, failure))
    throw Error(file.string() + ": is not a plain file");
  descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    fail(std::strerror(errno));
  try {
    // Also where a file system knows no locks.
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw Error(file.string() + ": another process writes to it");
    read_results();
  } catch (...) {
    close(descriptor);
    throw;
  }
}

ResultFile::~ResultFile() { close(descriptor); }

void ResultFile::fail(const std::string &what) const {
  throw Error(file.string() + ": cannot be written: " + what);
}

void ResultFile::read_results() {
  std::ifstream stream = open_lines(file);
  uint64_t number = 0;
  end = read_lines(stream, /*torn_too=*/false,
                   [&](const std::string &text, uint64_t offset) {
                     add(text, ++number, {offset, text.size() + 1});
                   });
  if (stream.bad())
    throw Error(file.string() + ": cannot be read");
  // Torn by whatever ended the process.
  if (ftruncate(descriptor, static_cast<off_t>(end)) != 0)
    fail(std::strerror(errno));
}

void ResultFile::add(std::string_view text, uint64_t number, Place place) {
  const nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(text, nullptr, false);
  std::optional<std::string> key;
  if (json.is_object())
    key = RequestFile::result_key(json);
  std::optional<size_t> index;
  if (key)
    index = requests.find(*key);
  if (!index)
    throw Error(file.string() + ":" + std::to_string(number) +
                ": is no result of a request in " + requests.path().string() +
                "; name another file for results");
  // The first one counts.
  if (has(*index))
    return;
  results[*index] = place;
  ++count;
}

void ResultFile::append(size_t index, const std::string &line) {
  const std::string text = line + "\n";
  uint64_t written = 0;
  while (written < text.size()) {
    const ssize_t bytes =
        pwrite(descriptor, text.data() + written, text.size() - written,
               static_cast<off_t>(end + written));
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes <= 0) {
      const int error = bytes < 0 ? errno : ENOSPC;
      // The next process would do it, too.
      [[maybe_unused]] int ignored =
          ftruncate(descriptor, static_cast<off_t>(end));
      fail(std::string(std::strerror(error)) + "; it has " +
           std::to_string(count) + " of " + std::to_string(results.size()) +
           " results, and the same command goes on from there");
    }
    written += static_cast<uint64_t>(bytes);
  }
  results[index] = {end, text.size()};
  end += text.size();
  ++count;
}

void ResultFile::publish() {
  uint64_t expected = 0;
  bool ordered = true;
  for (const Place &place : results) {
    ordered &= place.offset == expected;
    expected += place.bytes;
  }
  if (ordered && expected == end)
    return;
  TemporaryFile sorted(file);
  uint64_t offset = 0;
  std::string buffer;
  auto flush = [&] {
    sorted.write(buffer.data(), buffer.size(), offset);
    offset += buffer.size();
    buffer.clear();
  };
  constexpr size_t buffer_bytes = size_t(1) << 20;
  for (const Place &place : results) {
    const size_t begin = buffer.size();
    buffer.resize(begin + place.bytes);
    if (pread(descriptor, buffer.data() + begin, place.bytes,
              static_cast<off_t>(place.offset)) !=
        static_cast<ssize_t>(place.bytes))
      throw Error(file.string() + ": cannot be read");
    if (buffer.size() >= buffer_bytes)
      flush();
  }
  flush();
  sorted.sync();
  sorted.publish();
}

} // namespace baton
