//===- ProductKernels.cpp - kernels before cuBLASLt's products ------------===//

#include "codegen/cuda/KernelForms.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace baton;
using namespace baton::cuda;

void cuda::emitProductKernels(KernelParts &parts, Source &source) {
  raw_ostream &os = parts.os;
  for (auto [index, phase] : enumerate(parts.phases)) {
    if (!phase->product())
      continue;
    const CublasLtProduct &product = *phase->product();
    std::string name = source.kernel + "_sides_of_" + phase->function();
    os << "\n// Both sides of " << phase->op().getName()
       << ", as cuBLASLt reads them.\n"
       << "extern \"C\" __global__ void __launch_bounds__("
       << parts.options.threads << ") " << name
       << "(\n"
          "    BatonDevice *device, uint32_t number, int64_t iteration) {\n"
          "  BatonWorkerState worker(device, 0, nullptr, nullptr);\n"
          "  const BatonDeviceStep step = device->steps[number & 1];\n"
          "  const int64_t rows = step.rows, past = step.past, outputs = "
          "step.outputs;\n";
    phase->emitPointers();
    phase->emitProductSides();
    os << "}\n";
    source.products.push_back({name, index, phase->cublasLtRows(), product});
  }
}
