#include "runtime/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/export/graph_def.h"
#include "runtime/io/checkpoint_state.h"
#include "runtime/io/file.h"
#include "runtime/optimizers/moving_average.h"
#include "runtime/spec/spec.h"

namespace tpurun {
namespace {

constexpr char kAssets[] = "tpurun/assets";
constexpr char kInputPosition[] = "tpurun/input_position";
constexpr char kInputFiles[] = "tpurun/input_files";
constexpr char kModel[] = "tpurun/model";
constexpr char kEvaluation[] = "tpurun/evaluation";
constexpr char kMachine[] = "tpurun/machine";
constexpr char kPerCore[] = "tpurun/core/";
constexpr char kGlobalStepName[] = "global_step";
constexpr size_t kMistakesShown = 5;
constexpr char kOtherOptimizer[] = "optimizer, or had other variables frozen";

tensorflow::DataType DataTypeOf(DType dtype) { return ToDataType(ElementTypeOf(dtype)); }

std::string TypeText(tensorflow::DataType dtype, const std::vector<int64_t>& dims) {
  return absl::StrCat(tensorflow::DataType_Name(dtype), " ", DimsToString(dims));
}

std::vector<int64_t> WithLeading(int64_t leading, const std::vector<int64_t>& dims) {
  std::vector<int64_t> all = {leading};
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

// The copies one after the other, without the padding between them.
std::string CopiesOf(const StoredVariable& stored) {
  std::string bytes;
  for (int copy = 0; copy < stored.copies(); ++copy) {
    bytes.append(reinterpret_cast<const char*>(stored.copy(copy)), stored.copy_bytes());
  }
  return bytes;
}

std::string_view FirstCopy(const StoredVariable& stored) {
  return {reinterpret_cast<const char*>(stored.copy(0)), static_cast<size_t>(stored.copy_bytes())};
}

// An optimizer's: "hidden_1/kernel/Momentum", or "beta1_power", which belongs to no variable.
bool IsSlot(const VariableStore& store, const Variable& variable) {
  if (variable.trainable) return false;
  const std::string owner = DirName(variable.name);
  return owner.empty() || store.Find(owner) != nullptr;
}

}  // namespace

std::string CheckpointPrefix(const std::string& model_dir, int64_t step) {
  return JoinPath(model_dir, absl::StrCat("model.ckpt-", step));
}

absl::Status CheckFinite(const VariableStore& store) {
  for (const auto& [name, stored] : store.variables()) {
    for (int copy = 0; copy < stored.copies(); ++copy) {
      const int64_t at = FirstNonFinite(stored.variable().shape, stored.copy(copy));
      if (at < 0) continue;
      return absl::AbortedError(absl::StrCat("NaN or infinity in the weights: variable ",
                                             Quote(name), " ", stored.variable().shape.ToString(),
                                             ", value ", at, "; lower the learning rate"));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteCheckpoint(const VariableStore& store, const RunState& state,
                             const FilePath& prefix) {
  RETURN_IF_ERROR(CheckFinite(store));
  // Entries in the order of their names, which the bundle wants.
  std::map<std::string, std::function<absl::Status(BundleWriter&)>> entries;
  for (const auto& [name, stored] : store.variables()) {
    const std::string entry = name;
    const StoredVariable* const variable = &stored;
    const Shape& shape = stored.variable().shape;
    entries[name] = [=, &shape](BundleWriter& writer) {
      return writer.Add(entry, DataTypeOf(shape.dtype), shape.dims, FirstCopy(*variable));
    };
    if (stored.copies() == 1) continue;
    const std::string per_core = kPerCore + name;
    entries[per_core] = [=, &shape](BundleWriter& writer) {
      return writer.Add(per_core, DataTypeOf(shape.dtype),
                        WithLeading(variable->copies(), shape.dims), CopiesOf(*variable));
    };
  }
  entries[kInputPosition] = [&state](BundleWriter& writer) {
    return writer.AddStrings(kInputPosition, {}, {state.input_position});
  };
  if (!state.input_files.empty()) {
    entries[kInputFiles] = [&state](BundleWriter& writer) {
      const std::vector<std::string>& files = state.input_files;
      return writer.AddStrings(kInputFiles, {std::ssize(files)}, files);
    };
  }
  if (!state.assets.empty()) {
    entries[kAssets] = [&state](BundleWriter& writer) {
      std::vector<std::string> strings;
      for (const auto& [name, identity] : state.assets) {
        strings.push_back(name);
        strings.push_back(identity);
      }
      return writer.AddStrings(kAssets, {std::ssize(state.assets), 2}, strings);
    };
  }
  if (!state.evaluation.empty()) {
    entries[kEvaluation] = [&state](BundleWriter& writer) {
      return writer.AddStrings(kEvaluation, {}, {state.evaluation});
    };
  }
  entries[kModel] = [&state](BundleWriter& writer) {
    return writer.AddStrings(kModel, {}, {state.model});
  };
  entries[kMachine] = [&state](BundleWriter& writer) {
    return writer.AddStrings(kMachine, {}, {state.machine});
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  for (const auto& [name, add] : entries) RETURN_IF_ERROR(add(*writer));
  return writer->Finish();
}

absl::StatusOr<std::optional<std::string>> LatestCheckpoint(const std::string& model_dir) {
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(model_dir);
  if (!state.ok() && IsAbsent(CheckpointStatePath(model_dir))) return std::optional<std::string>();
  RETURN_IF_ERROR(state.status());
  ASSIGN_OR_RETURN(std::string prefix, ResolveCheckpoint(model_dir));
  return std::optional<std::string>(std::move(prefix));
}

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<BundleReader> reader, OpenCheckpoint(path));
  RETURN_IF_ERROR(reader->Verify());
  return Checkpoint(std::move(reader));
}

absl::StatusOr<int64_t> Checkpoint::GlobalStep() const {
  const BundleEntry* const entry = reader_->Find(kGlobalStepName);
  if (entry == nullptr) return 0;
  if (entry->dtype != tensorflow::DT_INT64 || !entry->shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("checkpoint ", prefix(), ": global_step: got ",
                                                   TypeText(entry->dtype, entry->shape),
                                                   ", want DT_INT64 []"));
  }
  int64_t step = 0;
  RETURN_IF_ERROR(reader_->ReadInto(*entry, reinterpret_cast<char*>(&step)));
  if (step < 0) {
    return absl::DataLossError(absl::StrCat("checkpoint ", prefix(), ": global_step is ", step));
  }
  return step;
}

absl::StatusOr<std::string> Checkpoint::ReadString(const std::string& name) const {
  const BundleEntry* const entry = reader_->Find(name);
  if (entry == nullptr) return std::string();
  ASSIGN_OR_RETURN(const std::vector<std::string> strings, reader_->ReadStrings(*entry));
  if (strings.size() != 1) {
    return absl::DataLossError(absl::StrCat("checkpoint ", prefix(), ": ", name, " has ",
                                            strings.size(), " strings, want 1"));
  }
  return strings[0];
}

absl::StatusOr<RunState> Checkpoint::ReadRunState() const {
  RunState state;
  ASSIGN_OR_RETURN(state.input_position, ReadString(kInputPosition));
  ASSIGN_OR_RETURN(state.machine, ReadString(kMachine));
  ASSIGN_OR_RETURN(state.model, ReadString(kModel));
  ASSIGN_OR_RETURN(state.evaluation, ReadString(kEvaluation));
  if (const BundleEntry* const files = reader_->Find(kInputFiles)) {
    ASSIGN_OR_RETURN(state.input_files, reader_->ReadStrings(*files));
  }
  if (const BundleEntry* const assets = reader_->Find(kAssets)) {
    ASSIGN_OR_RETURN(const std::vector<std::string> strings, reader_->ReadStrings(*assets));
    for (size_t i = 0; i + 1 < strings.size(); i += 2) state.assets[strings[i]] = strings[i + 1];
  }
  return state;
}

std::string Checkpoint::Mismatch(const std::string& name, const Shape& shape) const {
  const std::string want = TypeText(DataTypeOf(shape.dtype), shape.dims);
  const BundleEntry* const entry = reader_->Find(name);
  if (entry == nullptr) return absl::StrCat(Quote(name), ": want ", want, ", it is not there");
  if (entry->dtype == DataTypeOf(shape.dtype) && entry->shape == shape.dims) return "";
  return absl::StrCat(Quote(name), ": got ", TypeText(entry->dtype, entry->shape), ", want ", want);
}

absl::Status Checkpoint::Differs(const std::vector<std::string>& mistakes, size_t num_variables,
                                 const std::string& of_another) const {
  std::vector<std::string> shown(mistakes.begin(),
                                 mistakes.begin() + std::min(mistakes.size(), kMistakesShown));
  if (mistakes.size() > kMistakesShown) {
    shown.push_back(absl::StrCat("and ", mistakes.size() - kMistakesShown, " more"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("checkpoint ", prefix(), " is of another ", of_another, ": ", mistakes.size(),
                   " of ", num_variables, " variables do not fit: ", absl::StrJoin(shown, "; ")));
}

absl::Status Checkpoint::Restore(bool with_state, VariableStore& store,
                                 const NameOf& name_of) const {
  std::vector<std::string> mistakes;
  std::vector<Read> reads;
  std::vector<std::string> no_average;  // variables
  size_t num_variables = 0;
  bool only_slots = true, only_states = true;
  for (const auto& [name, stored] : store.variables()) {
    if (stored.variable().scope == Variable::Scope::kState && !with_state) continue;
    ++num_variables;
    const Shape& shape = stored.variable().shape;
    Shape all = shape;
    all.dims = WithLeading(store.replicas().all, shape.dims);
    const std::string theirs = name_of(stored.variable());
    const std::string per_core = kPerCore + theirs;
    const bool has_copies = stored.copies() > 1 && Mismatch(per_core, all).empty();
    const std::string mistake = Mismatch(theirs, shape);
    if (!mistake.empty()) {
      mistakes.push_back(mistake);
      const bool absent = reader_->Find(theirs) == nullptr;
      const std::string averaged = DirName(theirs);
      if (absent && theirs == AverageName(averaged) && reader_->Find(averaged) != nullptr)
        no_average.push_back(averaged);
      only_slots &= absent && IsSlot(store, stored.variable());
      only_states &= stored.variable().scope == Variable::Scope::kState;
      continue;
    }
    const BundleEntry* const entry = reader_->Find(has_copies ? per_core : theirs);
    ASSIGN_OR_RETURN(std::string bytes, reader_->ReadBytes(*entry));
    reads.push_back({name, has_copies ? store.replicas().all : 1, std::move(bytes)});
  }
  if (!mistakes.empty() && mistakes.size() == no_average.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "checkpoint ", prefix(), " has no moving average of ", no_average.size(), " of ",
        num_variables, " variables, the first is ", Quote(no_average[0]),
        ": it was trained without moving_average, or without training them; leave the field out "
        "(--unset model.moving_average)",
        with_state ? ", or train into another model_dir with warm_start_from this checkpoint"
                   : " to take the variables as they are"));
  }
  if (!mistakes.empty() && only_states) {
    return Annotate(
        Differs(mistakes, num_variables, "state"),
        "layers that are stateful carry a state of each row of a core: go on with the "
        "batch size, per_host_input_for_training, use_tpu and the stateful layers of the training");
  }
  if (!mistakes.empty()) {
    const absl::Status differs =
        Differs(mistakes, num_variables, only_slots ? kOtherOptimizer : "model");
    return absl::Status(differs.code(),
                        absl::StrCat(differs.message(), "; use another model_dir, or the model in ",
                                     RunConfigPath(DirName(prefix()))));
  }
  Apply(reads, store);
  return absl::OkStatus();
}

absl::Status Checkpoint::RestoreAs(const std::map<std::string, std::string>& names,
                                   VariableStore& store) const {
  std::vector<std::string> mistakes;
  std::vector<Read> reads;
  for (const auto& [name, theirs] : names) {
    const std::string mistake = Mismatch(theirs, store.Find(name)->variable().shape);
    if (!mistake.empty()) {
      mistakes.push_back(name == theirs ? mistake
                                        : absl::StrCat(mistake, " for our ", Quote(name)));
      continue;
    }
    ASSIGN_OR_RETURN(std::string bytes, reader_->ReadBytes(*reader_->Find(theirs)));
    reads.push_back({name, 1, std::move(bytes)});
  }
  if (!mistakes.empty()) return Differs(mistakes, names.size(), "model");
  Apply(reads, store);
  return absl::OkStatus();
}

std::vector<std::string> Checkpoint::NotIn(const VariableStore& store) const {
  std::vector<std::string> names;
  for (const BundleEntry& entry : reader_->entries()) {
    if (entry.name.starts_with(kNoVariable) || store.Find(entry.name) != nullptr) continue;
    names.push_back(entry.name);
  }
  return names;
}

void Checkpoint::Apply(const std::vector<Read>& reads, VariableStore& store) {
  for (const Read& read : reads) {
    StoredVariable& stored = *store.FindMutable(read.name);
    for (int copy = 0; copy < stored.copies(); ++copy) {
      const int64_t from = read.copies > 1 ? store.replicas().first + copy : 0;
      std::memcpy(stored.copy(copy), read.bytes.data() + from * stored.copy_bytes(),
                  stored.copy_bytes());
    }
  }
}

}  // namespace tpurun
