//===- event_file.cpp - a run's numbers for TensorBoard -------------------===//

#include "runtime/train/event_file.h"

#include "runtime/error.h"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

static_assert(std::endian::native == std::endian::little,
              "records hold little-endian numbers");

namespace baton {

namespace fs = std::filesystem;

namespace {

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82f63b78 : 0);
    table[byte] = value;
  }
  return table;
}();

uint32_t masked(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8;
}

template <typename Number> void append(std::string &bytes, Number value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// Protobuf's wire format.
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

void append_varint(std::string &bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void append_key(std::string &bytes, unsigned field, WireType type) {
  append_varint(bytes, field << 3 | type);
}

void append_bytes(std::string &bytes, unsigned field, std::string_view value) {
  append_key(bytes, field, Bytes);
  append_varint(bytes, value.size());
  bytes += value;
}

/// tensorflow.Event: wall_time, step.
std::string begin_event(uint64_t step) {
  const std::chrono::duration<double> now =
      std::chrono::system_clock::now().time_since_epoch();
  std::string event;
  append_key(event, 1, Fixed64);
  append(event, now.count());
  append_key(event, 2, Varint);
  append_varint(event, step);
  return event;
}

/// tensorflow.Summary.value: tag, simple_value.
void append_value(std::string &summary, std::string_view name, double number) {
  if (!std::isfinite(number))
    return;
  std::string value;
  append_bytes(value, 1, name);
  append_key(value, 2, Fixed32);
  append(value, static_cast<float>(number));
  append_bytes(summary, 1, value);
}

} // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t value = ~uint32_t(0);
  for (unsigned char byte : bytes)
    value = value >> 8 ^ crc_table[(value ^ byte) & 0xff];
  return ~value;
}

EventFile::EventFile(const fs::path &folder, uint64_t step) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string seconds = std::to_string(
      std::chrono::duration_cast<std::chrono::seconds>(now).count());
  // TensorBoard reads files in the order of their names.
  for (int number = 0;; ++number) {
    path = folder / ("events.out.tfevents." + seconds + "." +
                     std::to_string(number) + ".baton");
    std::error_code ignored;
    if (!fs::exists(path, ignored))
      break;
  }
  stream.open(path, std::ios::binary);
  std::string version = begin_event(0);
  append_bytes(version, 3, "brain.Event:2");
  write(version);
  // session_log: status START.
  std::string start = begin_event(step), status;
  append_key(status, 1, Varint);
  append_varint(status, 1);
  append_bytes(start, 7, status);
  write(start);
}

void EventFile::add(const StepReport &report) {
  std::string summary;
  append_value(summary, "loss", report.loss);
  for (const auto &[name, part] : report.loss_parts)
    append_value(summary, name, part);
  if (report.validation_loss)
    append_value(summary, "validation_loss", *report.validation_loss);
  append_value(summary, "grad_norm", report.gradient_norm);
  append_value(summary, "lr", report.learning_rate);
  append_value(summary, "tokens_per_s", report.tokens_per_second);
  if (report.utilisation)
    append_value(summary, "mfu", *report.utilisation);
  if (report.loss_scale)
    append_value(summary, "loss_scale", *report.loss_scale);
  std::string event = begin_event(report.step);
  append_bytes(event, 5, summary);
  write(event);
}

void EventFile::write(std::string_view record) {
  std::string bytes;
  append(bytes, static_cast<uint64_t>(record.size()));
  append(bytes, masked(bytes));
  bytes += record;
  append(bytes, masked(record));
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.flush();
  if (!stream)
    throw Error("--tensorboard: " + path.string() + ": cannot be written");
}

} // namespace baton
