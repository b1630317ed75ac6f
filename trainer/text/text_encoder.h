// Turns texts into ids: what Tokenizer has for each thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace bp::trainer {

class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  // Returns another one for another thread, which shares all but the cache.
  [[nodiscard]] virtual std::unique_ptr<TextEncoder> another() const = 0;
  // Appends the ids of `text`. Skips bytes that are not UTF-8.
  virtual void encode(std::string_view text, std::vector<std::int32_t>& ids) = 0;
};

}  // namespace bp::trainer
