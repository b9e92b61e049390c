#include "models/optimizer_choice.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "models/losses.h"
#include "runtime/base/name_pattern.h"
#include "runtime/base/text.h"
#include "runtime/optimizers/optimizers.h"

namespace tpurun {
namespace {

// Returns the name of each optimizer: its own name, or its kind. A second unnamed adagrad is
// adagrad_1.
std::vector<std::string> OptimizerNames(const proto::ModelSpec& spec) {
  std::vector<std::string> names;
  for (const proto::Optimizer& optimizer : spec.optimizer()) {
    std::string name = optimizer.has_name() ? optimizer.name() : KindOf(optimizer);
    const std::string base = name;
    for (int i = 1;
         !optimizer.has_name() && std::find(names.begin(), names.end(), name) != names.end(); ++i) {
      name = absl::StrCat(base, "_", i);
    }
    names.push_back(name);
  }
  return names;
}

ConfigPlace OptimizerPlace(int index, const std::string& name) {
  return {absl::StrCat("optimizer ", index, name.empty() ? "" : absl::StrCat(" ", Quote(name))),
          absl::StrCat("model.optimizer[", index, "]")};
}

const ConfigPlace& FrozenPlace() {
  static const ConfigPlace& place = *new ConfigPlace{"frozen", "model"};
  return place;
}

// Returns the loss that the optimizer minimizes. Invalid after a mistake, which is reported.
Value LossOf(ModelContext& m, const proto::Optimizer& optimizer, const ConfigPlace& place,
             Value total, const std::vector<Value>& regularization) {
  if (!optimizer.has_loss()) return total;
  std::vector<std::string> names;
  for (const proto::Loss& loss : m.spec.loss()) names.push_back(loss.name());
  for (const LossTerm& term : m.losses) {
    if (term.name != optimizer.loss()) continue;
    return ReduceLosses(m.b, {term}, regularization).total;
  }
  for (const proto::Loss& loss : m.spec.loss()) {
    if (loss.name() != optimizer.loss() || loss.reduction() != proto::Loss::NONE) continue;
    m.errors.Add(place, "loss",
                 absl::StrCat("the loss ", Quote(optimizer.loss()),
                              " has reduction: NONE, and only one number can be minimized"));
  }
  if (std::find(names.begin(), names.end(), optimizer.loss()) == names.end()) {
    m.errors.Add(place, "loss",
                 absl::StrCat("no loss is called ", Quote(optimizer.loss()),
                              names.empty() ? "; the model has no `loss` entries"
                                            : DidYouMean(optimizer.loss(), names)));
  }
  return {};
}

}  // namespace

void CheckOptimizers(ModelContext& m) {
  const std::vector<std::string> names = OptimizerNames(m.spec);
  for (int i = 0; i < m.spec.optimizer_size(); ++i) {
    const ConfigPlace place = OptimizerPlace(i, names[i]);
    m.errors.Add(place, CheckOptimizer(m.spec.optimizer(i), m.args.grouped_replicas()));
    if (m.spec.optimizer(i).has_name()) m.RequireName(place, NameKind::kVariable, names[i]);
    const int replicas = m.purpose.train ? m.args.topology.num_replicas() : 1;
    if (replicas > 1 && CrossShardReduction(m.spec.optimizer(i)) == Reduction::kNone) {
      m.errors.Add(place, "cross_shard.reduction",
                   absl::StrCat("reduction NONE would train ", replicas,
                                " models apart; want MEAN or SUM on several replicas"));
    }
    for (int other = 0; other < i; ++other) {
      if (names[other] != names[i]) continue;
      m.errors.Add(place, "name",
                   absl::StrCat("the name ", Quote(names[i]), " is taken by optimizer ", other));
    }
  }
  for (int i = 0; i < m.spec.frozen_size(); ++i) {
    const absl::Status status = NamePattern::Parse(m.spec.frozen(i)).status();
    if (status.ok()) continue;
    m.errors.Add(FrozenPlace(), absl::StrCat("frozen[", i, "]"), std::string(status.message()));
  }
}

std::vector<OptimizerSpec> ChooseOptimizers(ModelContext& m, Value total,
                                            const std::vector<Value>& regularization) {
  const std::vector<std::string> names = OptimizerNames(m.spec);
  std::vector<OptimizerSpec> chosen;
  for (int i = 0; i < m.spec.optimizer_size(); ++i) {
    const proto::Optimizer& optimizer = m.spec.optimizer(i);
    const ConfigPlace place = OptimizerPlace(i, names[i]);
    for (const NamePatterns& patterns : NamePatternsOf(optimizer))
      m.CheckMatches(place, patterns.field, patterns.expressions);
    chosen.push_back({.optimizer = optimizer,
                      .name = names[i],
                      .loss = LossOf(m, optimizer, place, total, regularization)});
  }
  m.CheckMatches(FrozenPlace(), "frozen", m.spec.frozen());
  const std::vector<Variable>& variables = m.b.graph().variables();
  for (int variable = 0; variable < static_cast<int>(variables.size()); ++variable) {
    if (!variables[variable].trainable || chosen.empty()) continue;
    int first = -1;
    for (int i = 0; i < m.spec.optimizer_size(); ++i) {
      const proto::Optimizer& optimizer = m.spec.optimizer(i);
      if (!optimizer.var_list().empty() &&
          !MatchesAny(optimizer.var_list(), variables[variable].name)) {
        continue;
      }
      if (first >= 0) {
        m.errors.Add(OptimizerPlace(i, names[i]), optimizer.var_list().empty() ? "" : "var_list",
                     absl::StrCat("variable ", variables[variable].name,
                                  " is updated by optimizer ", first, " ", Quote(names[first]),
                                  " too; give each optimizer a var_list of its own variables"));
        continue;
      }
      first = i;
      chosen[i].variables.push_back(variable);
    }
    if (first < 0) {
      m.errors.Add(OptimizerPlace(0, names[0]), "var_list",
                   absl::StrCat("variable ", variables[variable].name,
                                " is trainable but matches no optimizer's var_list; add it to one, "
                                "or to `frozen`"));
    }
  }
  return chosen;
}

}  // namespace tpurun
