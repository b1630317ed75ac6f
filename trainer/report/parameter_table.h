// The parameters of a model, part by part: the embeddings, each layer, the pooler, the head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/report/section.h"

namespace bp::trainer {

struct ModelPart {
  std::string name = {};  // "embeddings", "layer 0", "pooler", "head"
  std::int64_t parameters = 0;
  std::int64_t trained = 0;  // of them; the others are frozen when training begins
  double rate = 1;           // the factor of the learning rate
  bool operator==(const ModelPart&) const = default;
};

// See base/fields.h.
void fields(auto& json, Of<ModelPart> auto& it) {
  json("part", it.name);
  json("parameters", it.parameters);
  json("trained", it.trained);
  json("rate", it.rate);
}

// Returns the sums, with the name "all".
[[nodiscard]] ModelPart sum_of(const std::vector<ModelPart>& parts);

// Folded. It is left out without parts.
[[nodiscard]] Section parameters_section(const std::vector<ModelPart>& parts);

}  // namespace bp::trainer
