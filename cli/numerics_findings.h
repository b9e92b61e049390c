// What `check --numerics` concludes from its trainings: whether DEFAULT follows f32, and which
// variables' gradients suffer.
#ifndef TPURUN_CLI_NUMERICS_FINDINGS_H_
#define TPURUN_CLI_NUMERICS_FINDINGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/estimator/numerics.h"

namespace tpurun {

// The names of the trainings. The last two store all results in f32; they are run where the model
// stores some in bf16.
inline constexpr char kNumericsDefault[] = "DEFAULT", kNumericsHigh[] = "HIGH",
                      kNumericsHighest[] = "HIGHEST", kNumericsF32[] = "F32",
                      kNumericsAllF32[] = "ALL_F32", kNumericsAllHighest[] = "ALL_HIGHEST";

// A training of the tables.
struct NumericsColumn {
  std::string name;
  int passes = 0;  // of the matrix unit for each product; 0: a TPU has no such precision
};

struct NumericsPlan {
  NumericsArgs args;
  std::vector<NumericsColumn> columns;  // in the order of the tables, without the other seed
  std::string reference;
  std::string highest;     // as exact as the reference, with other rounding
  std::string other_seed;  // the reference with another seed
};

// Why a variable is listed.
enum class NumericsReason : uint8_t {
  kProducts,   // the precision of products changes its gradient
  kStorage,    // results stored in bf16 change its gradient
  kUnderflow,  // elements of its gradient are flushed to 0
  kZero,       // its gradient is 0 everywhere
};

struct NumericsFinding {
  std::string variable;
  std::string layer;  // that has the variable; with kStorage the one that stores; may be empty
  NumericsReason reason = NumericsReason::kProducts;
  double share = 0;   // of the norm of the gradient, or of its elements
  std::string write;  // what to write into the model
};

class NumericsFindings {
 public:
  // Both must outlive it.
  NumericsFindings(const NumericsPlan& plan, const Numerics& numerics);

  const TrainingLosses& losses(const std::string& name) const { return *losses_.at(name); }
  const TrainingLosses& reference() const { return losses(plan_.reference); }

  // How far the mean of the last tenth of the losses is from the reference's, relative to it. NaN
  // if one of them is.
  double FromReference(const std::string& name) const;
  // The greatest relative difference from the reference's loss of the same step, over the steps
  // where both are finite.
  double GreatestDifference(const std::string& name) const;

  // False: there is nothing to follow.
  bool reference_is_finite() const { return reference().not_finite.empty(); }
  // Whether FromReference(DEFAULT) is at most 1 %, or at most what another seed makes, or HIGHEST,
  // which is as exact as f32 and rounds otherwise (unless the model stores results in bf16).
  bool follows() const;
  // One sentence without its full stop.
  std::string Verdict() const;

  // The difference of the variable's gradient in step 1, relative to its norm. nullopt: not
  // measured.
  static std::optional<double> Difference(const VariableNumerics& variable,
                                          const std::string& training);
  // Whether storage in bf16 changes a gradient: AddStorage then finds the layers.
  bool storage_differs() const { return storage_differs_; }
  // `layers` has a training for each layer that alone stores its result in bf16, after the
  // reference.
  void AddStorage(const Numerics& layers);

  // Whether f32 does not determine the variable's gradient either: it is 0 but for rounding.
  bool IsNoise(const VariableNumerics& variable) const;

  // Those whose gradients DEFAULT changes most come first, those whose gradients are noise last.
  std::vector<const VariableNumerics*> WorstFirst() const;
  // The worst first.
  const std::vector<NumericsFinding>& list() const { return list_; }

 private:
  void AddOf(const VariableNumerics& variable);
  void Sort();

  const NumericsPlan& plan_;
  const Numerics& numerics_;
  std::map<std::string, const TrainingLosses*> losses_;
  bool storage_differs_ = false;
  std::vector<NumericsFinding> list_;
};

// "0.25 %", "NaN".
std::string ShareText(double share);
// part / all; 0 if `all` is 0.
double ShareOf(int64_t part, int64_t all);

}  // namespace tpurun

#endif  // TPURUN_CLI_NUMERICS_FINDINGS_H_
