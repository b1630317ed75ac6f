#include "trainer/tasks/scorer.h"

#include <ATen/core/Tensor.h>

#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/tasks/text_rows.h"

namespace bp::trainer {

void Scorer::add(const Batch& block, const at::Tensor& outputs) {
  const std::size_t before = kept_.size();
  keep(block, outputs, kept_);
  count(block, outputs, std::span(kept_).subspan(before));
}

std::vector<std::string> Scorer::unscored(const std::string& what,
                                          const std::string& predictions) const {
  return {concat(what, " to compare with, ", with_commas(store().size(split())), " samples",
                 predictions.empty() ? "; --out FILE writes the predictions"
                                     : "; predictions in " + predictions)};
}

std::vector<std::size_t> Scorer::starts_of_rows(std::span<const std::int64_t> text_ids) const {
  return joins_samples() ? starts_of_texts(text_ids) : starts_of_samples(text_ids.size());
}

std::vector<std::size_t> Scorer::starts_of_rows(Split of) const {
  return starts_of_rows(store().text_ids(of));
}

std::vector<float> Scorer::kept_of_rows(std::span<const float> kept,
                                        std::span<const std::size_t> starts) const {
  return joins_samples() ? means_of_rows(kept, starts)
                         : std::vector<float>(kept.begin(), kept.end());
}

void Scorer::write_predictions(const std::string& path) const {
  PredictionsWriter writer(path, columns());
  const std::vector<std::size_t> starts = starts_of_rows(split());
  const std::vector<float> kept = kept_of_rows(kept_, starts);
  std::span<const float> rest = kept;
  std::vector<std::string> fields;
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    const Sample sample = store().load(split(), static_cast<std::int64_t>(starts[row]));
    const std::size_t own = kept_of(sample);
    set_fields(sample, rest.first(own), fields);
    rest = rest.subspan(own);
    writer.add({sample.sample_id, sample.text_id, fields});
  }
  writer.finish();
}

}  // namespace bp::trainer
