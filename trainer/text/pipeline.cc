#include "trainer/text/pipeline.h"

#include <cstddef>
#include <span>

#include "base/utf8.h"

namespace bp::trainer {
namespace {

void append_pieces(std::string_view text,
                   std::span<const Splitter> splitters,
                   const PieceModel& model,
                   std::vector<std::int32_t>& ids) {
  if (splitters.empty()) return model(text, ids);
  splitters.front()(
      text, [&](std::string_view word) { append_pieces(word, splitters.subspan(1), model, ids); });
}

}  // namespace

// A std::function of a std::ref takes no memory.
void Pipeline::encode(std::string_view text,
                      WordCache& cache,
                      std::vector<std::int32_t>& ids) const {
  if (bert) return bert->encode(text, cache, ids);
  const auto add_id = [&](std::int32_t id) { ids.push_back(id); };
  // The cache holds what the first splitter leaves.
  const auto add_word = [&](std::string_view word) {
    cache.append(word, ids, [&](std::string_view part, auto& to) {
      append_pieces(part, std::span(splitters).subspan(1), model, to);
    });
  };
  const auto add_words = [&](std::string_view part) {
    splitters.front()(part, std::ref(add_word));
  };
  const auto add_normalized = [&](std::string_view part) {
    added_normalized.cut(part, std::ref(add_words), std::ref(add_id));
  };
  const auto add_text = [&](std::string_view part) {
    if (normalizers.empty()) return add_normalized(part);
    std::string normalized(part);
    for (const Normalizer& normalize : normalizers) normalize(normalized);
    add_normalized(normalized);
  };
  const bool valid = find_invalid_utf8(text) == std::string_view::npos;
  const std::string repaired = valid ? std::string() : valid_utf8(text);
  added.cut(valid ? text : repaired, std::ref(add_text), std::ref(add_id));
}

}  // namespace bp::trainer
