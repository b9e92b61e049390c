// Cost: the work of a call, from its shapes and attributes alone. XLA's cost analysis counts the
// same properties (flops, transcendentals, bytes accessed).
#ifndef TPURUN_RUNTIME_IR_COST_H_
#define TPURUN_RUNTIME_IR_COST_H_

namespace tpurun {

struct Cost {
  double matrix_flops = 0;  // of products and convolutions: 2 for each multiplication and addition
  double vector_flops = 0;  // of all other arithmetic and comparisons
  double transcendentals = 0;  // calls of exp, log, tanh, sqrt, ...; vector_flops lacks them
  double bytes_read = 0;       // of operands, as they are stored
  double bytes_written = 0;    // of results, as they are stored

  // Each transcendental counts as one.
  double flops() const { return matrix_flops + vector_flops + transcendentals; }
  double bytes() const { return bytes_read + bytes_written; }

  Cost& operator+=(const Cost& other) {
    matrix_flops += other.matrix_flops;
    vector_flops += other.vector_flops;
    transcendentals += other.transcendentals;
    bytes_read += other.bytes_read;
    bytes_written += other.bytes_written;
    return *this;
  }
  friend Cost operator*(const Cost& cost, double times) {
    return {cost.matrix_flops * times, cost.vector_flops * times, cost.transcendentals * times,
            cost.bytes_read * times, cost.bytes_written * times};
  }
};

}  // namespace tpurun

#endif  // TPURUN_RUNTIME_IR_COST_H_
