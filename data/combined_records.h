// CombinedRecords: records that are made of the elements of other pipelines.
#ifndef TPURUN_DATA_COMBINED_RECORDS_H_
#define TPURUN_DATA_COMBINED_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/elements.h"
#include "data/records.h"
#include "data/row_chain.h"
#include "data/table.h"

namespace tpurun {

// One of the pipelines. Several threads may load rows at the same time.
class CombinedInput {
 public:
  explicit CombinedInput(Elements elements);

  Records& records() { return *records_; }
  const Records& records() const { return *records_; }
  ItemStream& items() { return *items_; }

  // The rows of the items, valid until thread `thread` loads others.
  absl::StatusOr<const Table*> Load(std::span<const Item> items, int thread);
  // The seconds of the last Load of the thread, if the input's stages are timed.
  double SecondsOf(int thread) { return LaneOf(thread).seconds; }
  // Adds the seconds to the stages. No thread may be in Load.
  void AddTimes();
  // Counts rows that the stages will make.
  void AddRows(int64_t rows);

 private:
  struct Lane {
    RowChain chain;
    Table joined;            // the rows of several blocks
    double seconds = 0;      // of its last Load
    bool has_first = false;  // its state is that after the first rows that were accepted
  };

  // The rows of the items, in blocks if a row may be large.
  absl::StatusOr<const Table*> RunBlocks(std::span<const Item> items, Lane& lane);
  // One thread at a time until rows are accepted.
  absl::Status Run(std::span<const Item> items, Lane& lane);
  Lane& LaneOf(int thread);

  const std::unique_ptr<Records> records_;
  const std::unique_ptr<ItemStream> items_;
  const std::shared_ptr<InputTimes> times_;
  const size_t source_stage_;
  const std::vector<size_t> stages_;
  const RowSteps steps_;
  std::mutex mutex_;        // guards the fields below; a lane is used by its thread alone
  std::deque<Lane> lanes_;  // [thread]
  RowChain first_;          // has the state after the rows so far, then after those accepted first
  bool has_first_ = false;  // rows were accepted
};

// A kind of combination draws its elements and makes their rows; this class holds what they are
// made of.
class CombinedRecords : public Records {
 public:
  const Schema& schema() const override { return schema_; }
  absl::StatusOr<int64_t> Next(std::span<Item> items) override;
  absl::Status Seek(int64_t epoch, int64_t index) override;
  void SaveItem(const Item& item, std::string* text) const override;
  absl::StatusOr<Item> RestoreItem(PositionReader& position) override;
  absl::Status Hold(std::span<Item> items) override;
  void Release(std::span<const Item> items) override;
  int64_t held_bytes() const override;
  bool crosses_epochs() const override;
  double InnerSeconds(int thread) const override;
  void SavePosition(std::string* text) const override;
  absl::Status RestorePosition(int64_t epoch, int64_t index, PositionReader& position) override;
  // The file of an origin has the number of the input.
  Origin OriginOf(const Item& item) const override;
  std::string Where(const Origin& origin) const override;

 protected:
  // What an element is made of.
  struct Parts {
    int32_t input = 0;        // that the element comes from, or that names its place
    std::vector<Item> items;  // of this input, or one of every input
    int64_t counted_bytes = 0;
  };

  CombinedRecords(std::vector<Elements>&& inputs, Schema schema);

  int64_t epoch() const { return epoch_; }
  // The index of the next element.
  int64_t next() const { return next_; }
  size_t num_inputs() const { return inputs_.size(); }
  CombinedInput& input(size_t index) { return *inputs_[index]; }
  const CombinedInput& input(size_t index) const { return *inputs_[index]; }
  const Parts& PartsOf(const Item& item) const { return slots_[item.slot]; }
  // The values of `from` become those of `to`, whose rows may be made of several rows of `from`.
  // Strings are views.
  static void CopyValues(const Column& from, Column* to);
  // Draws the next element of an input. False at its end.
  absl::StatusOr<bool> DrawOf(size_t index, Item* item);

  // The number of items that an element is made of, and the input that number `part` of them is of.
  virtual int64_t NumParts() const = 0;
  virtual size_t InputOf(const Parts& parts, size_t part) const { return parts.input; }
  // Draws the next element. False at the end.
  virtual absl::StatusOr<bool> Draw(Parts* parts) = 0;
  // Called at the start of a pass, of whose inputs nothing is drawn.
  virtual void StartPass() {}
  virtual void ReleaseParts(const Parts& parts) = 0;
  // The words of a position that are not those of the inputs.
  virtual void SaveState(std::string* text) const {}
  virtual absl::Status RestoreState(PositionReader& position) { return absl::OkStatus(); }
  // Makes items of an input loadable.
  virtual absl::Status HoldOf(size_t index, std::span<Item* const> items);

 private:
  absl::Status Start(int64_t epoch);
  // Adds what the items of a slot take now.
  void CountBytes(Parts& parts);
  int32_t NewSlot();

  const Schema schema_;
  std::vector<std::unique_ptr<CombinedInput>> inputs_;
  std::vector<Parts> slots_;
  std::vector<int32_t> free_slots_;
  int64_t epoch_ = 0;
  int64_t next_ = 0;
  int64_t parts_bytes_ = 0;  // of slots_ and their items
};

}  // namespace tpurun

#endif  // TPURUN_DATA_COMBINED_RECORDS_H_
