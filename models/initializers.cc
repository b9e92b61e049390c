#include "models/initializers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "proto/one_of.h"
#include "runtime/base/text.h"

namespace tpurun {
namespace {

using Kind = Initializer::Kind;

// The standard deviation of a standard normal distribution truncated at two standard deviations.
// variance_scaling divides by it, so that the values have the requested variance.
constexpr double kTruncatedStddev = 0.87962566103423978;

Initializer Constant(double value) { return {.kind = Kind::kConstant, .a = value}; }
Initializer Uniform(double limit) { return {.kind = Kind::kUniform, .a = -limit, .b = limit}; }

Initializer MakeZeros(const proto::Initializer&, const Fans&) { return Constant(0); }
Initializer MakeOnes(const proto::Initializer&, const Fans&) { return Constant(1); }

// U(-l, l), l = sqrt(6 / (fan_in + fan_out)) (Glorot, Bengio 2010).
Initializer MakeGlorotUniform(const proto::Initializer&, const Fans& fans) {
  return Uniform(std::sqrt(3.0 / std::max(1.0, (fans.in + fans.out) / 2)));
}

// N(mean, stddev). Values beyond two standard deviations are drawn again.
Initializer MakeTruncatedNormal(const proto::Initializer& initializer, const Fans&) {
  return {.kind = Kind::kTruncatedNormal,
          .a = initializer.truncated_normal().mean(),
          .b = initializer.truncated_normal().stddev()};
}

// Variance scale / fan (He et al. 2015 for scale 2, FAN_IN).
Initializer MakeVarianceScaling(const proto::Initializer& initializer, const Fans& fans) {
  const proto::VarianceScaling& scaling = initializer.variance_scaling();
  double fan = fans.in;
  if (scaling.mode() == proto::VarianceScaling::FAN_OUT) fan = fans.out;
  if (scaling.mode() == proto::VarianceScaling::FAN_AVG) fan = (fans.in + fans.out) / 2;
  const double variance = scaling.scale() / std::max(1.0, fan);
  switch (scaling.distribution()) {
    case proto::VarianceScaling::UNIFORM:
      return Uniform(std::sqrt(3 * variance));
    case proto::VarianceScaling::UNTRUNCATED_NORMAL:
      return {.kind = Kind::kNormal, .a = 0, .b = std::sqrt(variance)};
    case proto::VarianceScaling::TRUNCATED_NORMAL:
      break;
  }
  return {.kind = Kind::kTruncatedNormal, .a = 0, .b = std::sqrt(variance) / kTruncatedStddev};
}

// Saxe et al. 2013, as tf.initializers.orthogonal.
Initializer MakeOrthogonal(const proto::Initializer& initializer, const Fans&) {
  return {.kind = Kind::kOrthogonal, .a = initializer.orthogonal().gain()};
}

}  // namespace

const std::vector<InitializerDef>& InitializerList() {
  static const std::vector<InitializerDef>& list = *new std::vector<InitializerDef>{
      {.name = "zeros", .make = MakeZeros},
      {.name = "ones", .make = MakeOnes},
      {.name = "glorot_uniform", .make = MakeGlorotUniform},
      {.name = "truncated_normal", .make = MakeTruncatedNormal},
      {.name = "variance_scaling", .make = MakeVarianceScaling},
      {.name = "orthogonal", .min_rank = 2, .make = MakeOrthogonal},
  };
  return list;
}

Fans FansOf(const std::vector<int64_t>& dims) {
  if (dims.empty()) return {1, 1};
  if (dims.size() == 1) return {static_cast<double>(dims[0]), static_cast<double>(dims[0])};
  double field = 1;
  for (size_t i = 0; i + 2 < dims.size(); ++i) field *= static_cast<double>(dims[i]);
  return {field * static_cast<double>(dims[dims.size() - 2]),
          field * static_cast<double>(dims[dims.size() - 1])};
}

void CheckInitializer(const proto::Initializer& initializer, int rank, const std::string& path,
                      ConfigErrors& errors) {
  const InitializerDef* def =
      ChooseRow(InitializerList(), initializer, "initializer", path, errors);
  if (def == nullptr) return;
  if (rank < def->min_rank) {
    errors.Add(FieldPath(path, def->name),
               absl::StrCat(def->name, " makes a matrix; the variable has ", rank,
                            rank == 1 ? " dimension" : " dimensions", "; use another initializer"));
  }
}

Initializer MakeInitializer(const proto::Initializer& initializer,
                            const std::vector<int64_t>& dims) {
  return FindByName(InitializerList(), ChosenKind(initializer)->name())
      ->make(initializer, FansOf(dims));
}

Initializer Zeros() { return Constant(0); }

Initializer GlorotUniform(const std::vector<int64_t>& dims) {
  return MakeGlorotUniform(proto::Initializer::default_instance(), FansOf(dims));
}

Initializer Orthogonal() { return MakeOrthogonal(proto::Initializer::default_instance(), {}); }

Initializer UnitForgetBias(Initializer initializer, int64_t units) {
  initializer.first_one = initializer.ones = units;
  return initializer;
}

}  // namespace tpurun
