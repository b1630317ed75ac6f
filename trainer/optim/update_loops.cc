#include "trainer/optim/update_loops.h"

#include <limits>

// The loops that each step of AdamW runs are compiled for several instruction sets; the program
// takes the best one that the processor has. All of them give the same bits.
#if defined(__x86_64__)
#define BP_EACH_INSTRUCTION_SET [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define BP_EACH_INSTRUCTION_SET
#endif

namespace bp::trainer {
namespace {

[[gnu::always_inline]] inline float adamw_change(float exp_avg,
                                                 float exp_avg_sq,
                                                 const AdamWStep& step) {
  return step.rate * exp_avg / (__builtin_sqrtf(exp_avg_sq) * step.correction2 + step.epsilon);
}

[[gnu::always_inline]] inline float or_zero(float x) {
  return __builtin_fabsf(x) < std::numeric_limits<float>::min() ? 0 : x;
}

float lamb_direction(float parameter, float exp_avg, float exp_avg_sq, const LambStep& step) {
  const float mean = exp_avg * step.correction1;
  const float square = exp_avg_sq * step.correction2;
  return mean / (__builtin_sqrtf(square) + step.epsilon) + step.weight_decay * parameter;
}

}  // namespace

BP_EACH_INSTRUCTION_SET
void adamw_loop(std::int64_t count,
                float* __restrict__ parameter,
                const float* __restrict__ gradient,
                float* __restrict__ exp_avg,
                float* __restrict__ exp_avg_sq,
                const AdamWStep& given) {
  const AdamWStep step = given;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    const float mean = step.beta1 * exp_avg[i] + (1 - step.beta1) * g;
    const float square = step.beta2 * exp_avg_sq[i] + (1 - step.beta2) * g * g;
    exp_avg[i] = mean;
    exp_avg_sq[i] = square;
    parameter[i] = parameter[i] * step.kept - adamw_change(mean, square, step);
  }
}

BP_EACH_INSTRUCTION_SET
void adamw_rest_loop(std::int64_t count,
                     float* __restrict__ parameter,
                     float* __restrict__ exp_avg,
                     float* __restrict__ exp_avg_sq,
                     const AdamWStep& given) {
  const AdamWStep step = given;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float mean = or_zero(step.beta1 * exp_avg[i]);
    const float square = or_zero(step.beta2 * exp_avg_sq[i]);
    exp_avg[i] = mean;
    exp_avg_sq[i] = square;
    parameter[i] = parameter[i] * step.kept - adamw_change(mean, square, step);
  }
}

BP_EACH_INSTRUCTION_SET
void decay_loop(std::int64_t count, float* parameter, float kept) {
  for (std::int64_t i = 0; i < count; ++i) parameter[i] *= kept;
}

void lion_loop(std::int64_t count,
               float* __restrict__ parameter,
               const float* __restrict__ gradient,
               float* __restrict__ exp_avg,
               const LionStep& given) {
  const LionStep step = given;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float mean = step.beta1 * exp_avg[i] + (1 - step.beta1) * gradient[i];
    const float moved = parameter[i] * step.kept;
    const float change = mean < 0 ? -step.lr : step.lr;
    parameter[i] = moved - (mean == 0 ? 0 : change);
    exp_avg[i] = step.beta2 * exp_avg[i] + (1 - step.beta2) * gradient[i];
  }
}

void adadelta_loop(std::int64_t count,
                   float* __restrict__ parameter,
                   const float* __restrict__ gradient,
                   float* __restrict__ square_avg,
                   float* __restrict__ acc_delta,
                   const AdadeltaStep& given) {
  const AdadeltaStep step = given;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float slope = gradient[i] + step.weight_decay * parameter[i];
    const float square = step.rho * square_avg[i] + (1 - step.rho) * slope * slope;
    const float delta = __builtin_sqrtf(acc_delta[i] + step.epsilon) /
                        __builtin_sqrtf(square + step.epsilon) * slope;
    square_avg[i] = square;
    acc_delta[i] = step.rho * acc_delta[i] + (1 - step.rho) * delta * delta;
    parameter[i] -= step.lr * delta;
  }
}

LambSquares lamb_means_loop(std::int64_t count,
                            const float* __restrict__ parameter,
                            const float* __restrict__ gradient,
                            float* __restrict__ exp_avg,
                            float* __restrict__ exp_avg_sq,
                            const LambStep& given) {
  const LambStep step = given;
  double parameters = 0;
  double updates = 0;
#pragma omp simd reduction(+ : parameters, updates)
  for (std::int64_t i = 0; i < count; ++i) {
    exp_avg[i] = step.beta1 * exp_avg[i] + (1 - step.beta1) * gradient[i];
    exp_avg_sq[i] = step.beta2 * exp_avg_sq[i] + (1 - step.beta2) * gradient[i] * gradient[i];
    const double value = parameter[i];
    const double update = lamb_direction(parameter[i], exp_avg[i], exp_avg_sq[i], step);
    parameters += value * value;
    updates += update * update;
  }
  return {parameters, updates};
}

void lamb_update_loop(std::int64_t count,
                      float* __restrict__ parameter,
                      const float* __restrict__ exp_avg,
                      const float* __restrict__ exp_avg_sq,
                      float rate,
                      const LambStep& given) {
  const LambStep step = given;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    parameter[i] -= rate * lamb_direction(parameter[i], exp_avg[i], exp_avg_sq[i], step);
  }
}

}  // namespace bp::trainer
