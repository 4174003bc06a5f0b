//===- batch_file.h - a file of requests, and that of their results ------===//
//
// Both hold a line of JSON for each request (runtime/batch/request_json.h). A
// line that is no request has a result, too: an error that names the place.
// Blank lines are none.
//
// Results are appended as requests finish, and at the end, when all are there,
// put into the order of the requests. A process that was killed loses nothing
// but what it had not finished: the next one drops a torn last line, skips the
// requests that have results, and goes on.
//
// A line is known by its id; one without, and one whose id an earlier line has,
// by its number, which its result says as "line".
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_BATCH_BATCH_FILE_H
#define BATON_RUNTIME_BATCH_BATCH_FILE_H

#include "runtime/batch/batch_request.h"
#include "runtime/batch/request_json.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace baton {

class RequestFile {
public:
  /// Finds the lines. Throws Error when it is no plain file that can be read.
  explicit RequestFile(std::filesystem::path path);

  const std::filesystem::path &path() const { return file; }
  size_t size() const { return lines.size(); }
  /// The line with this key, if there is one.
  std::optional<size_t> find(const std::string &key) const;
  /// What a result is of.
  static std::optional<std::string>
  result_key(const nlohmann::ordered_json &result);

  /// The requests of a line, of which several may be scored, whose tags are
  /// `index`; or none, and its result is the error line. Throws Error when the
  /// file cannot be read any more.
  std::vector<BatchRequest> read(size_t index, const BatchFormat &format,
                                 std::string &error);
  struct Result {
    std::string line;
    bool failed;
  };
  /// Of a line that was read, with the last of its requests' results.
  std::optional<Result> result(BatchResult &&result, const BatchFormat &format);

private:
  struct Line {
    uint64_t number;
    uint64_t offset;
    uint64_t bytes;
    /// Of one without an id of its own: why.
    std::string fault;
  };
  void add(std::string_view text, Line line);
  std::string place(const Line &line) const;

  std::filesystem::path file;
  std::ifstream stream;
  std::vector<Line> lines;
  /// By keys: "=" and the id, or "#" and the number.
  std::unordered_map<std::string, size_t> places;
  /// Of one that was read and has no result yet.
  struct OpenLine {
    RequestOrigin origin;
    /// Of its requests; so many are not there yet.
    std::vector<BatchResult> results;
    size_t left;
  };
  std::unordered_map<size_t, OpenLine> open;
};

class ResultFile {
public:
  /// Opens or creates it, and reads what is there. Throws Error when that is
  /// anything but results of these requests, or another process writes it.
  /// `requests` outlives it.
  ResultFile(std::filesystem::path path, const RequestFile &requests);
  ResultFile(const ResultFile &) = delete;
  ResultFile &operator=(const ResultFile &) = delete;
  ~ResultFile();

  bool has(size_t index) const { return results[index].bytes != 0; }
  /// How many there are.
  size_t size() const { return count; }

  /// Adds a line, which is given to the system before this returns. Throws
  /// Error when that fails; what was there stays.
  void append(size_t index, const std::string &line);
  /// When all are there: puts them into order, at once or, after an Error, not
  /// at all.
  void publish();

private:
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };
  void read_results();
  void add(std::string_view text, uint64_t number, Place place);
  [[noreturn]] void fail(const std::string &what) const;

  std::filesystem::path file;
  const RequestFile &requests;
  int descriptor = -1;
  uint64_t end = 0;
  /// Of each request; no bytes: none.
  std::vector<Place> results;
  size_t count = 0;
};

} // namespace baton

#endif // BATON_RUNTIME_BATCH_BATCH_FILE_H
