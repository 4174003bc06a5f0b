//===- calibration.cpp - the inputs of a model's linears on a text --------===//

#include "tools/quantize/calibration.h"

#include "runtime/error.h"
#include "tools/command/child.h"

#include <vector>

namespace baton {

namespace fs = std::filesystem;

Importance calibrate(const CalibrationOptions &options) {
  if (!fs::is_regular_file(options.text))
    throw Error("--calibration: " + options.text.string() +
                (fs::exists(options.text) ? " is no plain file; give one text"
                                          : ": no such file"));
  const ScratchFolder folder(fs::absolute(options.folder));
  const std::string program = (folder.path / "program").string(),
                    squares = (folder.path / "squares.safetensors").string();
  std::vector<std::string> compiling = {options.batonc,
                                        options.model.string(),
                                        "-o",
                                        program,
                                        "--disable-pass=norm-rewrites",
                                        "--quiet"},
                           measuring = {program,
                                        "calibrate",
                                        "--weights=" + options.model.string(),
                                        "--data=" + options.text.string(),
                                        "--windows=" +
                                            std::to_string(options.windows),
                                        "--out=" + squares,
                                        "--no-cache"};
  if (options.quiet)
    measuring.push_back("--quiet");
  run_child(compiling);
  run_child(measuring);
  return Importance(squares);
}

} // namespace baton
