#include "runtime/estimator/train_profile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "runtime/base/status.h"
#include "runtime/io/event_writer.h"
#include "runtime/io/file.h"
#include "runtime/profile/analyze.h"
#include "runtime/profile/machine_peaks.h"
#include "runtime/profile/profile_files.h"
#include "runtime/profile/xspace.h"

namespace tpurun {

RunProfile* TrainProfile::Begin(int64_t step, int64_t iterations) {
  if (!options_.train.profiled.has_value()) return nullptr;
  const int64_t first = std::max(options_.train.profiled->first, step + 1);
  const int64_t last = std::min(options_.train.profiled->last, step + iterations);
  if (first > last) return nullptr;
  const int64_t index = first - step - 1;
  loops_.push_back({.run = std::make_unique<RunProfile>(session_.program(), session_.num_workers(),
                                                        last - first + 1, index),
                    .first_step = first});
  return loops_.back().run.get();
}

absl::Status TrainProfile::End(int64_t step, bool last) {
  if (!options_.train.profiled.has_value() || done_) return absl::OkStatus();
  if (step < options_.train.profiled->last && !last) return absl::OkStatus();
  done_ = true;
  // A loop may have ended before its profiled steps.
  const auto is_empty = [](const Loop& loop) { return loop.run->step_ticks().size() < 2; };
  loops_.erase(std::remove_if(loops_.begin(), loops_.end(), is_empty), loops_.end());
  if (loops_.empty()) {
    LOG(WARNING) << "--profile_steps: none of the steps " << options_.train.profiled->first
                 << " to " << options_.train.profiled->last << " was run, there is no profile.";
    return absl::OkStatus();
  }
  const absl::Status written = Write();
  loops_.clear();
  return Annotate(written, "--profile_steps");
}

absl::Status TrainProfile::Write() {
  const CoreProgram& program = session_.program();
  proto::MachinePeaks peaks = MeasurePeaks(session_.num_workers());
  peaks.set_name(program.machine);
  XSpaceArgs xspace{.program = program,
                    .host_spans = options_.host_trace->spans(),
                    .host = HostName(),
                    .peaks = peaks};
  const Loop* longest = &loops_.front();
  for (const Loop& loop : loops_) {
    xspace.loops.push_back({.run = loop.run.get(), .first_step = loop.first_step});
    if (loop.run->step_ticks().size() > longest->run->step_ticks().size()) longest = &loop;
  }
  proto::Profile profile = Analyze({.program = program,
                                    .run = *longest->run,
                                    .machine = std::move(peaks),
                                    .batch_size = options_.config.train_batch_size()});
  profile.set_mode("train");
  const std::string date =
      absl::FormatTime("%Y_%m_%d_%H_%M_%S", absl::Now(), absl::LocalTimeZone());
  const std::string dir = absl::StrCat(options_.config.model_dir(), "/", kProfilesDir, "/", date);
  RETURN_IF_ERROR(MakeDirectories(dir));
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(dir, "/", xspace.host, ".xplane.pb"),
                                      MakeXSpace(xspace).SerializeAsString()));
  ASSIGN_OR_RETURN(const std::string json, ProfileJson(profile));
  RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(dir, "/", kProfileFile), json));
  LOG(INFO) << "Profile of steps " << loops_.front().first_step << " to "
            << loops_.back().first_step + std::ssize(loops_.back().run->step_ticks()) - 2 << ": "
            << dir << ".";
  return absl::OkStatus();
}

}  // namespace tpurun
