#include "runtime/session/infeed.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/cpu.h"
#include "runtime/base/dcheck.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/base/threads.h"

namespace tpurun {
namespace {

// The producer wakes once for each block of entries. 256 KiB keeps a block in the level-2 cache. 64
// steps limit the number of batches that PositionAfter replays.
constexpr int64_t kBlockBytes = 256 << 10;
constexpr int64_t kMaxBlockSteps = 64;
constexpr int64_t kBlocks = 4;
// A pipeline's position of up to this many bytes is stored after each batch. A longer position,
// which has the buffer of a shuffle, is stored once for each block; PositionAfter then reads the
// batches after it again.
constexpr size_t kLongPosition = 1024;
constexpr char kLowerPrefetch[] = "lower the buffer_size of prefetch";
// The time that the thread may need to notice that it must end.
constexpr std::chrono::seconds kStuckAfter(1);

int64_t BlockSteps(int64_t entry_bytes) {
  return std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(entry_bytes, 1), 1, kMaxBlockSteps);
}

// Returns the number of entries of the ring. Beyond the queue it has room only for batches that
// will be needed.
int64_t Capacity(int64_t entry_bytes, const InfeedOptions& options) {
  const int64_t queue = kBlocks * BlockSteps(entry_bytes);
  const int64_t wanted = queue + std::clamp<int64_t>(options.prefetch, 0, INT64_MAX - queue);
  return options.num_batches < 0 ? wanted : std::min(wanted, std::max(queue, options.num_batches));
}

absl::Status CheckRingFits(int64_t entry_bytes, const InfeedOptions& options) {
  const double bytes =
      static_cast<double>(entry_bytes) * static_cast<double>(Capacity(entry_bytes, options));
  if (bytes <= static_cast<double>(MemoryBytes())) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "does not fit in memory: want ", BytesText(bytes), " for ", Capacity(entry_bytes, options),
      " batches prepared ahead, there is ", BytesText(MemoryBytes()), "; ", kLowerPrefetch));
}

int64_t RowBytes(const Shape& shape) { return shape.bytes() / std::max<int64_t>(shape.dims[0], 1); }

// Element i of numbers of that type.
double NumberAt(DType dtype, const std::byte* values, int64_t i) {
  switch (dtype) {
    case DType::kF32:
      return reinterpret_cast<const float*>(values)[i];
    case DType::kBF16:
      return FromBFloat16Bits(reinterpret_cast<const uint16_t*>(values)[i]);
    case DType::kS32:
      return reinterpret_cast<const int32_t*>(values)[i];
    case DType::kS64:
      return static_cast<double>(reinterpret_cast<const int64_t*>(values)[i]);
    default:
      return 0;  // of no sign
  }
}

int SlotOf(const Node& node) {
  return node.op->flags.source && node.attrs.Has("slot") ? node.attrs.Int("slot") : -1;
}

// Returns the infeed slot that has the same elements as `value`, or, but for one that is no class,
// the same classes (InfeedSlot::ignored); -1 if `value` is computed.
int SlotBehind(const Graph& graph, Value value) {
  const Node* node = &graph.nodes()[value.node];
  while (node->op->flags.copies_elements && node->inputs.size() == 1 &&
         graph.shape(node->inputs[0]).num_elements() == node->shapes[0].num_elements()) {
    node = &graph.nodes()[node->inputs[0].node];
  }
  if (!node->op->flags.elementwise) return SlotOf(*node);
  // Of the select that gives a class for the ignored id.
  if (node->inputs.size() != 3) return -1;
  for (const Value read : node->inputs) {
    const int slot = SlotOf(graph.node(read));
    if (slot >= 0 && graph.infeed()[slot].ignored.has_value()) return slot;
  }
  return -1;
}

}  // namespace

std::map<std::string, int64_t> ClassesOf(const Graph& graph) {
  std::map<std::string, int64_t> classes;
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const OpFlags& flags = node.op->flags;
      const bool of_rows = HasOperand(flags.row_ids, static_cast<int>(i));
      if (!of_rows && !HasOperand(flags.class_ids, static_cast<int>(i))) continue;
      const int slot = SlotBehind(graph, node.inputs[i]);
      if (slot < 0) continue;
      const std::vector<int64_t>& dims = graph.shape(node.inputs[0]).dims;
      const int64_t wanted = of_rows ? dims[node.attrs.Int(kBatchDims)] : dims.back();
      const auto [known, added] = classes.try_emplace(graph.infeed()[slot].name, wanted);
      known->second = std::min(known->second, wanted);
    }
  }
  return classes;
}

void StopAndDelete::operator()(Infeed* infeed) const {
  if (infeed->Stop()) delete infeed;
}

absl::StatusOr<InfeedPtr> Infeed::Create(const std::vector<FeatureSpec>& features,
                                         std::unique_ptr<BatchSource> source,
                                         const CoreProgram& program, InfeedOptions options) {
  const std::string what = absl::StrCat("the infeed's batches of ", options.batch_size, " rows");
  const std::vector<InfeedSlot>& slots = program.infeed;
  const int num_replicas = options.num_replicas > 0 ? options.num_replicas : program.num_replicas;
  const SlotLayout layout = LayoutOf(slots, num_replicas);
  const int64_t entry_bytes = layout.bytes;
  const bool prefetches = Capacity(entry_bytes, options) > Capacity(entry_bytes, {});
  const MemoryUse use(what, prefetches ? kLowerPrefetch : "lower the batch size");
  RETURN_IF_ERROR(CheckRingFits(entry_bytes, options));
  InfeedPtr infeed(new Infeed(std::move(source), layout, num_replicas, std::move(options)));
  std::vector<bool> fed(slots.size(), false);
  for (const FeatureSpec& feature : features) {
    int slot = 0;
    while (slot < static_cast<int>(slots.size()) && slots[slot].name != feature.name) ++slot;
    if (slot == static_cast<int>(slots.size())) {
      return absl::InternalError(
          absl::StrCat("feature ", Quote(feature.name), " has no infeed slot"));
    }
    fed[slot] = true;
    const Shape& shape = slots[slot].shape;
    infeed->feeds_.push_back({slot, RowBytes(shape)});
    const std::string title =
        absl::StrCat(feature.is_label ? "label" : "feature", " ", Quote(feature.name));
    if (slots[slot].is_weight) {
      infeed->weights_.push_back({title, slot, shape.dtype, shape.row_elements()});
    }
    const auto classes = infeed->options_.classes.find(feature.name);
    if (classes == infeed->options_.classes.end()) continue;
    const std::optional<int64_t> ignored = slots[slot].ignored;
    const int64_t num_ids = feature.num_ids - (ignored == feature.num_ids - 1 ? 1 : 0);
    if (num_ids > classes->second) {
      return absl::InvalidArgumentError(
          absl::StrCat(title, " of the input has ", num_ids, " different ids, and the model takes ",
                       classes->second,
                       "; make the model's input_dim, depth and units that count them ", num_ids));
    }
    infeed->class_ids_.push_back({title, feature.is_label ? "a class" : "an id", slot, shape.dtype,
                                  shape.row_elements(), classes->second, ignored});
  }
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    if (fed[slot] || infeed->options_.unread.count(slots[slot].name) > 0) continue;
    if (slots[slot].name != kRowWeightSlot) {
      return absl::InvalidArgumentError(absl::StrCat("the model reads ", Quote(slots[slot].name),
                                                     ", which the input does not have"));
    }
    infeed->weight_slot_ = static_cast<int>(slot);
  }
  return infeed;
}

Infeed::Infeed(std::unique_ptr<BatchSource> source, const SlotLayout& layout, int num_replicas,
               InfeedOptions options)
    : options_(std::move(options)),
      entry_rows_(options_.rows.CountIn(options_.batch_size)),
      layout_(layout),
      num_replicas_(num_replicas),
      ring_(layout_.bytes, Capacity(layout_.bytes, options_), BlockSteps(layout_.bytes)),
      block_(BlockSteps(layout_.bytes)),
      source_(std::move(source)) {
  for (const std::vector<InfeedSlot>& slots : options_.buckets)
    bucket_layouts_.push_back(LayoutOf(slots, num_replicas));
}

double Infeed::RingBytes(const CoreProgram& program) {
  const int64_t entry = LayoutOf(program.infeed, program.num_replicas).bytes;
  return static_cast<double>(entry) * static_cast<double>(kBlocks * BlockSteps(entry));
}

void Infeed::Start() {
  {
    const std::lock_guard<std::mutex> lock(source_mutex_);
    RememberPosition(0);
  }
  thread_ = StartThread([this] { Run(); });
}

bool Infeed::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  ring_.Close(absl::CancelledError("the infeed was stopped"));
  if (!thread_.joinable()) return !stuck_;
  source_->SetCancelled(true);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    stuck_ = !changed_.wait_for(lock, kStuckAfter, [this] { return finished_; });
  }
  if (stuck_) {
    thread_.detach();
  } else {
    thread_.join();
    source_->SetCancelled(false);
  }
  return !stuck_;
}

absl::Status Infeed::WaitForFirst(const std::atomic<int>* interrupt) {
  return ring_.Front(interrupt).status();
}

void Infeed::Run() {
  ScopedFlushDenormals flush;
  if (options_.initial_sleep > options_.initial_sleep.zero()) Sleep();
  const absl::Status end = FillAll();
  const std::lock_guard<std::mutex> lock(mutex_);
  input_status_ = end;
  ring_.Close(end);
  finished_ = true;
  changed_.notify_all();
}

void Infeed::Sleep() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, options_.initial_sleep, [this] { return stopping_.load(); });
}

absl::Status Infeed::FillAll() {
  for (int64_t batch = 0; batch != options_.num_batches; ++batch) {
    const absl::StatusOr<std::byte*> entry = ring_.Reserve();
    if (!entry.ok()) return absl::OkStatus();  // closed by Stop
    const HostTrace::Scope scope(options_.trace.get(), HostTrace::Lane::kInfeed, "batch", batch);
    const absl::StatusOr<bool> filled = Fill(*entry, batch);
    if (stopping_) return absl::OkStatus();
    RETURN_IF_ERROR(filled.status());
    if (!*filled) return absl::OutOfRangeError(options_.ended_message(batch));
    if (options_.broadcast) Broadcast(*entry);
    if (bucket_.has_value()) Cut(*bucket_, *entry);
    if (options_.dump != nullptr) {
      RETURN_IF_ERROR(options_.dump->Write(
          batch, *entry, bucket_.has_value() ? &options_.buckets[*bucket_] : nullptr));
    }
    ring_.Commit(bucket_.value_or(0));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Infeed::Fill(std::byte* entry, int64_t batch) {
  std::vector<std::byte*> buffers;
  for (const Feed& feed : feeds_) buffers.push_back(entry + layout_.offsets[feed.slot]);
  const std::lock_guard<std::mutex> lock(source_mutex_);
  RETURN_IF_ERROR(source_lost_);
  source_after_ = -1;
  ASSIGN_OR_RETURN(const int64_t rows, source_->Next(buffers));
  TPURUN_DCHECK(rows >= 0 && rows <= options_.batch_size);
  if (rows == 0 || (rows < options_.batch_size && !options_.pad)) return false;
  const int64_t own_rows = options_.rows.CountIn(rows);
  RETURN_IF_ERROR(CheckClasses(entry, own_rows));
  RETURN_IF_ERROR(CheckWeights(entry, own_rows));
  if (!bucket_layouts_.empty()) {
    bucket_ = source_->bucket();
    if (!warned_of_cut_) CheckCut(entry, own_rows);
  }
  source_after_ = batch + 1;
  RememberPosition(batch + 1);
  if (!options_.pad) return true;
  PadRows(entry, own_rows);
  std::vector<HostFeature> forwarded = source_->Forwarded();
  const std::lock_guard<std::mutex> rows_lock(mutex_);
  rows_.push_back(static_cast<int32_t>(rows));
  if (!forwarded.empty()) forwarded_.push_back(std::move(forwarded));
  return true;
}

void Infeed::RememberPosition(int64_t batches) {
  if (options_.pad) return;  // only training is resumed
  if (long_positions_ && batches % block_ != 0) return;
  Mark mark = {batches, source_->Position()};
  long_positions_ = mark.position.size() > kLongPosition * options_.pipelines;
  const std::lock_guard<std::mutex> lock(mutex_);
  TPURUN_DCHECK(marks_.empty() || marks_.back().batches < batches);
  while (marks_.size() > 1 && marks_[1].batches <= ring_.consumed()) marks_.pop_front();
  marks_.push_back(std::move(mark));
}

absl::Status Infeed::CheckClasses(const std::byte* entry, int64_t rows) const {
  for (const ClassIds& ids : class_ids_) {
    const std::byte* const values = entry + layout_.offsets[ids.slot];
    for (int64_t i = 0; i < rows * ids.row_elements; ++i) {
      const int64_t id = ids.dtype == DType::kS64 ? reinterpret_cast<const int64_t*>(values)[i]
                                                  : reinterpret_cast<const int32_t*>(values)[i];
      if ((id >= 0 && id < ids.classes) || id == ids.ignored) continue;
      return absl::DataLossError(absl::StrCat(
          source_->Where(options_.rows.begin + i / ids.row_elements), ": ", ids.title, " is ", id,
          ", want ", ids.noun, " in [0, ", ids.classes, ")",
          ids.ignored.has_value() ? absl::StrCat(" or ignore_class, ", *ids.ignored) : ""));
    }
  }
  return absl::OkStatus();
}

absl::Status Infeed::CheckWeights(const std::byte* entry, int64_t rows) const {
  for (const Weights& weights : weights_) {
    const std::byte* const values = entry + layout_.offsets[weights.slot];
    for (int64_t i = 0; i < rows * weights.row_elements; ++i) {
      const double weight = NumberAt(weights.dtype, values, i);
      if (weight >= 0 && std::isfinite(weight)) continue;
      return absl::DataLossError(
          absl::StrCat(source_->Where(options_.rows.begin + i / weights.row_elements), ": ",
                       weights.title, " is ", ShortestText(static_cast<float>(weight)),
                       ", want a weight that is finite and >= 0"));
    }
  }
  return absl::OkStatus();
}

void Infeed::PadRows(std::byte* entry, int64_t rows) const {
  for (const Feed& feed : feeds_) {
    std::memset(entry + layout_.offsets[feed.slot] + rows * feed.row_bytes, 0,
                (entry_rows_ - rows) * feed.row_bytes);
  }
  if (weight_slot_ < 0) return;
  auto* const weights = reinterpret_cast<float*>(entry + layout_.offsets[weight_slot_]);
  std::fill(weights, weights + rows, 1.0f);
  std::fill(weights + rows, weights + entry_rows_, 0.0f);
}

void Infeed::Broadcast(std::byte* entry) const {
  for (size_t slot = 0; slot < layout_.offsets.size(); ++slot) {
    const std::byte* const first = entry + layout_.offsets[slot];
    const int64_t bytes = layout_.replica_bytes[slot];
    for (int replica = 1; replica < num_replicas_; ++replica) {
      std::memcpy(entry + layout_.offsets[slot] + replica * bytes, first, bytes);
    }
  }
}

void Infeed::CheckCut(const std::byte* entry, int64_t rows) {
  const std::vector<InfeedSlot>& slots = options_.buckets[*bucket_];
  for (const Feed& feed : feeds_) {
    const int64_t kept = RowBytes(slots[feed.slot].shape);
    const int64_t cut = feed.row_bytes - kept;
    const int64_t element = ByteSize(slots[feed.slot].shape.dtype);
    for (int64_t row = 0; row < rows && cut > 0; ++row) {
      const std::byte* const tail =
          entry + layout_.offsets[feed.slot] + row * feed.row_bytes + kept;
      if (std::memcmp(tail, tail + element, cut - element) == 0) continue;
      warned_of_cut_ = true;
      LOG(WARNING)
          << source_->Where(options_.rows.begin + row) << ": " << Quote(slots[feed.slot].name)
          << " has different values behind the first " << slots[feed.slot].shape.dims[1]
          << ", the length of its bucket, where it should have padding alone. They are cut "
             "off. element_length must be the length of the longest sequence.";
      return;
    }
  }
}

void Infeed::Cut(int bucket, std::byte* entry) const {
  const SlotLayout& to = bucket_layouts_[bucket];
  // Nothing moves backwards: a row is written at or before its place.
  for (size_t slot = 0; slot < layout_.offsets.size(); ++slot) {
    const int64_t rows = options_.buckets[bucket][slot].shape.dims[0] * num_replicas_;
    const int64_t whole = layout_.replica_bytes[slot] * num_replicas_ / rows;
    const int64_t part = to.replica_bytes[slot] * num_replicas_ / rows;
    for (int64_t row = 0; row < rows; ++row) {
      std::memmove(entry + to.offsets[slot] + row * part,
                   entry + layout_.offsets[slot] + row * whole, part);
    }
  }
}

absl::StatusOr<Infeed::Mark> Infeed::MarkBefore(int64_t batches) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto mark = marks_.rbegin();
  while (mark != marks_.rend() && mark->batches > batches) ++mark;
  if (mark != marks_.rend()) return *mark;
  return absl::InternalError(absl::StrCat("the position after batch ", batches, " is forgotten"));
}

absl::StatusOr<std::string> Infeed::PositionAfter(int64_t batches) {
  TPURUN_DCHECK(batches <= ring_.committed());
  ASSIGN_OR_RETURN(const Mark mark, MarkBefore(batches));
  if (mark.batches == batches || mark.position.empty()) return mark.position;
  const std::lock_guard<std::mutex> lock(source_mutex_);
  const int64_t running_after = source_after_;
  if (running_after == batches) return source_->Position();
  const std::string running = source_->Position();
  source_lost_ = MoveTo(batches);
  RETURN_IF_ERROR(source_lost_);
  std::string position = source_->Position();
  if (running_after < 0) return position;  // nobody reads further batches
  source_lost_ = source_->Restore(running);
  RETURN_IF_ERROR(source_lost_);
  source_after_ = running_after;
  return position;
}

std::string Infeed::WhereIs(int64_t batch) {
  if (!Stop()) return "";
  const std::lock_guard<std::mutex> lock(source_mutex_);
  if (source_ == nullptr) return "";
  if (source_after_ != batch + 1 && !MoveTo(batch + 1).ok()) return "";
  return source_->Where(options_.batch_size - 1);
}

std::unique_ptr<BatchSource> Infeed::TakeSource() {
  if (!Stop()) return nullptr;
  const std::lock_guard<std::mutex> lock(source_mutex_);
  return std::move(source_);
}

absl::Status Infeed::MoveTo(int64_t batches) {
  // At least one batch is read again, because Where describes the last batch read.
  ASSIGN_OR_RETURN(const Mark mark, MarkBefore(std::max<int64_t>(batches - 1, 0)));
  source_after_ = -1;
  RETURN_IF_ERROR(source_->Restore(mark.position));
  std::vector<std::byte> scratch(layout_.bytes);
  std::vector<std::byte*> buffers;
  for (const Feed& feed : feeds_) buffers.push_back(scratch.data() + layout_.offsets[feed.slot]);
  for (int64_t batch = mark.batches; batch < batches; ++batch) {
    ASSIGN_OR_RETURN(const int64_t rows, source_->Next(buffers));
    if (rows < options_.batch_size) {
      return absl::DataLossError(absl::StrCat("the input changed while it was read: batch ", batch,
                                              " has ", rows, " rows, it had ",
                                              options_.batch_size));
    }
  }
  source_after_ = batches;
  return absl::OkStatus();
}

absl::Status Infeed::input_status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return input_status_;
}

int64_t Infeed::TakeRows() {
  const std::lock_guard<std::mutex> lock(mutex_);
  TPURUN_DCHECK(!rows_.empty());
  const int64_t rows = rows_.front();
  rows_.pop_front();
  return rows;
}

std::vector<HostFeature> Infeed::TakeForwarded() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (forwarded_.empty()) return {};
  std::vector<HostFeature> forwarded = std::move(forwarded_.front());
  forwarded_.pop_front();
  return forwarded;
}

}  // namespace tpurun
