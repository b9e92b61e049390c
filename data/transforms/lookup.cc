// lookup { feature output vocabulary_file vocabulary_list num_oov_buckets default_value }: the
// index of a string or an integer in a vocabulary, as tf.lookup has it.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "data/line_reader.h"
#include "data/transforms/bind_features.h"
#include "data/transforms/export_ops.h"
#include "data/transforms/text_ids.h"
#include "data/transforms/transform_list.h"
#include "proto/source_locations.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/io/file.h"

namespace tpurun {
namespace {

// Is told what is wrong with an entry.
using AddMistake = std::function<void(size_t entry, const std::string& message)>;

// Entries and their ids. Integers are entries in decimal digits, as TensorFlow hashes them.
class Vocabulary {
 public:
  // An entry that is there twice or, of `integers`, is none, is a mistake; null then.
  static std::shared_ptr<const Vocabulary> Create(std::vector<std::string> entries, bool integers,
                                                  const AddMistake& add_mistake) {
    bool good = true;
    auto vocabulary = std::make_shared<Vocabulary>();
    vocabulary->entries_ = std::move(entries);
    vocabulary->ids_.reserve(vocabulary->entries_.size());
    for (size_t i = 0; i < vocabulary->entries_.size(); ++i) {
      std::string& entry = vocabulary->entries_[i];
      if (integers) {
        const std::optional<int64_t> number = ParseInt64(entry);
        if (!number.has_value()) {
          add_mistake(i, absl::StrCat("want an integer, for an INT64 feature, got ", Quote(entry)));
          good = false;
          continue;
        }
        entry = absl::StrCat(*number);
      }
      const auto [known, added] = vocabulary->ids_.try_emplace(entry, i);
      if (added) continue;
      add_mistake(i, absl::StrCat("the entry ", Quote(entry), " is there already, with id ",
                                  known->second));
      good = false;
    }
    return good ? vocabulary : nullptr;
  }

  int64_t size() const { return std::ssize(entries_); }
  const std::vector<std::string>& entries() const { return entries_; }
  // -1 when it is absent.
  int64_t Find(std::string_view entry) const {
    const auto found = ids_.find(entry);
    return found == ids_.end() ? -1 : found->second;
  }

 private:
  std::vector<std::string> entries_;                   // by id
  std::unordered_map<std::string_view, int64_t> ids_;  // views of entries_
};

struct LookupTable {
  std::shared_ptr<const Vocabulary> vocabulary;
  int64_t num_oov_buckets = 0;
  int64_t default_value = -1;

  int64_t Find(std::string_view text) const {
    const int64_t id = vocabulary->Find(text);
    if (id >= 0) return id;
    if (num_oov_buckets == 0) return default_value;
    return vocabulary->size() +
           static_cast<int64_t>(Fingerprint64(text) % static_cast<uint64_t>(num_oov_buckets));
  }
};

struct BoundLookup {
  ColumnType from;
  std::string output;
};

// ------------------------------------------------------------------------------- TensorFlow's ops

// What an entry is searched by: its fingerprint, or the integer itself.
int64_t KeyOf(const std::string& entry, bool string) {
  return string ? static_cast<int64_t>(Fingerprint64(entry)) : *ParseInt64(entry);
}

// The ids in the order of the keys; nullopt when two entries have the same.
std::optional<std::vector<int64_t>> IdsByKey(const Vocabulary& vocabulary, bool strings) {
  std::vector<std::pair<int64_t, int64_t>> order;  // key, id
  for (const std::string& entry : vocabulary.entries()) {
    order.emplace_back(KeyOf(entry, strings), std::ssize(order));
  }
  std::sort(order.begin(), order.end());
  std::vector<int64_t> ids;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i].first == order[i - 1].first) return std::nullopt;
    ids.push_back(order[i].second);
  }
  return ids;
}

// A search by bisection without a table, which a graph would have to initialize:
//   at = LowerBound(keys, key of x), found = entries[at] == x, found ? ids[at] : absent
Value AddLookup(ExportGraph& graph, Value x, const BoundLookup& lookup, const LookupTable& table,
                const std::vector<int64_t>& ids_by_key) {
  constexpr ElementType kInt64 = ElementType::kInt64;
  const bool strings = lookup.from.dtype == proto::STRING;
  const ElementType type = strings ? ElementType::kString : kInt64;
  std::vector<std::string> entries;
  std::vector<int64_t> keys_in_order;
  for (const int64_t id : ids_by_key) {
    entries.push_back(table.vocabulary->entries()[id]);
    keys_in_order.push_back(KeyOf(entries.back(), strings));
  }
  const auto gather = [&](Value values, ElementType of, Value at) {
    return graph.Add("GatherV2", {values, at, graph.Int64(0, "axis")},
                     {{"Tparams", of}, {"Tindices", kInt64}, {"Taxis", kInt64}});
  };
  const int64_t size = table.vocabulary->size();
  x = Reshaped(graph, x, type, {-1});
  Value keys = x;
  if (strings) {
    const Value method = graph.Constant(ExportTensor::Strings({}, {"farmhash64"}), "method");
    keys = graph.Add("Fingerprint", {x, method}, {{"T", type}});
    keys = graph.Add("Bitcast", {keys}, {{"T", ElementType::kUint8}, {"type", kInt64}});
  }
  const Value searched = graph.Constant(ExportTensor::Int64s({1, size}, keys_in_order), "keys");
  Value at = graph.Add("LowerBound", {searched, Reshaped(graph, keys, kInt64, {1, -1})},
                       {{"T", kInt64}, {"out_type", kInt64}});
  at = graph.Add("Minimum", {Reshaped(graph, at, kInt64, {-1}), graph.Int64(size - 1, "last")},
                 {{"T", kInt64}});
  const ExportTensor sorted = strings ? ExportTensor::Strings({size}, std::move(entries))
                                      : ExportTensor::Int64s({size}, keys_in_order);
  const Value entry = gather(graph.Constant(sorted, "entries"), type, at);
  const Value found =
      graph.Add("Equal", {entry, x}, {{"T", type}, {"incompatible_shape_error", true}});
  Value absent = graph.Int64(table.default_value, "default_value");
  if (table.num_oov_buckets > 0) {
    const Value text = strings ? x : graph.Add("AsString", {x}, {{"T", kInt64}});
    absent = graph.Add("StringToHashBucketFast", {text}, {{"num_buckets", table.num_oov_buckets}});
    absent = graph.Add("AddV2", {absent, graph.Int64(size, "size")}, {{"T", kInt64}});
  }
  const Value id = gather(graph.Int64s(ids_by_key, "ids"), kInt64, at);
  const Value ids = graph.Add("SelectV2", {found, id, absent}, {{"T", kInt64}});
  if (lookup.from.varies()) return ids;  // of all rows, as the words are
  ExportDims dims = lookup.from.dims;
  dims.insert(dims.begin(), -1);
  return Reshaped(graph, ids, kInt64, dims);
}

// ------------------------------------------------------------------------------------ ONNX's op

// Not of hashes, which ONNX has no op for, nor of entries that its strings cannot hold.
bool HasLabelEncoder(const LookupTable& table) {
  const std::vector<std::string>& entries = table.vocabulary->entries();
  return table.num_oov_buckets == 0 && std::all_of(entries.begin(), entries.end(), IsUtf8);
}

Value AddLabelEncoder(ExportGraph& graph, Value x, const BoundLookup& lookup,
                      const LookupTable& table) {
  const std::vector<std::string>& entries = table.vocabulary->entries();
  std::vector<int64_t> ids(entries.size());
  std::iota(ids.begin(), ids.end(), 0);
  ExportAttrs attrs = {{"values_int64s", ids}, {"default_int64", table.default_value}};
  if (lookup.from.dtype == proto::STRING) {
    attrs["keys_strings"] = entries;
  } else {
    std::vector<int64_t> keys;
    for (const std::string& entry : entries) keys.push_back(*ParseInt64(entry));
    attrs["keys_int64s"] = keys;
  }
  return graph.Add("ai.onnx.ml.LabelEncoder", {x}, attrs);
}

// --------------------------------------------------------------------------------------------

void CheckFields(const proto::Lookup& lookup, ConfigErrors& errors) {
  const bool has_list = !lookup.vocabulary_list().empty();
  if (!has_list && lookup.vocabulary_file().empty()) {
    errors.Add("", "vocabulary_file or vocabulary_list must be given");
  }
  if (lookup.has_default_value() && lookup.num_oov_buckets() > 0) {
    errors.Add("default_value", "default_value is for num_oov_buckets 0: leave one of the two out");
  }
}

class LookupBinding {
 public:
  LookupBinding(const proto::Lookup& lookup, const Schema& input, const RowTransform& bound)
      : lookup_(lookup) {
    for (size_t i = 0; i < bound.reads.size(); ++i) {
      features_.push_back({ReadColumn(bound, input, i), bound.makes[i]});
    }
  }

  // Sets what is done with a vocabulary of these entries; nothing after a mistake.
  void SetEntries(const std::vector<std::string>& entries, const AddMistake& add_mistake,
                  RowTransform* row) const {
    std::vector<LookupTable> tables;               // of each feature
    std::vector<std::vector<int64_t>> ids_by_key;  // of each feature that has them
    std::map<proto::DataType, std::shared_ptr<const Vocabulary>> vocabularies;
    for (const BoundLookup& feature : features_) {
      std::shared_ptr<const Vocabulary>& vocabulary = vocabularies[feature.from.dtype];
      if (vocabulary == nullptr) {
        vocabulary = Vocabulary::Create(entries, feature.from.dtype == proto::INT64, add_mistake);
      }
      if (vocabulary == nullptr) return;
      tables.push_back({vocabulary, lookup_.num_oov_buckets(), lookup_.default_value()});
      auto ids = IdsByKey(*vocabulary, feature.from.dtype == proto::STRING);
      if (ids.has_value()) ids_by_key.push_back(*std::move(ids));
    }
    row->apply = [features = features_, tables](const RowBatch& rows, Table* out) {
      for (size_t i = 0; i < features.size(); ++i) {
        FillIds(
            rows.in.column(features[i].from.name),
            [&table = tables[i]](std::string_view text) { return table.Find(text); },
            &out->column(features[i].output));
      }
      return absl::OkStatus();
    };
    for (size_t i = 0; i < features_.size() && lookup_.num_oov_buckets() == 0; ++i) {
      row->vocabularies[features_[i].output] = tables[i].vocabulary->entries();
    }
    if (std::all_of(tables.begin(), tables.end(), HasLabelEncoder)) {
      row->onnx = [features = features_, tables](ExportGraph& graph,
                                                 const std::set<std::string>& wanted,
                                                 std::map<std::string, Value>& columns) {
        for (size_t i = 0; i < features.size(); ++i) {
          if (wanted.count(features[i].output) == 0) continue;
          columns[features[i].output] =
              AddLabelEncoder(graph, columns.at(features[i].from.name), features[i], tables[i]);
        }
      };
    }
    if (ids_by_key.size() < features_.size()) return;
    row->tensorflow = [features = features_, tables, ids_by_key](
                          ExportGraph& graph, const std::set<std::string>& wanted,
                          std::map<std::string, Value>& columns) {
      for (size_t i = 0; i < features.size(); ++i) {
        if (wanted.count(features[i].output) == 0) continue;
        columns[features[i].output] = AddLookup(graph, columns.at(features[i].from.name),
                                                features[i], tables[i], ids_by_key[i]);
      }
    };
  }

 private:
  proto::Lookup lookup_;
  std::vector<BoundLookup> features_;
};

}  // namespace

std::optional<RowTransform> BindLookup(const proto::Transform& transform, const Schema& input,
                                       ConfigErrors& errors) {
  const proto::Lookup& lookup = transform.lookup();
  std::optional<RowTransform> bound = BindFeatures(
      lookup.feature(), lookup.has_output() ? &lookup.output() : nullptr, input, TypeOfIds, errors);
  CheckFields(lookup, errors);
  if (!errors.empty()) return std::nullopt;
  LookupBinding binding(lookup, input, *bound);
  if (lookup.has_vocabulary_file()) {
    bound->open = [binding = std::move(binding), file = lookup.vocabulary_file()](
                      const RowOpenArgs& args, RowTransform* row) -> absl::Status {
      const std::string path = args.directory.empty() ? file : JoinPath(args.directory, file);
      ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                       ReadVocabularyLines(path, args.where("vocabulary_file")));
      absl::Status first;
      const auto add_mistake = [&](size_t entry, const std::string& message) {
        first.Update(absl::DataLossError(absl::StrCat(path, ":", entry + 1, ": ", message)));
      };
      binding.SetEntries(lines, add_mistake, row);
      return first;
    };
    return bound;
  }
  const auto add_mistake = [&](size_t entry, const std::string& message) {
    errors.Add(ElementPath("vocabulary_list", static_cast<int>(entry)), message);
  };
  binding.SetEntries({lookup.vocabulary_list().begin(), lookup.vocabulary_list().end()},
                     add_mistake, &*bound);
  if (!errors.empty()) return std::nullopt;
  return bound;
}

}  // namespace tpurun
