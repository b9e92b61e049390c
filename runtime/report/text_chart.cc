#include "runtime/report/text_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tpurun {
namespace {

constexpr int kRows = 10;
constexpr int kDotsAcross = 2;
constexpr int kDotsDown = 4;
// Letters behind the curves' ends, at most so many in a row.
constexpr size_t kLabelColumns = 8;

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  // Where `value` lies, in [0, 1]; in the middle of an empty range. Halves do not overflow.
  double Place(double value) const {
    const double size = greatest / 2 - least / 2;
    return size > 0 ? (value / 2 - least / 2) / size : 0.5;
  }
};

// A grid of dots, from the upper left.
class BrailleCanvas {
 public:
  BrailleCanvas(int columns, int rows)
      : columns_(columns), rows_(rows), cells_(static_cast<size_t>(columns) * rows, 0) {}

  int dots_across() const { return columns_ * kDotsAcross; }
  int dots_down() const { return rows_ * kDotsDown; }

  void DrawLine(int x0, int y0, int x1, int y1) {
    const int length = std::max({std::abs(x1 - x0), std::abs(y1 - y0), 1});
    for (int i = 0; i <= length; ++i) {
      Set(x0 + Rounded((x1 - x0) * i, length), y0 + Rounded((y1 - y0) * i, length));
    }
  }

  // Without the blanks at its end.
  std::string Row(int row) const {
    std::string text;
    const int width = RowWidth(row);
    for (int column = 0; column < width; ++column) absl::StrAppend(&text, Utf8(Cell(column, row)));
    return text;
  }
  int RowWidth(int row) const {
    int width = columns_;
    while (width > 0 && Cell(width - 1, row) == 0) --width;
    return width;
  }

 private:
  static int Rounded(int numerator, int denominator) {
    return static_cast<int>(std::lround(static_cast<double>(numerator) / denominator));
  }
  unsigned char Cell(int column, int row) const { return cells_[row * columns_ + column]; }

  void Set(int x, int y) {
    // U+2800 plus a bit a dot: the upper six column by column, then the lowest two.
    static constexpr unsigned char kBits[kDotsDown][kDotsAcross] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[y / kDotsDown * columns_ + x / kDotsAcross] |= kBits[y % kDotsDown][x % kDotsAcross];
  }

  static std::string Utf8(unsigned char bits) {
    if (bits == 0) return " ";
    return {'\xe2', static_cast<char>(0xa0 | bits >> 6), static_cast<char>(0x80 | (bits & 0x3f))};
  }

  const int columns_;
  const int rows_;
  std::vector<unsigned char> cells_;
};

// What is drawn and where: dots by step and value.
class Plot {
 public:
  Plot(std::span<const TextCurve> curves, int columns) : canvas_(columns, kRows), labels_(kRows) {
    for (const TextCurve& curve : curves) {
      for (const ScalarPoint& point : curve.points) {
        if (!std::isfinite(point.value)) continue;
        steps_.Include(static_cast<double>(point.step));
        values_.Include(point.value);
      }
    }
    for (const TextCurve& curve : curves) Draw(curve);
  }

  const Range& steps() const { return steps_; }
  const Range& values() const { return values_; }
  const BrailleCanvas& canvas() const { return canvas_; }
  const std::string& labels(int row) const { return labels_[row]; }

 private:
  void Draw(const TextCurve& curve) {
    int last_x = -1;
    int last_y = -1;
    for (const ScalarPoint& point : curve.points) {
      if (!std::isfinite(point.value)) continue;
      const double across = steps_.Place(static_cast<double>(point.step));
      const int x = Dot(across, canvas_.dots_across());
      const int y = Dot(1 - values_.Place(point.value), canvas_.dots_down());
      canvas_.DrawLine(last_x < 0 ? x : last_x, last_x < 0 ? y : last_y, x, y);
      last_x = x;
      last_y = y;
    }
    if (last_x < 0) return;
    std::string& labels = labels_[last_y / kDotsDown];
    if (labels.size() < kLabelColumns) {
      labels.push_back(curve.label);
    } else {
      labels.back() = '+';
    }
  }

  static int Dot(double place, int dots) {
    return static_cast<int>(std::lround(std::clamp(place, 0.0, 1.0) * (dots - 1)));
  }

  Range steps_;
  Range values_;
  BrailleCanvas canvas_;
  std::vector<std::string> labels_;  // of each row
};

}  // namespace

std::string TextChart(std::span<const TextCurve> curves, int width) {
  constexpr int kAxisColumns = 11;  // a number and " |"
  const int columns = width - kAxisColumns - static_cast<int>(kLabelColumns) - 1;
  const Plot plot(curves, columns);
  if (plot.values().least > plot.values().greatest) return "  (no finite value)\n";
  std::string text;
  for (int row = 0; row < kRows; ++row) {
    std::string number;
    if (row == 0) number = absl::StrFormat("%.4g", plot.values().greatest);
    if (row == kRows - 1) number = absl::StrFormat("%.4g", plot.values().least);
    std::string line = absl::StrFormat("%9s |%s", number, plot.canvas().Row(row));
    if (!plot.labels(row).empty()) {
      absl::StrAppend(&line, std::string(columns - plot.canvas().RowWidth(row) + 1, ' '),
                      plot.labels(row));
    }
    absl::StrAppend(&text, line, "\n");
  }
  const std::string first = absl::StrFormat("%.0f", plot.steps().least);
  const std::string last = absl::StrFormat("%.0f", plot.steps().greatest);
  const int gap = std::max(1, columns - static_cast<int>(first.size() + last.size()));
  absl::StrAppend(&text, std::string(kAxisColumns - 1, ' '), "+", std::string(columns, '-'), "\n",
                  std::string(kAxisColumns, ' '), first, std::string(gap, ' '), last, "\n");
  return text;
}

}  // namespace tpurun
