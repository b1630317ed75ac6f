// One forward pass of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trainer/model/functions.h"
#include "trainer/model/parameters.h"

namespace bp::trainer {

// Determines, with the samples of the batch, which numbers dropout draws in a training step.
struct TrainingStep {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;
  // Called with each activation and its name ("encoder.layer.0.attention.self") when it is
  // computed.
  std::function<void(const std::string& name, const at::Tensor& x)> observe = {};
};

// The dropout sites of one forward pass: the embeddings', the head's, and successive ones of the
// encoder's layers.
inline constexpr std::uint32_t kEmbeddingSite = 0;
inline constexpr std::uint32_t kHeadSite = 1;
inline constexpr std::uint32_t kFirstLayerSite = 2;

// What the parts of a model share in one forward pass.
struct Pass {
  LayoutPtr layout;                    // of all tokens
  LayoutPtr first_layout;              // of each sample's first token
  const TrainingStep* step = nullptr;  // null: evaluation, without dropout, in fp32

  [[nodiscard]] Dropout dropout(double share, std::uint32_t site) const {
    if (step == nullptr) return {};
    return {share, step->seed, step->number, site};
  }
  // Returns the weight to multiply with. Evaluation uses the parameter itself.
  [[nodiscard]] Weight weight(const Linear& linear) const {
    return step == nullptr ? Weight{linear.weight.master, linear.weight.master} : linear.weight;
  }
  // Reports the activation `x` to the observer. Returns x.
  [[nodiscard]] at::Tensor seen(const std::string& name, at::Tensor x) const {
    if (step != nullptr && step->observe) step->observe(name, x);
    return x;
  }
};

}  // namespace bp::trainer
