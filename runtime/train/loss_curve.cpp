//===- loss_curve.cpp - a run's losses as a picture ----------------------===//

#include "runtime/train/loss_curve.h"

#include "runtime/files/temporary.h"
#include "runtime/tokenizer/utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace baton {

namespace {

// Of the picture, and of the part with the curves.
constexpr double width = 800, height = 450;
constexpr double left = 70, right = 780, top = 50, bottom = 400;

constexpr const char *training_color = "#9db8d9";
constexpr const char *smoothed_color = "#1f4e8c";
constexpr const char *validation_color = "#c0392b";

/// Losses beyond it are as good as infinite, and differences of such ones
/// could be.
bool is_drawn(double loss) { return std::abs(loss) < 1e100; }

std::string number_text(double value) {
  char text[32];
  bool is_count = std::abs(value) < 1e9 && value == std::floor(value);
  std::snprintf(text, sizeof(text), is_count ? "%.0f" : "%.6g", value);
  // No tick at "-0".
  return std::string(text) == "-0" ? "0" : text;
}

/// A coordinate, to a hundredth of a pixel.
std::string pixels(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return text;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char character : replace_ill_formed(text)) {
    switch (character) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    default:
      // XML has no way to write other control characters.
      result += static_cast<unsigned char>(character) < ' ' ? ' ' : character;
    }
  }
  // Nor these two characters, U+FFFE and U+FFFF.
  for (std::string_view no_character : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (size_t at; (at = result.find(no_character)) != std::string::npos;)
      result.replace(at, no_character.size(), replacement_character);
  return result;
}

/// An interval of values, mapped to pixels.
struct Axis {
  double low, high;
  double first_pixel, last_pixel;
  /// Distance of ticks: 1, 2 or 5 times a power of ten.
  double tick;

  Axis(double least, double largest, double first_pixel, double last_pixel,
       double least_tick)
      : low(least), high(largest), first_pixel(first_pixel),
        last_pixel(last_pixel) {
    // A single value lies in the middle, and one that is hard to tell from its
    // neighbours is single.
    if (!(high - low > 1e-9 * std::max(std::abs(low), std::abs(high)))) {
      double margin = std::max(0.5, std::abs(low) / 100);
      low -= margin;
      high += margin;
    }
    constexpr double ticks = 6;
    double rough = (high - low) / ticks;
    double power = std::pow(10, std::floor(std::log10(rough)));
    tick = power * 10;
    for (double factor : {1.0, 2.0, 5.0})
      if (tick > power * factor && power * factor >= rough)
        tick = power * factor;
    tick = std::max(tick, least_tick);
  }

  double pixel(double value) const {
    return first_pixel +
           (value - low) / (high - low) * (last_pixel - first_pixel);
  }

  std::vector<double> ticks() const {
    std::vector<double> values;
    // Not by adding up: of a large value the tick would get lost.
    double first = std::ceil(low / tick);
    for (int i = 0; i < 20 && (first + i) * tick <= high; ++i)
      values.push_back((first + i) * tick);
    return values;
  }
};

/// A line through points, broken where there are gaps. Of the points in one
/// column of pixels the first, the least, the largest and the last are drawn.
std::string line(const std::vector<LossPoint> &points, const Axis &x,
                 const Axis &y, const char *color, double line_width) {
  std::string path;
  bool is_open = false;
  auto draw = [&](const LossPoint &point) {
    path += (is_open ? "L" : "M") + pixels(x.pixel(double(point.step))) + " " +
            pixels(y.pixel(point.loss));
    is_open = true;
  };
  for (size_t i = 0; i < points.size();) {
    if (!is_drawn(points[i].loss)) {
      is_open = false;
      ++i;
      continue;
    }
    double column = std::floor(x.pixel(double(points[i].step)));
    size_t least = i, largest = i, end = i;
    for (; end < points.size() && is_drawn(points[end].loss) &&
           std::floor(x.pixel(double(points[end].step))) == column;
         ++end) {
      least = points[end].loss < points[least].loss ? end : least;
      largest = points[end].loss > points[largest].loss ? end : largest;
    }
    std::vector<size_t> chosen = {i, least, largest, end - 1};
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    bool alone = !is_open && chosen.size() == 1;
    for (size_t index : chosen)
      draw(points[index]);
    // With round ends a line of no length is a dot.
    if (alone && (end == points.size() || !is_drawn(points[end].loss)))
      draw(points[i]);
    i = end;
  }
  if (path.empty())
    return "";
  return std::string("<path fill=\"none\" stroke=\"") + color +
         "\" stroke-width=\"" + number_text(line_width) +
         "\" stroke-linecap=\"round\" stroke-linejoin=\"round\" d=\"" + path +
         "\"/>\n";
}

/// An exponential moving average in both directions: in one alone it would lag
/// behind where the loss falls fast. Every gap stays one.
std::vector<LossPoint> smoothed(const std::vector<LossPoint> &points) {
  double span = std::max(1.0, double(points.size()) / 50);
  double decay = 1 - 2 / (span + 1);
  std::vector<double> sums(points.size()), weights(points.size());
  auto pass = [&](size_t index, double &sum, double &weight) {
    if (!is_drawn(points[index].loss))
      return;
    sum = decay * sum + (1 - decay) * points[index].loss;
    weight = decay * weight + (1 - decay);
    sums[index] += sum;
    weights[index] += weight;
  };
  double sum = 0, weight = 0;
  for (size_t i = 0; i < points.size(); ++i)
    pass(i, sum, weight);
  sum = weight = 0;
  for (size_t i = points.size(); i-- > 0;)
    pass(i, sum, weight);

  std::vector<LossPoint> result = points;
  for (size_t i = 0; i < points.size(); ++i)
    if (is_drawn(points[i].loss))
      result[i].loss = sums[i] / weights[i];
  return result;
}

std::string text(double x, double y, std::string_view anchor,
                 std::string_view content, std::string_view more = "") {
  return "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) +
         "\" text-anchor=\"" + std::string(anchor) + "\"" + std::string(more) +
         ">" + escaped(content) + "</text>\n";
}

std::string rule(double x1, double y1, double x2, double y2,
                 std::string_view color) {
  return "<path stroke=\"" + std::string(color) + "\" d=\"M" + pixels(x1) +
         " " + pixels(y1) + "L" + pixels(x2) + " " + pixels(y2) + "\"/>\n";
}

std::string dot(double x, double y) {
  return "<circle cx=\"" + pixels(x) + "\" cy=\"" + pixels(y) +
         "\" r=\"3.5\" fill=\"" + validation_color + "\"/>\n";
}

std::string legend(bool has_validation) {
  constexpr double line_height = 18, begin = right - 150;
  double y = top + 16;
  std::string result;
  auto entry = [&](const std::string &mark, std::string_view name) {
    result += mark + text(begin + 30, y + 4, "start", name);
    y += line_height;
  };
  auto stroke = [&](const char *color, const char *thickness) {
    return "<path stroke=\"" + std::string(color) + "\" stroke-width=\"" +
           thickness + "\" d=\"M" + pixels(begin) + " " + pixels(y) +
           "h22\"/>\n";
  };
  entry(stroke(training_color, "1"), "training");
  entry(stroke(smoothed_color, "2"), "training, smoothed");
  if (has_validation)
    entry(dot(begin + 11, y), "validation");
  return result;
}

} // namespace

std::string loss_curve_svg(const LossCurve &curve) {
  bool any = false;
  double first_step = 0, last_step = 0, least = 0, largest = 0;
  for (const auto *points : {&curve.training, &curve.validation})
    for (const auto &[number, loss] : *points) {
      double step = double(number);
      if (!is_drawn(loss))
        continue;
      first_step = any ? std::min(first_step, step) : step;
      last_step = any ? std::max(last_step, step) : step;
      least = any ? std::min(least, loss) : loss;
      largest = any ? std::max(largest, loss) : loss;
      any = true;
    }
  Axis x(first_step, last_step, left, right, 1);
  Axis y(least, largest, bottom, top, 0);

  std::string size = number_text(width) + " " + number_text(height);
  std::string svg = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " +
                    size + "\" width=\"" + number_text(width) + "\" height=\"" +
                    number_text(height) +
                    "\" font-family=\"sans-serif\" font-size=\"12\" "
                    "fill=\"#333333\">\n<title>" +
                    escaped(curve.title) +
                    "</title>\n<rect width=\"100%\" height=\"100%\" "
                    "fill=\"#ffffff\"/>\n";
  svg += text(width / 2, 28, "middle", curve.title, " font-size=\"16\"");
  if (any) {
    for (double value : y.ticks()) {
      svg += rule(left, y.pixel(value), right, y.pixel(value), "#e4e4e4");
      svg += text(left - 8, y.pixel(value) + 4, "end", number_text(value));
    }
    for (double value : x.ticks()) {
      svg +=
          rule(x.pixel(value), bottom, x.pixel(value), bottom + 5, "#333333");
      svg += text(x.pixel(value), bottom + 20, "middle", number_text(value));
    }
  } else {
    svg += text((left + right) / 2, (top + bottom) / 2, "middle", "no losses");
  }
  svg += rule(left, bottom, right, bottom, "#333333");
  svg += rule(left, top, left, bottom, "#333333");
  svg += text((left + right) / 2, bottom + 42, "middle", "step");
  svg += text(0, 0, "middle", "loss",
              " transform=\"translate(18 " + pixels((top + bottom) / 2) +
                  ") rotate(-90)\"");
  svg += line(curve.training, x, y, training_color, 1);
  svg += line(smoothed(curve.training), x, y, smoothed_color, 2);

  // A point a pixel is all that can be seen.
  double last_pixel = -1;
  for (const LossPoint &point : curve.validation) {
    double pixel = x.pixel(double(point.step));
    if (!is_drawn(point.loss) || std::abs(pixel - last_pixel) < 1)
      continue;
    svg += dot(pixel, y.pixel(point.loss));
    last_pixel = pixel;
  }
  return svg + legend(!curve.validation.empty()) + "</svg>\n";
}

void write_loss_curve(const std::filesystem::path &path,
                      const LossCurve &curve) {
  std::string svg = loss_curve_svg(curve);
  TemporaryFile file(path);
  file.write(svg.data(), svg.size(), 0);
  file.publish();
}

} // namespace baton
