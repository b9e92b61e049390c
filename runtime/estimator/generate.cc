// Estimator::Generate: continues a text with a sequence model, character by character.
#include "runtime/estimator/generate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/estimator/estimator.h"
#include "runtime/estimator/eval_step.h"
#include "runtime/estimator/setup.h"
#include "runtime/ir/structural.h"
#include "runtime/session/infeed.h"
#include "runtime/session/outfeed.h"
#include "runtime/session/session.h"

namespace tpurun {
namespace {

constexpr char kLogits[] = "logits";

// The graph of a generation step: one row on one core.
struct GenerationGraph {
  Graph graph;  // its only output is the logits
  SequenceStep step = SequenceStep::kWhole;
  FeatureSpec feature;           // the feature that it reads: the ids of a step's positions
  std::set<std::string> unread;  // the names of the other infeed slots
  int64_t positions = 0;         // EstimatorSpec::positions
};

// Returns InvalidArgument for predict.generate, or for its field `field` if that is not empty.
absl::Status Refusal(const EstimatorOptions& options, const std::string& field,
                     const std::string& message) {
  const std::string path = absl::StrCat("predict.generate", field.empty() ? "" : ".", field);
  return absl::InvalidArgumentError(absl::StrCat(options.where(path), ": ", message));
}

// Returns the name of the prediction that has the logits.
absl::StatusOr<std::string> LogitsOf(const EstimatorOptions& options, const EstimatorSpec& spec) {
  std::vector<std::string> found;
  for (const NamedValue& prediction : spec.predictions) {
    if (prediction.name == kLogits || absl::EndsWith(prediction.name, "/logits")) {
      found.push_back(prediction.name);
    }
  }
  if (found.size() == 1) return found[0];
  return Refusal(options, "",
                 absl::StrCat("generate wants a model with one head sequence or classification, "
                              "whose logits are of characters; got ",
                              found.size(), " predictions called logits"));
}

bool SameModelVariables(const Graph& a, const Graph& b) {
  const auto of_model = [](const Graph& graph) {
    std::vector<std::pair<std::string, Shape>> variables;
    for (const Variable& variable : graph.variables()) {
      if (variable.scope == Variable::Scope::kModel) {
        variables.emplace_back(variable.name, variable.shape);
      }
    }
    return variables;
  };
  return of_model(a) == of_model(b);
}

// Returns the names of the infeed slots that no output and no update depends on.
std::set<std::string> UnreadSlots(const Graph& graph) {
  std::vector<bool> read(graph.nodes().size(), false);
  for (const Output& output : graph.outputs()) read[output.value.node] = true;
  for (const Update& update : graph.updates()) read[update.value.node] = true;
  std::set<std::string> unread;
  for (const InfeedSlot& slot : graph.infeed()) unread.insert(slot.name);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    if (!read[i]) continue;
    const Node& node = graph.nodes()[i];
    for (const Value input : node.inputs) read[input.node] = true;
    if (node.op == &InfeedOp()) unread.erase(graph.infeed()[node.attrs.Int("slot")].name);
  }
  return unread;
}

// Returns the only feature that a graph reads. InvalidArgument if there is not exactly one, or if
// it is not a list of ids.
absl::StatusOr<FeatureSpec> OnlyFeature(const EstimatorOptions& options,
                                        const std::set<std::string>& unread) {
  std::vector<FeatureSpec> read;
  for (const FeatureSpec& feature : options.features) {
    if (!feature.is_label && unread.count(feature.name) == 0) read.push_back(feature);
  }
  const auto is_text = [](const Shape& shape) {
    return shape.rank() == 1 && (shape.dtype == DType::kS32 || shape.dtype == DType::kS64);
  };
  if (read.size() == 1 && is_text(read[0].shape)) return read[0];
  std::vector<std::string> got;
  for (const FeatureSpec& feature : read) {
    got.push_back(absl::StrCat(Quote(feature.name), " ", feature.shape.ToString()));
  }
  return Refusal(options, "",
                 absl::StrCat("generate wants a model that reads one feature, the ids of "
                              "characters, INT32 or INT64 of one dimension; got ",
                              got.empty() ? "none" : absl::StrJoin(got, ", ")));
}

// Builds the model for one position if its states have everything that it needs of other positions.
// Otherwise builds it for a whole window, which is computed for each character.
absl::StatusOr<GenerationGraph> BuildGenerationGraph(const EstimatorOptions& options) {
  const auto build = [&](SequenceStep step) {
    return CallModelFn(options, ModeKey::kPredict, 1, false, step);
  };
  ASSIGN_OR_RETURN(EstimatorSpec window, build(SequenceStep::kWhole));
  ASSIGN_OR_RETURN(const std::string logits, LogitsOf(options, window));
  const absl::StatusOr<EstimatorSpec> position = build(SequenceStep::kPosition);
  const bool carries = position.ok() && SameModelVariables(position->graph, window.graph);
  GenerationGraph built;
  if (carries) {
    built.step = SequenceStep::kPosition;
    built.positions = position->positions;
  }
  ASSIGN_OR_RETURN(built.graph, BuildPredictStep(carries ? *position : std::move(window), {logits},
                                                 options.where("predict.generate")));
  built.unread = UnreadSlots(built.graph);
  ASSIGN_OR_RETURN(built.feature, OnlyFeature(options, built.unread));
  if (carries) built.feature.shape.dims = {1};
  return built;
}

void WriteIds(const std::vector<int64_t>& ids, DType dtype, void* buffer) {
  if (dtype == DType::kS64) {
    std::memcpy(buffer, ids.data(), ids.size() * sizeof(int64_t));
  } else {
    const std::vector<int32_t> narrow(ids.begin(), ids.end());
    std::memcpy(buffer, narrow.data(), narrow.size() * sizeof(int32_t));
  }
}

// Two windows that begin with the ids of `begin`. The rest is id 0 in the first window and the
// largest id in the second.
class PaddedWindows : public BatchSource {
 public:
  PaddedWindows(std::vector<int64_t> begin, int64_t num_ids, const FeatureSpec& feature)
      : begin_(std::move(begin)), num_ids_(num_ids), feature_(feature) {}

  absl::StatusOr<int64_t> Next(BatchBuffers buffers) override {
    if (given_ == 2) return 0;
    std::vector<int64_t> ids = begin_;
    ids.resize(feature_.shape.dims[0], given_++ == 0 ? 0 : num_ids_ - 1);
    WriteIds(ids, feature_.shape.dtype, buffers[0]);
    return 1;
  }
  std::string Position() const override { return ""; }
  absl::Status Restore(const std::string&) override { return absl::OkStatus(); }
  std::string Where(int64_t) const override { return "start_string"; }

 private:
  const std::vector<int64_t> begin_;
  const int64_t num_ids_;
  const FeatureSpec feature_;
  int given_ = 0;
};

// Feeds the steps of a generation from `source`.
absl::StatusOr<InfeedPtr> MakeInfeed(const GenerationGraph& built,
                                     std::unique_ptr<BatchSource> source,
                                     const CoreProgram& program) {
  return Infeed::Create({built.feature}, std::move(source), program,
                        {.batch_size = 1,
                         .pad = true,
                         .ended_message = [](int64_t) { return "the text ended"; },
                         .unread = built.unread});
}

// True if the logits of the last id of `start` depend on the ids after it in the window. The start
// must then fill the window.
absl::StatusOr<bool> LooksAhead(const GenerationGraph& built, const TextStart& start,
                                Session& session) {
  const CoreProgram& program = session.program();
  const int64_t classes = program.outfeed[0].shape.dims.back();
  ASSIGN_OR_RETURN(
      const InfeedPtr infeed,
      MakeInfeed(built, std::make_unique<PaddedWindows>(start.ids, start.num_ids, built.feature),
                 program));
  std::vector<std::string> said;
  Outfeed outfeed(program, [&](int64_t, const std::byte* slots) {
    const int64_t bytes = classes * static_cast<int64_t>(sizeof(float));
    const auto* of_last =
        reinterpret_cast<const char*>(slots) + (std::ssize(start.ids) - 1) * bytes;
    said.emplace_back(of_last, bytes);
    return absl::OkStatus();
  });
  infeed->Start();
  const RunResult result = session.RunLoop({.iterations = 2}, *infeed, &outfeed);
  RETURN_IF_ERROR(outfeed.Finish());
  RETURN_IF_ERROR(result.status);
  return said[0] != said[1];
}

}  // namespace

absl::StatusOr<int64_t> SampleId(std::span<const float> logits, const Sampling& sampling,
                                 int64_t index) {
  for (const float logit : logits) {
    if (std::isnan(logit)) return absl::AbortedError("the model's logits are NaN");
  }
  std::vector<int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto larger = [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const bool greedy = sampling.temperature == 0;
  const size_t kept = greedy ? 1 : sampling.top_k == 0 ? ids.size() : sampling.top_k;
  if (kept < ids.size()) {
    std::nth_element(ids.begin(), ids.begin() + static_cast<int64_t>(kept), ids.end(), larger);
    ids.resize(kept);
    std::sort(ids.begin(), ids.end());
  }
  if (greedy) return ids[0];
  const float most = logits[*std::min_element(ids.begin(), ids.end(), larger)];
  std::vector<double> sums;  // cumulative sums of exp((z - max) / temperature)
  double sum = 0;
  for (const int64_t id : ids) {
    // Avoids inf - inf: an id with the largest logit has the difference 0.
    const double below = logits[id] == most ? 0 : static_cast<double>(logits[id]) - most;
    sums.push_back(sum += std::exp(below / sampling.temperature));
  }
  const uint32_t bits = PhiloxElement(static_cast<uint64_t>(sampling.seed), StreamOf("generate"), 0,
                                      0, static_cast<uint64_t>(index));
  const double drawn = bits * 0x1p-32 * sum;
  const auto at = std::upper_bound(sums.begin(), sums.end(), drawn);
  return ids[std::min<size_t>(at - sums.begin(), ids.size() - 1)];
}

void GrowingText::Append(int64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ids_.push_back(id);
  changed_.notify_all();
}

void GrowingText::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::vector<int64_t> GrowingText::Get(int64_t begin, int64_t end) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto known = [&] { return forgotten_ + std::ssize(ids_); };
  changed_.wait(lock, [&] { return closed_ || known() >= end; });
  if (closed_) return {};
  return {ids_.begin() + (begin - forgotten_), ids_.begin() + (end - forgotten_)};
}

void GrowingText::Forget(int64_t begin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (begin <= forgotten_) return;
  ids_.erase(ids_.begin(), ids_.begin() + (begin - forgotten_));
  forgotten_ = begin;
}

int64_t ReadingOrder::Last(int64_t step) const {
  if (positions == 0) return first + step;
  return first + step / positions * (positions - positions / 2) + step % positions;
}

int64_t ReadingOrder::First(int64_t step) const {
  if (positions == 0) return Last(step);
  const int64_t next_begin = step - step % positions + positions;
  return std::min(Last(step), Last(next_begin));
}

bool ReadingOrder::IsAgain(int64_t step) const {
  return positions > 0 && step >= positions && step % positions < positions / 2;
}

GeneratedWindows::GeneratedWindows(GrowingText& text, const FeatureSpec& feature,
                                   const ReadingOrder& order)
    : text_(text), dtype_(feature.shape.dtype), window_(feature.shape.dims[0]), order_(order) {}

absl::StatusOr<int64_t> GeneratedWindows::Next(BatchBuffers buffers) {
  const auto begin_of = [this](int64_t last) { return std::max<int64_t>(0, last + 1 - window_); };
  const int64_t last = order_.Last(step_++);
  std::vector<int64_t> ids = text_.Get(begin_of(last), last + 1);
  if (ids.empty()) return 0;
  text_.Forget(begin_of(order_.First(step_)));
  ids.resize(window_);
  WriteIds(ids, dtype_, buffers[0]);
  return 1;
}

absl::Status GeneratedWindows::Restore(const std::string& position) {
  return absl::InvalidArgumentError("a generated text has no positions");
}

absl::Status Estimator::Generate(const StartFn& start_fn, const proto::Generate& generate,
                                 const std::string& checkpoint,
                                 const std::function<absl::Status(int64_t id)>& on_result) {
  ASSIGN_OR_RETURN(const std::optional<Checkpoint> chosen,
                   TrainedCheckpoint(options_, ModeKey::kPredict, checkpoint));
  EstimatorOptions options = options_;
  options.topology = Topology();
  ASSIGN_OR_RETURN(const GenerationGraph built, BuildGenerationGraph(options));
  ASSIGN_OR_RETURN(const TrainedFolder trained, TrainedFolderOf(options, chosen));
  ASSIGN_OR_RETURN(const TextStart given, start_fn(trained));
  const std::vector<int64_t>& start = given.ids;
  Session session(1, options.topology);
  RETURN_IF_ERROR(session.Load(built.graph, MakeCompileOptions(options)));
  RETURN_IF_ERROR(SetVariables(options, chosen, false, built.graph.variables(), session));
  if (chosen.has_value()) RETURN_IF_ERROR(WarnOfDrift(options, *chosen, ModeKey::kPredict));
  RETURN_IF_ERROR(options.after_checks());
  const CoreProgram& program = session.program();
  const int64_t positions = built.feature.shape.dims[0];
  const Shape& logits = program.outfeed[0].shape;  // (1, positions, classes) or (1, classes)
  const int64_t classes = logits.dims.back();
  if (classes < given.num_ids) {
    return Refusal(options, "vocabulary_file",
                   absl::StrCat("the model has ", classes, " classes, and the vocabulary ",
                                given.num_ids, " characters; want at most as many"));
  }
  if (generate.top_k() > classes) {
    return Refusal(options, "top_k",
                   absl::StrCat("top_k must be at most ", classes,
                                ", the classes of the model, got ", generate.top_k()));
  }
  const bool of_each = logits.rank() == 3;
  if (built.step == SequenceStep::kWhole && std::ssize(start) < positions) {
    bool wants_all = !of_each;
    if (of_each) {
      ASSIGN_OR_RETURN(wants_all, LooksAhead(built, given, session));
    }
    if (wants_all) {
      return Refusal(options, "start_string",
                     absl::StrCat("start_string has ", start.size(), " character",
                                  start.size() == 1 ? "" : "s", ", and the model wants the ",
                                  positions, " before each"));
    }
  }
  // A model with states reads every character from the first on. A window has the last characters
  // that fit.
  const ReadingOrder order = {.first = built.step == SequenceStep::kPosition
                                           ? 0
                                           : std::max<int64_t>(0, std::ssize(start) - 1),
                              .positions = built.positions};
  GrowingText text(start);
  const Sampling sampling = {.temperature = generate.temperature(),
                             .top_k = generate.top_k(),
                             .seed = options.config.tf_random_seed()};
  ASSIGN_OR_RETURN(
      const InfeedPtr infeed,
      MakeInfeed(built, std::make_unique<GeneratedWindows>(text, built.feature, order), program));
  int64_t drawn = 0;
  const auto draw = [&](int64_t step, const std::byte* slots) -> absl::Status {
    const int64_t last = order.Last(step);
    if (last + 1 < std::ssize(start) || order.IsAgain(step) || drawn == generate.num_generate()) {
      return absl::OkStatus();
    }
    const int64_t position = of_each ? std::min(last, positions - 1) : 0;
    const auto* values = reinterpret_cast<const float*>(slots) + position * classes;
    // An id without a character (unknown_id, which follows the vocabulary) is never drawn.
    ASSIGN_OR_RETURN(const int64_t id,
                     SampleId({values, static_cast<size_t>(given.num_ids)}, sampling, drawn));
    RETURN_IF_ERROR(on_result(id));
    if (options.on_examples) options.on_examples(drawn + 1);
    if (++drawn == generate.num_generate()) {
      text.Close();
    } else {
      text.Append(id);
    }
    return absl::OkStatus();
  };
  Outfeed outfeed(program, [&](int64_t step, const std::byte* slots) {
    const absl::Status drawing = draw(step, slots);
    // Otherwise the infeed would wait for a character forever.
    if (!drawing.ok()) text.Close();
    return drawing;
  });
  infeed->Start();
  const RunResult result = session.RunLoop(
      {.iterations = std::numeric_limits<int64_t>::max(), .interrupt = options.interrupt}, *infeed,
      &outfeed);
  text.Close();  // whatever the reason of the end
  RETURN_IF_ERROR(outfeed.Finish());
  if (result.interrupted) {
    return absl::CancelledError(absl::StrCat("interrupted after ", drawn, " characters"));
  }
  const bool ended = absl::IsOutOfRange(result.status) && infeed->ended();
  return ended ? absl::OkStatus() : result.status;
}

}  // namespace tpurun
