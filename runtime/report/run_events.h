// What a run's event files hold, as far as a report shows it.
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

// Also of a tensor of numbers that is for no dashboard and has two dimensions: a metric that is a
// matrix.
struct TextSummary {
  int64_t step = 0;
  std::string markdown;
};

struct HistogramSummary {
  int64_t step = 0;
  // counts[i] values lie between edges[i] and edges[i + 1]; there is one edge more than counts.
  std::vector<double> edges;
  std::vector<double> counts;
};

// Each map is by tag. Of images, texts and histograms only the latest is kept.
struct RunEvents {
  std::map<std::string, std::vector<ScalarPoint>> scalars;  // by step; as written within a step
  std::map<std::string, ImageSummary> images;
  std::map<std::string, TextSummary> texts;
  std::map<std::string, HistogramSummary> histograms;
  std::map<std::string, std::string> hparams;  // of plugin "hparams", by name

  bool IsEmpty() const {
    return scalars.empty() && images.empty() && texts.empty() && histograms.empty() &&
           hparams.empty();
  }
};

// Reads the files one event after the other. A START of a session drops what the run had from its
// step on, the first one excepted, as TensorBoard does. The damage that ends a file, which a killed
// or a running writer leaves, adds a line to *warnings; what stands before it counts, and so do the
// other files.
RunEvents ReadRunEvents(const std::vector<std::string>& event_files,
                        std::vector<std::string>* warnings);

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_REPORT_RUN_EVENTS_H_
