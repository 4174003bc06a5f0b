//===- pages.h - pages of what was measured -------------------------------===//

#ifndef BATON_TOOLS_CALIBRATE_PAGES_H
#define BATON_TOOLS_CALIBRATE_PAGES_H

#include "tools/calibrate/sweep.h"
#include "tools/plan/device.h"

#include <filesystem>
#include <vector>

namespace baton::calibrate {

/// A measured device's linears beside its peak and its memory, and all of its
/// tables. Throws Error, naming the file.
void write_device_page(const std::filesystem::path &file,
                       const plan::Device &device);

/// What has become slower. Throws Error, naming the file.
void write_sweep_page(const std::filesystem::path &file,
                      const plan::Device &device,
                      const std::vector<Indicator> &indicators,
                      double tolerance);

} // namespace baton::calibrate

#endif // BATON_TOOLS_CALIBRATE_PAGES_H
