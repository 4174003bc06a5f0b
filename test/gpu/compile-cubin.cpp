//===- compile-cubin.cpp - a CUDA source as a cubin -----------------------===//
//
//   compile-cubin SOURCE.cu sm_90a OUT.cubin [FOLDER OF HEADERS]...
//
// With the NVRTC that batonc would use, and its options. What pack.py packs
// beside programs is compiled so. Says what ptxas spills, and whether it lets
// no multiplications by warpgroups overlap. Exits with 77 where there is no
// NVRTC.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Nvrtc.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

static int fail(const llvm::Twine &message, int status = 1) {
  llvm::errs() << "error: " << message << "\n";
  return status;
}

int main(int count, char **arguments) {
  if (count < 4)
    return fail("usage: compile-cubin SOURCE.cu ARCHITECTURE OUT.cubin "
                "[FOLDER OF HEADERS]...");
  auto source = llvm::MemoryBuffer::getFile(arguments[1], /*IsText=*/true);
  if (!source)
    return fail(llvm::Twine(arguments[1]) + ": " + source.getError().message());
  baton::cuda::CubinOptions options;
  options.architecture = arguments[2];
  options.headers = BATON_SOURCE_FOLDER;
  options.toolkits = {BATON_CUDA_FOLDER};
  options.moreHeaders.assign(arguments + 4, arguments + count);
  auto cubin = baton::cuda::compileCubin((*source)->getBuffer(), options);
  if (!cubin) {
    std::string message = llvm::toString(cubin.takeError());
    return fail(message, message.starts_with("NVRTC") ? 77 : 1);
  }
  std::error_code error;
  llvm::raw_fd_ostream file(arguments[3], error);
  if (!error) {
    file.write(cubin->bytes.data(), cubin->bytes.size());
    file.flush();
    error = file.error();
  }
  if (error)
    return fail(llvm::Twine(arguments[3]) + ": " + error.message());
  // In ptxas's words.
  llvm::outs() << "at most " << cubin->registers << " registers, "
               << cubin->spilledBytes << " bytes spill stores\n";
  if (cubin->serialized)
    llvm::outs() << "wgmma instructions are serialized in " << cubin->serialized
                 << " functions\n";
  return EXIT_SUCCESS;
}
