// The contents of a run's event files that a report shows.
#ifndef TPURUN_RUNTIME_REPORT_RUN_EVENTS_H_
#define TPURUN_RUNTIME_REPORT_RUN_EVENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpurun {

struct ScalarPoint {
  int64_t step = 0;
  double wall_time = 0;  // seconds since 1970
  double value = 0;      // may be NaN or infinite
};

struct ImageSummary {
  int64_t step = 0;
  std::string media_type;  // "image/png"
  std::string bytes;
};

// A text. Also a metric that is a matrix: a tensor of numbers with two dimensions that no dashboard
// shows.
struct TextSummary {
  int64_t step = 0;
  std::string markdown;
};

struct HistogramSummary {
  int64_t step = 0;
  // counts[i] values are between edges[i] and edges[i + 1]. There is one edge more than counts.
  std::vector<double> edges;
  std::vector<double> counts;
};

// Maps by tag. Only the latest image, text and histogram of a tag is kept.
struct RunEvents {
  // in the order in which they were written
  std::map<std::string, std::vector<ScalarPoint>> scalars;
  std::map<std::string, ImageSummary> images;
  std::map<std::string, TextSummary> texts;
  std::map<std::string, HistogramSummary> histograms;
  std::map<std::string, std::string> hparams;  // from plugin "hparams", by name

  bool IsEmpty() const {
    return scalars.empty() && images.empty() && texts.empty() && histograms.empty() &&
           hparams.empty();
  }
};

// Reads the files event by event. Each START of a session except the first drops the values of the
// run from its step on, as TensorBoard does. Damage that ends a file, as a killed or running writer
// leaves, adds a line to *warnings. The events before the damage and the other files count.
RunEvents ReadRunEvents(const std::vector<std::string>& event_files,
                        std::vector<std::string>* warnings);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_RUN_EVENTS_H_
