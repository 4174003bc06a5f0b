//===- Installation.cpp - the files that batonc reads at run time --------===//

#include "compiler/Installation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "compiler/Installation.h.inc"

using namespace baton::compiler;

static std::string join(llvm::StringRef a, llvm::StringRef b,
                        llvm::StringRef c = "") {
  llvm::SmallString<256> path(a);
  llvm::sys::path::append(path, b);
  if (!c.empty())
    llvm::sys::path::append(path, c);
  return path.str().str();
}

Installation Installation::ofTool(const char *argv0) {
  // Any address inside the tool serves to find its file.
  void *address = reinterpret_cast<void *>(&Installation::ofTool);
  std::string tool = llvm::sys::fs::getMainExecutable(argv0, address);
  llvm::StringRef prefix =
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(tool));
  return {join(prefix, "lib", "baton")};
}

std::string Installation::headers() const { return join(root, "include"); }

std::string Installation::cuda() const { return join(root, "cuda"); }

std::string Installation::machineSpeed() const {
  return join(root, "machine-speed");
}

std::string Installation::compiler() const {
  using llvm::sys::path::parent_path;
  return join(parent_path(parent_path(root)), "bin", "batonc");
}

std::string Installation::tool(const std::string &name) const {
  return join(root, name);
}

std::string Installation::cpuLibrary() const {
  return join(root, "cpu-library.bc");
}

std::string Installation::cpuLibraryInF64() const {
  return join(root, "cpu-library-f64.bc");
}

std::string Installation::target(const std::string &name) const {
  return join(root, "targets", name + ".json");
}

std::string Installation::optimizer(const std::string &name) const {
  return join(root, "optimizers", name + ".mlir");
}

std::vector<std::string> Installation::optimizers() const {
  std::vector<std::string> names;
  std::error_code failure;
  for (llvm::sys::fs::directory_iterator
           file(join(root, "optimizers"), failure),
       end;
       !failure && file != end; file.increment(failure))
    if (llvm::sys::path::extension(file->path()) == ".mlir")
      names.push_back(llvm::sys::path::stem(file->path()).str());
  llvm::sort(names);
  return names;
}

std::vector<std::string>
Installation::archives(const std::string &sanitize) const {
  std::vector<std::string> paths;
  for (const std::string &name : kRuntimeArchives)
    paths.push_back(join(root, sanitize.empty() ? "plain" : sanitize, name));
  return paths;
}

std::string Installation::emulation() const {
  return join(root, "libbaton_emulation.a");
}
