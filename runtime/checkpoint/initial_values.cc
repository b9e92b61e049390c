#include "runtime/checkpoint/initial_values.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "runtime/base/bfloat16.h"
#include "runtime/base/random.h"

namespace tpurun {
namespace {

// Element i of a normal distribution by Box and Muller: two of the four lanes of block i / 2.
// `attempt` numbers the draws of one element.
double NormalElement(uint64_t seed, uint32_t stream, uint32_t attempt, int64_t i) {
  const auto lanes = PhiloxBlock(seed, stream, attempt, 0, static_cast<uint64_t>(i) / 2);
  const int lane = static_cast<int>(i % 2) * 2;
  const double radius = (static_cast<double>(lanes[lane]) + 1) * 0x1p-32;  // (0, 1]
  const double angle = static_cast<double>(lanes[lane + 1]) * 0x1p-32;     // [0, 1)
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * M_PI * angle);
}

double TruncatedNormalElement(uint64_t seed, uint32_t stream, int64_t i) {
  for (uint32_t attempt = 0;; ++attempt) {
    const double z = NormalElement(seed, stream, attempt, i);
    if (std::abs(z) < 2) return z;
  }
}

float UniformElement(uint64_t seed, uint32_t stream, int64_t i, float low, float high) {
  const float value = low + UniformFloat(PhiloxElement(seed, stream, 0, 0, i)) * (high - low);
  return value < high ? value : std::nextafter(high, low);  // the sum may round up to `high`
}

// The Q of the QR decomposition of a normal matrix, the diagonal of R positive, so that Q is
// uniformly distributed; transposed where there are more columns than rows.
void DrawOrthogonal(const Variable& variable, uint64_t seed, float* out) {
  const int64_t columns = variable.shape.dims.back();
  const int64_t rows = columns == 0 ? 0 : variable.shape.num_elements() / columns;
  const int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  if (few == 0) return;
  const uint32_t stream = StreamOf(variable.name);
  Eigen::MatrixXd normal(many, few);
  for (int64_t i = 0; i < many * few; ++i) {
    normal(i / few, i % few) = NormalElement(seed, stream, 0, i);
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(normal);
  const Eigen::MatrixXd q = qr.householderQ() * Eigen::MatrixXd::Identity(many, few);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t of_q = rows < columns ? row : column;
      const double sign = qr.matrixQR()(of_q, of_q) < 0 ? -1 : 1;
      const double value = rows < columns ? q(column, row) : q(row, column);
      out[row * columns + column] = static_cast<float>(variable.initializer.a * sign * value);
    }
  }
}

float DrawElement(const Initializer& initializer, uint64_t seed, uint32_t stream, int64_t i) {
  switch (initializer.kind) {
    case Initializer::Kind::kConstant:
      return static_cast<float>(initializer.a);
    case Initializer::Kind::kUniform:
      return UniformElement(seed, stream, i, static_cast<float>(initializer.a),
                            static_cast<float>(initializer.b));
    case Initializer::Kind::kNormal:
      return static_cast<float>(initializer.a + initializer.b * NormalElement(seed, stream, 0, i));
    case Initializer::Kind::kTruncatedNormal:
      return static_cast<float>(initializer.a +
                                initializer.b * TruncatedNormalElement(seed, stream, i));
    case Initializer::Kind::kOrthogonal:
      break;
  }
  return 0;
}

template <typename T>
void FillConstant(std::byte* out, int64_t elements, double value) {
  std::fill_n(reinterpret_cast<T*>(out), elements, static_cast<T>(value));
}

}  // namespace

absl::Status DrawInitialValues(const Variable& variable, uint64_t seed, std::byte* out) {
  const int64_t elements = variable.shape.num_elements();
  const Initializer& initializer = variable.initializer;
  const uint32_t stream = StreamOf(variable.name);
  switch (variable.shape.dtype) {
    case DType::kF32:
      if (initializer.kind == Initializer::Kind::kOrthogonal) {
        DrawOrthogonal(variable, seed, reinterpret_cast<float*>(out));
        return absl::OkStatus();
      }
      for (int64_t i = 0; i < elements; ++i) {
        reinterpret_cast<float*>(out)[i] = DrawElement(initializer, seed, stream, i);
      }
      std::fill_n(reinterpret_cast<float*>(out) + initializer.first_one, initializer.ones, 1.0f);
      return absl::OkStatus();
    case DType::kBF16:
      for (int64_t i = 0; i < elements; ++i) {
        reinterpret_cast<uint16_t*>(out)[i] =
            BFloat16Bits(DrawElement(initializer, seed, stream, i));
      }
      return absl::OkStatus();
    default:
      break;
  }
  if (initializer.kind != Initializer::Kind::kConstant) {
    return absl::InternalError(absl::StrCat("variable \"", variable.name, "\" of ",
                                            variable.shape.ToString(),
                                            " has a random initializer, want a constant"));
  }
  switch (variable.shape.dtype) {
    case DType::kS32:
      FillConstant<int32_t>(out, elements, initializer.a);
      break;
    case DType::kS64:
      FillConstant<int64_t>(out, elements, initializer.a);
      break;
    case DType::kU32:
      FillConstant<uint32_t>(out, elements, initializer.a);
      break;
    case DType::kC64:
      for (int64_t i = 0; i < elements; ++i) {
        reinterpret_cast<float*>(out)[2 * i] = static_cast<float>(initializer.a);
        reinterpret_cast<float*>(out)[2 * i + 1] = 0;
      }
      break;
    default:
      FillConstant<uint8_t>(out, elements, initializer.a);
      break;
  }
  return absl::OkStatus();
}

}  // namespace tpurun
