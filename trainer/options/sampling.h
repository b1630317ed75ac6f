// How a run cuts its rows into steps.
#pragma once

#include <cstdint>
#include <utility>

#include "trainer/data/sampler.h"
#include "trainer/options/options.h"

namespace bp::trainer {

// Whether sampling() needs the lengths of the rows.
[[nodiscard]] inline bool needs_lengths(const Options& options) {
  return options.max_tokens > 0 || options.curriculum > 0 || options.group_lengths > 0;
}

// `lengths` of the rows may be null unless needs_lengths().
[[nodiscard]] inline SamplerOptions sampling(const Options& options,
                                             std::int64_t rows,
                                             int ranks,
                                             Lengths lengths) {
  return {.rows = rows,
          .seed = options.seed,
          .ranks = ranks,
          .batch = options.batch,
          .micro_batches = options.accumulate,
          .max_tokens = options.max_tokens,
          .curriculum = options.curriculum,
          .group = options.group_lengths,
          .lengths = std::move(lengths)};
}

}  // namespace bp::trainer
