//===- gguf.cpp - fuzz: GGUF files ----------------------------------------===//

#include "ReadWeights.h"

#include "runtime/error.h"
#include "runtime/tokenizer/gguf_vocabulary.h"
#include "runtime/tokenizer/tokenizer.h"
#include "runtime/weights/gguf_model.h"

#include <string>

#include <sys/mman.h>
#include <unistd.h>

using namespace baton;

/// Every key of an accepted file can be asked for as anything, and every tensor
/// read from end to end, quantised ones as numbers and as panels.
static void read(const std::string &path) {
  auto file = GgufFile::open(path);
  for (std::string_view key : file->keys()) {
    auto ask = [&](auto question) {
      try {
        question();
      } catch (const Error &) {
      }
    };
    ask([&] { file->integer(key, 100); });
    ask([&] { file->number(key); });
    ask([&] { file->boolean(key); });
    ask([&] { file->text(key); });
    ask([&] { file->texts(key); });
    ask([&] { file->numbers(key); });
    ask([&] { file->integers(key); });
  }
  unsigned sum = 0;
  for (const auto &[name, tensor] : file->tensors()) {
    for (uint64_t i = 0; i < tensor.bytes; ++i)
      sum += static_cast<unsigned>(tensor.data[i]);
    fuzz::read_weights(name, tensor, file);
  }
  asm volatile("" : : "r"(sum)); // the bytes are read
  read_gguf_stop_tokens(*file);
}

/// As a model of its architecture, whose rows may lie in another order.
static void read_model(const std::string &path) {
  const GgufModel model = GgufModel::open(path);
  for (const auto &file : model.files())
    for (const auto &[name, tensor] : file->tensors())
      fuzz::read_weights(name, tensor, file);
}

/// A tokenizer that is accepted encodes any text.
static void encode(const std::string &path) {
  const Tokenizer tokenizer = Tokenizer::of_gguf(*GgufFile::open(path));
  for (const char *text :
       {"", " a b  ab ", "<s>é日本\xF0\x9F\x98\x80 1,2\n", "\xFF\xC3 a"})
    tokenizer.decode(tokenizer.encode(text));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  int file = memfd_create("fuzz", 0);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (write(file, data, size) == static_cast<ssize_t>(size))
    for (void (*what)(const std::string &) :
         {+[](const std::string &path) { read(path); },
          +[](const std::string &path) { read_model(path); },
          +[](const std::string &path) { encode(path); }})
      try {
        what(path);
      } catch (const Error &) {
      }
  close(file);
  return 0;
}
