//===- part_file.h - a file that grows, and goes on after a failure -------===//

#ifndef BATON_TOOLS_QUANTIZE_PART_FILE_H
#define BATON_TOOLS_QUANTIZE_PART_FILE_H

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace baton {

/// A file that grows and outlives a failure. What fails throws Error that names
/// it.
class PartFile {
public:
  explicit PartFile(std::filesystem::path path);
  PartFile(const PartFile &) = delete;
  PartFile &operator=(const PartFile &) = delete;
  ~PartFile();

  /// By several threads at a time.
  void write(const void *data, uint64_t bytes, uint64_t offset) const;
  bool begins_with(const std::string &text) const;
  void resize(uint64_t bytes) const;
  void sync() const;

private:
  [[noreturn]] void fail() const;

  std::filesystem::path path;
  int descriptor;
};

/// A line that says what the file is made of, then one for each tensor that is
/// complete, with its error. The last line may be torn.
class Journal {
public:
  Journal(std::filesystem::path path, const std::string &key);

  const std::vector<double> &complete() const { return errors; }
  void forget(const std::string &key);
  void add(double error);

private:
  void rewrite(const std::string &key);

  std::filesystem::path path;
  std::vector<double> errors;
  std::ofstream stream;
};

/// Goes on with a file of `bytes` that begins with `header` and will have so
/// many tensors, or begins anew. Returns how many tensors are complete.
uint64_t resume(const PartFile &file, Journal &journal, const std::string &key,
                const std::string &header, uint64_t bytes, uint64_t tensors);

} // namespace baton

#endif // BATON_TOOLS_QUANTIZE_PART_FILE_H
