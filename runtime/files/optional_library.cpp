//===- optional_library.cpp - a library that is opened at run time --------===//

#include "runtime/files/optional_library.h"

#include "runtime/error.h"

#include <cstdlib>
#include <utility>

#include <dlfcn.h>

namespace baton {

OptionalLibrary::OptionalLibrary(OptionalLibraryName wanted)
    : name(std::move(wanted)) {
  const char *stated = std::getenv(name.variable);
  std::vector<std::string> candidates;
  if (stated) {
    candidates.push_back(stated);
  } else {
    std::vector<std::string> folders = {""};
    for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
      if (const char *toolkit = std::getenv(variable))
        folders.push_back(std::string(toolkit) + "/lib64/");
    folders.push_back("/usr/local/cuda/lib64/");
    for (const std::string &folder : folders)
      for (const std::string &file : name.files)
        candidates.push_back(folder + file);
  }
  for (const std::string &file : candidates)
    if ((handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL))) {
      opened_file = file;
      return;
    }
  std::string tried = stated ? stated : name.files.front();
  for (size_t i = 1; !stated && i < name.files.size(); ++i)
    tried += " or " + name.files[i];
  throw Error(name.name + name.purpose + " was not found (" + tried + "); " +
              name.variable + " names its file, CUDA_PATH a toolkit");
}

void *OptionalLibrary::address_of(const char *symbol) const {
  if (void *address = dlsym(handle, symbol))
    return address;
  throw Error(name.name + " (" + opened_file + ") is too old: it lacks " +
              symbol + "; this program needs " + name.needed);
}

} // namespace baton
