//===- event_file.h - a run's numbers for TensorBoard ---------------------===//
//
// A file of records, as TensorFlow writes them (TFRecord):
//
//   length, 8 bytes     its masked CRC-32C, 4 bytes     the record
//   the record's masked CRC-32C, 4 bytes
//
// all little-endian; a masked checksum is ((c >> 15 | c << 17) + 0xa282ead8). A
// record is a protobuf of tensorflow.Event
// (tensorboard/compat/proto/event.proto): the first names the format, the
// second says that what an earlier file has of this step and later ones does
// not count, others have a step's numbers under the names of its line
// (step_log.h), and the utilisation as "mfu".
//
//===----------------------------------------------------------------------===//

#ifndef BATON_RUNTIME_TRAIN_EVENT_FILE_H
#define BATON_RUNTIME_TRAIN_EVENT_FILE_H

#include "runtime/train/step_log.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace baton {

/// The polynomial of Castagnoli, as iSCSI has it (RFC 3720).
uint32_t crc32c(std::string_view bytes);

/// A new file in a folder, which TensorBoard reads beside older ones. Each step
/// can be seen once it is added.
class EventFile {
public:
  /// Of a run whose next step is `step`, counted from 1. Throws Error that
  /// names the file.
  EventFile(const std::filesystem::path &folder, uint64_t step);

  /// Numbers that are not finite are left out. Throws Error that names the
  /// file.
  void add(const StepReport &report);

private:
  void write(std::string_view record);

  std::filesystem::path path;
  std::ofstream stream;
};

} // namespace baton

#endif // BATON_RUNTIME_TRAIN_EVENT_FILE_H
