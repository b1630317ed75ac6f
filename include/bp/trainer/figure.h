// A number that a training step reports beside its loss. See CustomTask::figures().
#pragma once

#include <string>

#include "bp/export.h"

namespace BP_API bp {

// bert_train shows the sum of `sum` divided by the sum of `weight`, over the micro-batches of all
// ranks. If `sum` counts hits and `weight` tries, that is the share of hits.
struct Figure {
  std::string name;
  double sum = 0;
  double weight = 0;  // 0 or more
};

}  // namespace bp
