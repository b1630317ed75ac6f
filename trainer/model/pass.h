// One forward pass of a model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "trainer/model/lora.h"
#include "trainer/model/parameters.h"
#include "trainer/model/passes/functions.h"

namespace bp::trainer {

// Determines, with the samples of the batch, which numbers a forward pass draws in a training step.
struct TrainingStep {
  std::uint64_t seed = 0;
  std::uint64_t number = 0;
  // Called with each activation and its name ("encoder.layer.0.attention.self") when it is
  // computed.
  std::function<void(const std::string& name, const at::Tensor& x)> observe = {};
  // Backward passes compute the activations of groups of this number of layers again, instead of
  // keeping them. 0: they keep all.
  int recomputed_layers = 0;
  // Passes of one step with different values draw different numbers.
  std::uint32_t draw = 0;
  // Is added to the word embeddings of the batch's tokens, sample after sample: fp32
  // [layout.tokens, their width]. Undefined: nothing is.
  at::Tensor perturbation = {};
};

// The dropout sites of one forward pass: the embeddings', the head's, and successive ones of the
// encoder's layers.
inline constexpr std::uint32_t kEmbeddingSite = 0;
inline constexpr std::uint32_t kHeadSite = 1;
inline constexpr std::uint32_t kFirstLayerSite = 2;
// The last site of a pass draws the noise of a perturbation. Each draw has as many sites.
inline constexpr std::uint32_t kSitesOfDraw = 1 << 16;
inline constexpr std::uint32_t kNoiseSite = kSitesOfDraw - 1;
// The one before it belongs to a pooler whose input is dropped, too.
inline constexpr std::uint32_t kPoolerSite = kNoiseSite - 1;
// The one before that belongs to the embeddings of a decoder.
inline constexpr std::uint32_t kDecoderSite = kPoolerSite - 1;
// The sites of adapters are in the upper half of the others.
inline constexpr std::uint32_t kFirstAdapterSite = kSitesOfDraw / 2;
// The modules of a layer that may have adapters.
inline constexpr std::uint32_t kAdaptersOfLayer = 6;

// Returns what determines the numbers of a site in a step.
[[nodiscard]] inline Dropout draw_of(const TrainingStep& step, double share, std::uint32_t site) {
  return {.share = share,
          .seed = step.seed,
          .step = step.number,
          .site = step.draw * kSitesOfDraw + site};
}

// What the parts of a model share in one forward pass.
struct Pass {
  LayoutPtr layout;                    // of all tokens
  LayoutPtr first_layout;              // of each sample's first token
  const TrainingStep* step = nullptr;  // null: evaluation, without dropout
  at::ScalarType number = at::kFloat;  // of activations, and of the weights of products
  const LoraConfig* lora = nullptr;    // null: no matrix has adapters
  // Unless null, gets the states of all tokens: after the embeddings, and after each layer.
  std::vector<at::Tensor>* states = nullptr;
  // What the model has for the distances of tokens: rows_by_distance(), whose layout is
  // relative_layout, or their transpose as attention() takes it. Undefined: it has nothing.
  at::Tensor relative = {};
  LayoutPtr relative_layout = {};
  at::Tensor encoded = {};  // for the layers of a decoder: the states of the encoder

  [[nodiscard]] Dropout dropout(double share, std::uint32_t site) const {
    return step == nullptr ? Dropout{} : draw_of(*step, share, site);
  }
  // Returns the weight to multiply with. Evaluation in fp32 uses the parameter itself.
  [[nodiscard]] Weight weight(const Weight& own) const {
    return step == nullptr && number == at::kFloat ? Weight{.master = own.master} : own;
  }
  // Returns the product of `x` and the matrix, with its adapters. `x_layout`: of x's rows.
  // `later_sites`: how far the adapters' sites are behind their own, where a pass uses a matrix
  // again.
  [[nodiscard]] at::Tensor product(const LayoutPtr& x_layout,
                                   const at::Tensor& x,
                                   const Linear& linear,
                                   std::uint32_t later_sites = 0) const;
  // Reports the activation `x` to the observer. Returns x.
  [[nodiscard]] at::Tensor seen(const std::string& name, at::Tensor x) const {
    if (step != nullptr && step->observe) step->observe(name, x);
    return x;
  }
};

}  // namespace bp::trainer
