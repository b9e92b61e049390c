// Draws curves in a terminal with Unicode's braille patterns: 2 by 4 dots per character.
#ifndef TPURUN_RUNTIME_REPORT_TEXT_CHART_H_
#define TPURUN_RUNTIME_REPORT_TEXT_CHART_H_

#include <span>
#include <string>

#include "runtime/report/run_events.h"

namespace tpurun {

struct TextCurve {
  char label = 'a';  // printed after the curve's last value
  std::span<const ScalarPoint> points;
};

inline constexpr int kMinTextWidth = 40;

// A chart of the curves over their steps, `width` columns wide (kMinTextWidth or more), with
// labelled axes. Each line ends in "\n". Values that are not finite are left out.
std::string TextChart(std::span<const TextCurve> curves, int width);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_TEXT_CHART_H_
