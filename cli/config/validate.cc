#include "cli/config/validate.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/config/config_warnings.h"
#include "cli/config/hook_checks.h"
#include "cli/config/input_forms.h"
#include "cli/config/stateful_inputs.h"
#include "proto/field_rules.h"
#include "proto/iterations_per_loop.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/text.h"
#include "runtime/spec/export_names.h"
#include "runtime/spec/input_deployment.h"
#include "runtime/spec/save_periods.h"
#include "runtime/spec/topology.h"

namespace tpurun {
namespace {

// "latest {}, final {} or best {}"
std::string ExporterChoices() {
  const auto& kinds = *proto::Exporter::descriptor()->FindOneofByName("exporter");
  std::string text;
  for (int i = 0; i < kinds.field_count(); ++i) {
    const char* const between = i == 0 ? "" : i + 1 < kinds.field_count() ? ", " : " or ";
    absl::StrAppend(&text, between, kinds.field(i)->name(), " {}");
  }
  return text;
}

class Validator {
 public:
  Validator(const LoadedConfig& config, const RequiredParts& required, ConfigErrors& errors)
      : config_(config),
        run_(config.run),
        device_(DeviceOf(config.run)),
        required_(required),
        errors_(errors) {}

  void Run() {
    CheckVerbNeeds();
    CheckTpu();
    CheckInputForms(config_, required_, errors_);
    CheckTransformationFuncs();
    CheckEvaluations();
    CheckExport();
    CheckTrainAndEvaluate();
    CheckHooks(run_, errors_);
    CheckRules(run_, "", errors_);
    WarnOfConfig(run_, required_.train, required_.alternating, errors_);
    if (required_.alternating) WarnOfMonitor(run_, errors_);
    if (required_.train) WarnOfNormalizedLabels(run_, config_.model, errors_);
  }

 private:
  // A mistake of the field at `path`.
  void Add(const std::string& path, const std::string& message) {
    AddAt(path, absl::StrCat(path, ": ", message));
  }

  // The same, where the message is a predicate: "is missing".
  void AddThat(const std::string& path, const std::string& predicate) {
    AddAt(path, absl::StrCat(path, " ", predicate));
  }

  // The message names what it is about.
  void AddAt(const std::string& path, const std::string& message) { errors_.Add(path, message); }

  void CheckVerbNeeds() {
    if (required_.train || required_.evaluate || required_.predict || required_.export_model) {
      if (run_.model_dir().empty()) {
        AddAt("model_dir",
              "model_dir is missing, want a folder: model_dir: \"DIR\" or "
              "--model_dir=DIR");
      }
      if (config_.model_path.empty() && config_.model.ByteSizeLong() == 0) {
        AddAt("model_file", "there is no model, want model_file: \"FILE\" or --model=FILE");
      }
    }
    if (required_.train) {
      CheckBatchSize("train", ModeKey::kTrain, "train_batch_size", run_.has_train_batch_size(),
                     run_.train_batch_size());
      if (required_.train_input && !run_.train().has_input()) {
        AddAt("train.input", "train.input is missing, want train { input { source { ... } } }");
      }
      if (run_.train().length_case() == proto::Train::LENGTH_NOT_SET) {
        AddAt("train",
              "the length of training is missing, want train { max_steps: N }, steps, "
              "epochs or --max_steps=N");
      }
    }
    if (required_.evaluate) {
      CheckBatchSize("evaluate", ModeKey::kEval, "eval_batch_size", run_.has_eval_batch_size(),
                     run_.eval_batch_size());
      CheckEvaluationInputs();
    }
    if (required_.predict && run_.predict().has_generate()) {
      CheckGenerate();
    } else if (required_.predict) {
      CheckBatchSize("predict", ModeKey::kPredict, "predict_batch_size",
                     run_.has_predict_batch_size(), run_.predict_batch_size());
      if (!run_.predict().has_input()) {
        AddAt("predict.input",
              "predict.input is missing, want predict { input { source { ... } } }");
      }
    }
    CheckStatefulInputs();
    CheckWarmStart();
  }

  void CheckStatefulInputs() {
    const auto check = [this](bool needed, const auto& part, const std::string& path, ModeKey mode,
                              const std::string& batch_field) {
      if (!needed || !part.has_input()) return;
      const InputDeployment deployment =
          DeployInput(run_.tpu_config(), TopologyOf(run_, mode), mode, BatchSizeOf(run_, mode));
      CheckStatefulInput(config_, part.input(), path + ".input", batch_field, deployment, errors_);
    };
    check(required_.train, run_.train(), "train", ModeKey::kTrain, "train_batch_size");
    for (int i = 0; i < run_.evaluate_size(); ++i) {
      const bool needed = required_.evaluate && (!required_.evaluation ||
                                                 run_.evaluate(i).name() == *required_.evaluation);
      check(needed, run_.evaluate(i), ElementPath("evaluate", i), ModeKey::kEval,
            "eval_batch_size");
    }
    check(required_.predict && !run_.predict().has_generate(), run_.predict(), "predict",
          ModeKey::kPredict, "predict_batch_size");
  }

  void CheckGenerate() {
    const proto::Generate& generate = run_.predict().generate();
    if (run_.predict().has_input()) {
      AddAt("predict.generate",
            "predict has an input and generate, want one; take the other out (--unset "
            "predict.generate)");
    }
    const auto refuse = [this](bool given, const std::string& field) {
      if (!given) return;
      AddAt("predict." + field,
            absl::StrCat("predict has ", field,
                         ", for an input, and generate, want one; take the other out (--unset "
                         "predict.",
                         field, ")"));
    };
    refuse(run_.predict().keys_size() > 0, "keys");
    refuse(run_.predict().forward_features_size() > 0, "forward_features");
    if (generate.start_string().empty()) {
      AddAt("predict.generate.start_string",
            "start_string is missing, want what the text begins with");
    }
  }

  void CheckExport() {
    const proto::Export& config = run_.export_();
    std::vector<std::string> seen;
    for (const std::string& format : config.export_format()) {
      if (std::count(seen.begin(), seen.end(), format) > 0) {
        Add(ElementPath("export.export_format", static_cast<int>(seen.size())),
            absl::StrCat(Quote(format), " is there already"));
      }
      seen.push_back(format);
    }
    if (!config.export_to_cpu() && !config.export_to_tpu()) {
      Add("export.export_to_cpu", "got false, and so is export_to_tpu; want one of them");
    }
  }

  void CheckTrainAndEvaluate() {
    CheckMonitored();
    CheckExporters();
    if (run_.train_and_evaluate().early_stopping().restore_best() && !SavePeriodsOf(run_).any()) {
      Add("train_and_evaluate.early_stopping.restore_best",
          "got true, but save_checkpoints_secs and save_checkpoints_steps save no checkpoint to "
          "restore, want one of them > 0");
    }
  }

  void CheckMonitored() {
    const proto::Monitor& monitor = run_.train_and_evaluate().monitor();
    if (!monitor.has_evaluation() || run_.evaluate().empty()) return;
    std::vector<std::string> names;
    for (const proto::Evaluate& evaluation : run_.evaluate()) names.push_back(evaluation.name());
    if (std::count(names.begin(), names.end(), monitor.evaluation()) > 0) return;
    Add("train_and_evaluate.monitor.evaluation",
        absl::StrCat("no evaluation has the name ", Quote(monitor.evaluation()),
                     KnownNames(monitor.evaluation(), names)));
  }

  void CheckExporters() {
    std::map<std::string, std::string> path_of_name;
    for (int i = 0; i < run_.train_and_evaluate().exporter_size(); ++i) {
      const proto::Exporter& exporter = run_.train_and_evaluate().exporter(i);
      const std::string path = ElementPath("train_and_evaluate.exporter", i);
      if (exporter.exporter_case() == proto::Exporter::EXPORTER_NOT_SET) {
        Add(path, absl::StrCat("is empty, want ", ExporterChoices()));
        continue;
      }
      const std::string name = ExporterName(exporter);
      CheckNameAt(path + ".name", NameKind::kFile, name);
      const bool number = std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
      const bool of_format = std::count(std::begin(kFormatFolders), std::end(kFormatFolders), name);
      if (number || of_format || absl::StartsWith(name, "temp-")) {
        Add(path + ".name", absl::StrCat("got ", Quote(name),
                                         ", the name of a folder that export itself may make, want "
                                         "another one"));
      }
      if (const auto [first, inserted] = path_of_name.emplace(name, path + ".name"); !inserted) {
        AddTwice(path + ".name", name, first->second);
      }
    }
    if (run_.train_and_evaluate().exporter_size() > 0 && !SavePeriodsOf(run_).any()) {
      Add("train_and_evaluate.exporter[0]",
          "exports checkpoints, but save_checkpoints_secs and save_checkpoints_steps save none, "
          "want one of them > 0");
    }
  }

  void CheckWarmStart() {
    if (!run_.has_warm_start_from()) return;
    const proto::WarmStart& warm_start = run_.warm_start_from();
    std::map<std::string, std::string> path_of_key;
    for (int i = 0; i < warm_start.var_name_to_prev_var_name_size(); ++i) {
      const auto& entry = warm_start.var_name_to_prev_var_name(i);
      const std::string path = ElementPath("warm_start_from.var_name_to_prev_var_name", i);
      if (entry.key().empty()) continue;  // its rule tells of that
      if (const auto [first, inserted] = path_of_key.emplace(entry.key(), path + ".key");
          !inserted) {
        AddTwice(path + ".key", entry.key(), first->second);
      }
    }
  }

  void CheckEvaluationInputs() {
    if (run_.evaluate_size() == 0) {
      AddAt("evaluate", "evaluate is missing, want evaluate { input { source { ... } } }");
      return;
    }
    std::vector<std::string> names;
    for (int i = 0; i < run_.evaluate_size(); ++i) {
      const proto::Evaluate& evaluation = run_.evaluate(i);
      names.push_back(evaluation.name());
      if (required_.evaluation && evaluation.name() != *required_.evaluation) continue;
      if (!evaluation.has_input()) {
        AddThat(ElementPath("evaluate", i) + ".input", "is missing, want input { source { ... } }");
      }
    }
    if (required_.evaluation &&
        std::count(names.begin(), names.end(), *required_.evaluation) == 0) {
      errors_.AddAt(
          {.flag = absl::StrCat("--name=", *required_.evaluation)},
          absl::StrCat("no evaluation has this name", KnownNames(*required_.evaluation, names)));
    }
  }

  static std::string KnownNames(const std::string& name, const std::vector<std::string>& names) {
    if (names == std::vector<std::string>{""}) {
      return "; the only evaluation has no name, leave --name out";
    }
    std::vector<std::string> known = names;
    std::replace(known.begin(), known.end(), std::string(), std::string("\"\" (the one without)"));
    return DidYouMean(name, known);
  }

  void CheckBatchSize(const std::string& verb, ModeKey mode, const std::string& field, bool given,
                      int64_t size) {
    if (!given) {
      AddAt(field, absl::StrCat(field, " is missing, ", verb, " needs it: --", field, "=",
                                verb == "train" ? std::max(128, device_.num_replicas())
                                                : device_.num_replicas()));
      return;
    }
    if (!IsLegal(*proto::RunConfig::descriptor()->FindFieldByName(field), size)) return;
    CheckShared(run_, mode, field, size, errors_);
  }

  void CheckTpu() {
    const proto::TPUConfig& tpu = run_.tpu_config();
    if (run_.use_tpu()) CheckShards(tpu);
    const absl::StatusOr<IterationsPerLoop> iterations =
        ParseIterationsPerLoop(tpu.iterations_per_loop());
    if (!iterations.ok()) {
      Add("tpu_config.iterations_per_loop", std::string(iterations.status().message()));
    }
  }

  void CheckShards(const proto::TPUConfig& tpu) {
    constexpr char kShards[] = "tpu_config.num_shards";
    const int shards = tpu.num_shards();
    if (!tpu.has_num_shards() || shards <= 0) return;  // the bounds tell of the latter
    const int processes = required_.num_processes;
    if (!IsLegalShards(shards)) {
      Add(kShards, absl::StrCat("got ", shards, ", want one of ", absl::StrJoin(kLegalShards, ", "),
                                shards == 1 ? "; use_tpu: false runs one replica" : ""));
    } else if (required_.train && shards > kMaxLocalReplicas * processes) {
      Add(kShards, absl::StrCat("got ", shards, ", too many cores for ", processes,
                                processes == 1 ? " process" : " processes", ", want at most ",
                                kMaxLocalReplicas * processes, ", or ", shards / kMaxLocalReplicas,
                                " processes"));
    } else if (shards < processes) {
      Add(kShards, absl::StrCat("got ", shards, ", too few cores for ", processes,
                                " processes, want one each at least"));
    }
  }

  void CheckTransformationFuncs() {
    std::map<std::string, int> func_of_name;
    for (int i = 0; i < run_.transformation_func_size(); ++i) {
      const std::string& name = run_.transformation_func(i).name();
      const std::string path = ElementPath("transformation_func", i);
      if (name.empty()) continue;  // its rule tells of it
      CheckNameAt(FieldPath(path, "name"), NameKind::kKey, name);
      if (const auto [other, first] = func_of_name.emplace(name, i); !first) {
        AddTwice(FieldPath(path, "name"), name,
                 ElementPath("transformation_func", other->second) + ".name");
      }
    }
  }

  void CheckNameAt(const std::string& path, NameKind kind, const std::string& name) {
    const absl::Status checked = CheckName(kind, name);
    if (!checked.ok()) Add(path, std::string(checked.message()));
  }

  void AddTwice(const std::string& path, const std::string& name, const std::string& first_path) {
    Add(path, absl::StrCat("the name ", Quote(name), " is given twice, first at ",
                           config_.locations.Where(first_path), ", want another one"));
  }

  void CheckEvaluations() {
    std::map<std::string, int> evaluation_of_name;
    for (int i = 0; i < run_.evaluate_size(); ++i) {
      const std::string& name = run_.evaluate(i).name();
      if (!name.empty()) {
        CheckNameAt(ElementPath("evaluate", i) + ".name", NameKind::kFile, name);
      }
      if (name == kAllEvaluations) {
        Add(ElementPath("evaluate", i) + ".name",
            absl::StrCat("got ", Quote(name), ", which --name=", name,
                         " takes for all evaluations, want another one"));
      }
      const auto [other, first] = evaluation_of_name.emplace(name, i);
      if (first) continue;
      if (!name.empty()) {
        AddTwice(ElementPath("evaluate", i) + ".name", name,
                 ElementPath("evaluate", other->second) + ".name");
      } else {
        AddAt(ElementPath("evaluate", i) + ".name",
              absl::StrCat(ElementPath("evaluate", i), " has no name, and neither has the one at ",
                           config_.locations.Where(ElementPath("evaluate", other->second)),
                           ", want a name each"));
      }
    }
  }

  const LoadedConfig& config_;
  const proto::RunConfig& run_;
  const Topology device_;
  const RequiredParts& required_;
  ConfigErrors& errors_;
};

}  // namespace

void ValidateConfig(const LoadedConfig& config, const RequiredParts& required,
                    ConfigErrors& errors) {
  Validator(config, required, errors).Run();
}

}  // namespace tpurun
