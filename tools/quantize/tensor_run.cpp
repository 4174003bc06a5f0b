//===- tensor_run.cpp - tensors are written, and a run goes on ------------===//

#include "tools/quantize/tensor_run.h"

#include "runtime/error.h"

#include <utility>

namespace baton {

namespace fs = std::filesystem;

TensorRun::TensorRun(fs::path output)
    : output(std::move(output)), part_path(this->output.string() + ".part"),
      journal_path(part_path.string() + ".journal") {}

void TensorRun::write(const fs::path &path, const std::string &key,
                      const std::string &header, QuantizedModel &model,
                      const QuantizeProgress &progress,
                      const Write &write) const {
  uint64_t all = 0, done = 0;
  for (const QuantizedTensor &tensor : model.tensors)
    all += tensor.elements;
  const PartFile file(path);
  Journal journal(journal_path, key);
  model.resumed =
      resume(file, journal, key, header, model.bytes, model.tensors.size());
  for (size_t i = 0; i < model.tensors.size(); ++i) {
    QuantizedTensor &tensor = model.tensors[i];
    if (i < model.resumed) {
      tensor.error = journal.complete()[i];
      done += tensor.elements;
      continue;
    }
    tensor.error = write(file, i, [&](uint64_t elements) {
      done += elements;
      progress(done, all, tensor.name);
    });
    // What the journal says is on the disk.
    file.sync();
    journal.add(*tensor.error);
  }
}

void TensorRun::publish() const {
  std::error_code failure;
  fs::rename(part_path, output, failure);
  if (failure)
    throw Error(output.string() + ": cannot be written: " + failure.message());
  fs::remove(journal_path, failure);
}

} // namespace baton
