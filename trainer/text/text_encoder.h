// Turns texts into ids: what the Tokenizers of one vocabulary share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trainer/text/word_cache.h"

namespace bp::trainer {

// Threads: any number of threads may use it at once, each with a cache of its own.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Appends the ids of `text`. Skips bytes that are not UTF-8. `cache`: of this encoder's words.
  virtual void encode(std::string_view text,
                      WordCache& cache,
                      std::vector<std::int32_t>& ids) const = 0;
};

}  // namespace bp::trainer
