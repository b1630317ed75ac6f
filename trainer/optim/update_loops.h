// The inner loops of the optimizers that LibTorch has no kernel for. Plain C++, which the compiler
// vectorises. An element's result does not depend on where a loop begins or ends.
#pragma once

#include <cstdint>

namespace bp::trainer {

struct AdamWStep {
  float beta1 = 0;
  float beta2 = 0;
  float rate = 0;         // lr / (1 - beta1^t)
  float correction2 = 1;  // 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
  float kept = 1;  // share of a parameter that weight decay leaves
};
void adamw_loop(std::int64_t count,
                float* parameter,
                const float* gradient,
                float* exp_avg,
                float* exp_avg_sq,
                const AdamWStep& step);
// The same for a gradient of 0. Moments too small for a normal number become 0, because processors
// compute slowly with such numbers.
void adamw_rest_loop(
    std::int64_t count, float* parameter, float* exp_avg, float* exp_avg_sq, const AdamWStep& step);
// The same for moments of 0, too.
void decay_loop(std::int64_t count, float* parameter, float kept);

struct LionStep {
  float beta1 = 0;
  float beta2 = 0;
  float lr = 0;
  float kept = 1;  // share of a parameter that weight decay leaves
};
void lion_loop(std::int64_t count,
               float* parameter,
               const float* gradient,
               float* exp_avg,
               const LionStep& step);

struct AdadeltaStep {
  float rho = 0;
  float epsilon = 0;
  float lr = 0;
  float weight_decay = 0;
};
void adadelta_loop(std::int64_t count,
                   float* parameter,
                   const float* gradient,
                   float* square_avg,
                   float* acc_delta,
                   const AdadeltaStep& step);

struct LambStep {
  float beta1 = 0;
  float beta2 = 0;
  float correction1 = 1;  // 1 / (1 - beta1^t)
  float correction2 = 1;  // 1 / (1 - beta2^t)
  float epsilon = 0;
  float weight_decay = 0;
};
struct LambSquares {
  double parameter = 0;  // sums of squares
  double update = 0;
};
// Updates the two means. Returns the sums over the parameter and over the update that follows.
[[nodiscard]] LambSquares lamb_means_loop(std::int64_t count,
                                          const float* parameter,
                                          const float* gradient,
                                          float* exp_avg,
                                          float* exp_avg_sq,
                                          const LambStep& step);
// Subtracts `rate` times the update.
void lamb_update_loop(std::int64_t count,
                      float* parameter,
                      const float* exp_avg,
                      const float* exp_avg_sq,
                      float rate,
                      const LambStep& step);

}  // namespace bp::trainer
