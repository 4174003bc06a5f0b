//===- Drawing.cpp - a schedule's timeline to look at ---------------------===//

#include "passes/pipeline/Drawing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace baton::pipeline;

/// The shortest time that a step takes, or all of it where none takes any.
static double shortestOf(const Timeline &timeline) {
  double shortest = timeline.total;
  for (const auto &entries : timeline.stages)
    for (const Timeline::Entry &entry : entries)
      if (entry.end > entry.start)
        shortest = std::min(shortest, entry.end - entry.start);
  return shortest;
}

std::string baton::pipeline::drawText(const Schedule &schedule,
                                      const Timeline &timeline, int width) {
  // A column for the shortest step, if all fit.
  double column = std::max(shortestOf(timeline), timeline.total / width);
  int columns = column > 0 ? int(std::ceil(timeline.total / column - 1e-9)) : 0;
  size_t digits = std::to_string(schedule.stages - 1).size();
  std::string text;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    std::string line(columns, '.');
    for (const Timeline::Entry &entry : timeline.stages[stage])
      for (int i = std::max(0, int(entry.start / column - 1)); i < columns;
           ++i) {
        double middle = (i + 0.5) * column;
        if (middle >= entry.end)
          break;
        if (middle >= entry.start)
          line[i] =
              (entry.step.chunk % 2 ? "fbw" : "FBW")[size_t(entry.step.phase)];
      }
    std::string number = std::to_string(stage);
    text +=
        std::string(digits - number.size(), ' ') + number + " " + line + "\n";
  }
  return text;
}

std::string baton::pipeline::drawSvg(const Schedule &schedule,
                                     const Timeline &timeline) {
  // Colours that differ in brightness, too; chunks are lighter one by one.
  static constexpr int kColours[3][3] = {
      {66, 133, 200}, {240, 173, 78}, {106, 168, 79}};
  static constexpr int kRow = 24, kLeft = 40, kTop = 28;
  double shortest = shortestOf(timeline);
  // Boxes have room for their numbers, pictures an end.
  double scale =
      shortest > 0 ? std::min(22 / shortest, 20000 / timeline.total) : 1;
  char line[512];
  std::string svg;
  std::snprintf(line, sizeof line,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                "height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
                kLeft + timeline.total * scale + 10,
                kTop + schedule.stages * kRow + 6);
  svg += line;
  std::snprintf(line, sizeof line,
                "<text x=\"4\" y=\"16\">%s: %d stages, %d microbatches, bubble "
                "%.2f %%</text>\n",
                schedule.name.c_str(), schedule.stages, schedule.microbatches,
                100 * timeline.bubble);
  svg += line;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    int y = kTop + stage * kRow;
    std::snprintf(line, sizeof line, "<text x=\"4\" y=\"%d\">%d</text>\n",
                  y + 15, stage);
    svg += line;
    for (const Timeline::Entry &entry : timeline.stages[stage]) {
      const int *colour = kColours[size_t(entry.step.phase)];
      double light = 0.6 * entry.step.chunk / std::max(1, schedule.chunks);
      auto shade = [&](int part) { return int(part + (255 - part) * light); };
      double x = kLeft + entry.start * scale;
      double width = (entry.end - entry.start) * scale;
      std::snprintf(line, sizeof line,
                    "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
                    "fill=\"#%02x%02x%02x\" stroke=\"white\"><title>%s: %g to "
                    "%g</title></rect>\n",
                    x, y, width, kRow - 4, shade(colour[0]), shade(colour[1]),
                    shade(colour[2]), toText(entry.step).c_str(), entry.start,
                    entry.end);
      svg += line;
      if (width < 12)
        continue;
      std::snprintf(line, sizeof line,
                    "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\" "
                    "pointer-events=\"none\">%d</text>\n",
                    x + width / 2, y + 14, entry.step.microbatch);
      svg += line;
    }
  }
  return svg + "</svg>\n";
}
