#include "trainer/text/pipeline.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "trainer/text/bert_encoder.h"
#include "trainer/text/word_cache.h"

namespace bp::trainer {
namespace {

class PipelineEncoder : public TextEncoder {
 public:
  explicit PipelineEncoder(std::shared_ptr<const Pipeline> pipeline)
      : pipeline_(std::move(pipeline)) {}

  [[nodiscard]] std::unique_ptr<TextEncoder> another() const override {
    return std::make_unique<PipelineEncoder>(pipeline_);
  }

  void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
    const bool valid = find_invalid_utf8(text) == std::string_view::npos;
    const std::string repaired = valid ? std::string() : valid_utf8(text);
    const auto add = [&](std::int32_t id) { ids.push_back(id); };
    pipeline_->added.cut(
        valid ? text : repaired,
        [&](std::string_view part) {
          pipeline_->added_normalized.cut(
              normalized(part), [&](std::string_view words) { append_words(words, ids); }, add);
        },
        add);
  }

 private:
  std::string_view normalized(std::string_view text) {
    if (pipeline_->normalizers.empty()) return text;
    normalized_.assign(text);
    for (const Normalizer& normalize : pipeline_->normalizers) normalize(normalized_);
    return normalized_;
  }

  // The cache holds what the first splitter leaves.
  void append_words(std::string_view text, std::vector<std::int32_t>& ids) {
    pipeline_->splitters.front()(text, [&](std::string_view word) {
      cache_.append(word, ids, [&](std::string_view part, auto& to) { append(part, 1, to); });
    });
  }

  // `step`: the number of the next splitter.
  void append(std::string_view word, std::size_t step, std::vector<std::int32_t>& ids) const {
    if (step == pipeline_->splitters.size()) return pipeline_->model->append(word, ids);
    pipeline_->splitters[step](word,
                               [&, step](std::string_view part) { append(part, step + 1, ids); });
  }

  std::shared_ptr<const Pipeline> pipeline_;
  WordCache cache_;
  std::string normalized_;
};

}  // namespace

std::unique_ptr<TextEncoder> make_pipeline_encoder(std::shared_ptr<const Pipeline> pipeline) {
  if (pipeline->bert) return make_bert_encoder(pipeline->tokens, pipeline->added, *pipeline->bert);
  return std::make_unique<PipelineEncoder>(std::move(pipeline));
}

}  // namespace bp::trainer
