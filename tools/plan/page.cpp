//===- page.cpp - pages that stand for themselves -------------------------===//

#include "tools/plan/page.h"

#include "runtime/error.h"
#include "runtime/main/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

using namespace baton;
using namespace baton::plan;

/// Told apart by people who see few colours, too (Okabe and Ito).
static constexpr std::array<const char *, 7> colours = {
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999"};

std::string plan::escaped(const std::string &text) {
  std::string out;
  for (char letter : text)
    switch (letter) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += letter;
    }
  return out;
}

static std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

static std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

static std::string svg_text(double x, double y, const std::string &text,
                            const char *anchor = "start") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) +
         "\" text-anchor=\"" + anchor + "\">" + escaped(text) + "</text>\n";
}

static std::string svg_line(double x1, double y1, double x2, double y2,
                            const char *colour) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" +
         number(x2) + "\" y2=\"" + number(y2) + "\" stroke=\"" + colour +
         "\"/>\n";
}

static std::string svg(double width, double height, const std::string &inside) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
         number(width) + " " + number(height) + "\" width=\"" + number(width) +
         "\">\n" + inside + "</svg>\n";
}

std::string plan::stacked_bars(const std::vector<std::string> &parts,
                               const std::vector<Bar> &bars,
                               const std::string &unit) {
  constexpr double left = 220, wide = 560, row = 24, line = 18;
  double most = 0;
  for (const Bar &bar : bars) {
    double sum = 0;
    for (double part : bar.parts)
      sum += part;
    most = std::max(most, sum);
  }
  std::string inside;
  double at = left, top = 28;
  for (size_t part = 0; part < parts.size(); ++part) {
    const double size = 30 + 7.5 * double(parts[part].size());
    if (at > left && at + size > left + wide + 100) {
      at = left;
      top += line;
    }
    inside += "<rect x=\"" + number(at) + "\" y=\"" + number(top - 22) +
              "\" width=\"12\" height=\"12\" fill=\"" +
              colours[part % colours.size()] + "\"/>\n" +
              svg_text(at + 16, top - 12, parts[part]);
    at += size;
  }
  for (size_t bar = 0; bar < bars.size(); ++bar) {
    const double y = top + row * double(bar);
    inside += svg_text(left - 8, y + 15, bars[bar].label, "end");
    double x = left, sum = 0;
    for (size_t part = 0; part < bars[bar].parts.size(); ++part) {
      const double size = bars[bar].parts[part];
      const double width = most > 0 ? wide * size / most : 0;
      inside +=
          "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" +
          number(width) + "\" height=\"" + number(row - 6) + "\" fill=\"" +
          colours[part % colours.size()] + "\"><title>" + escaped(parts[part]) +
          " " + short_number(size) + " " + escaped(unit) + "</title></rect>\n";
      x += width;
      sum += size;
    }
    inside += svg_text(x + 6, y + 15, short_number(sum) + " " + unit);
  }
  return svg(left + wide + 110, top + row * double(bars.size()) + 4, inside);
}

std::string plan::scatter(const std::vector<Point> &points,
                          const std::string &x, const std::string &y,
                          Axes axes) {
  constexpr double left = 70, top = 12, size = 400, bottom = 46;
  const bool logarithmic = axes != Axes::linear;
  auto scaled = [&](double value) {
    return logarithmic ? std::log10(value) : value;
  };
  std::array<double, 2> low = {1e300, 1e300}, high = {-1e300, -1e300};
  for (const Point &point : points)
    for (int axis : {0, 1}) {
      const double value = scaled(axis ? point.y : point.x);
      low[axis] = std::min(low[axis], value);
      high[axis] = std::max(high[axis], value);
    }
  if (axes == Axes::compared) {
    low.fill(std::min(low[0], low[1]));
    high.fill(std::max(high[0], high[1]));
  }
  for (int axis : {0, 1}) {
    const double margin = std::max((high[axis] - low[axis]) * .05, 1e-9);
    low[axis] -= margin;
    high[axis] += margin;
  }
  auto place = [&](double value, int axis) {
    const double part = (scaled(value) - low[axis]) / (high[axis] - low[axis]);
    return axis ? top + size * (1 - part) : left + size * part;
  };
  std::string inside = "<rect x=\"" + number(left) + "\" y=\"" + number(top) +
                       "\" width=\"" + number(size) + "\" height=\"" +
                       number(size) + "\" fill=\"none\" stroke=\"#999\"/>\n";
  for (int axis : {0, 1})
    for (double part : {.1, .5, .9}) {
      const double at = low[axis] + part * (high[axis] - low[axis]);
      const double value = logarithmic ? std::pow(10, at) : at;
      const double where = place(value, axis);
      inside +=
          axis ? svg_line(left - 4, where, left, where, "#999") +
                     svg_text(left - 6, where + 4, short_number(value), "end")
               : svg_line(where, top + size, where, top + size + 4, "#999") +
                     svg_text(where, top + size + 16, short_number(value),
                              "middle");
    }
  inside += svg_text(left + size / 2, top + size + 36, x, "middle");
  inside += "<text transform=\"translate(14 " + number(top + size / 2) +
            ") rotate(-90)\" text-anchor=\"middle\">" + escaped(y) +
            "</text>\n";
  if (axes == Axes::compared)
    inside += svg_line(left, top + size, left + size, top, "#999");
  if (axes == Axes::linear)
    for (size_t at = 1; at < points.size(); ++at)
      inside +=
          svg_line(place(points[at - 1].x, 0), place(points[at - 1].y, 1),
                   place(points[at].x, 0), place(points[at].y, 1), "#999");
  // Marked ones lie above the others.
  for (bool marked : {false, true})
    for (const Point &point : points)
      if (point.marked == marked)
        inside += "<circle cx=\"" + number(place(point.x, 0)) + "\" cy=\"" +
                  number(place(point.y, 1)) + "\" r=\"" + (marked ? "7" : "4") +
                  "\" fill=\"" + colours[marked ? 5 : 0] +
                  "\" fill-opacity=\".7\"><title>" + escaped(point.label) +
                  "</title></circle>\n";
  return svg(left + size + 20, top + size + bottom, inside);
}

std::string
plan::html_table(const std::vector<std::vector<std::string>> &rows) {
  std::string text = "<table>\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string cell = row == 0 ? "th" : "td";
    text += "<tr>";
    for (const std::string &inside : rows[row])
      text += "<" + cell + ">" + escaped(inside) + "</" + cell + ">";
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

void plan::write_page(const std::filesystem::path &file,
                      const std::string &title,
                      const std::vector<Section> &sections) {
  std::ofstream stream(file, std::ios::binary);
  stream << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta "
            "charset=\"utf-8\">\n<title>"
         << escaped(title)
         << "</title>\n<style>\nbody { font: 15px/1.5 sans-serif; margin: 2em "
            "auto; max-width: 960px; color: #222; }\nh1 { overflow-wrap: "
            "anywhere; font-size: 1.5em; }\n"
            ".wide { overflow-x: auto; } .wide svg { max-width: none; }\nsvg "
            "text { font-size: "
            "12px; fill: #222; }\nsvg { max-width: 100%; height: auto; "
            "}\ntable { border-collapse: collapse; }\nth, td { padding: 2px "
            "10px; text-align: right; border-bottom: 1px solid #ddd; "
            "}\n</style></head><body>\n<h1>"
         << escaped(title) << "</h1>\n";
  for (const Section &section : sections) {
    stream << "<h2>" << escaped(section.heading) << "</h2>\n";
    if (!section.text.empty())
      stream << "<p>" << escaped(section.text) << "</p>\n";
    stream << section.picture;
  }
  stream << "</body></html>\n";
  stream.close();
  if (!stream)
    throw Error(file.string() + ": cannot be written");
}
