#include "trainer/tasks/scorer.h"

#include <ATen/core/Tensor.h>

#include "base/text.h"
#include "trainer/common/numbers.h"

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

void write_predictions(const std::string& path,
                       const SampleStore& store,
                       Split split,
                       const Scorer& scorer) {
  PredictionsWriter writer(path, scorer.columns());
  std::span<const float> rest = scorer.kept();
  std::vector<std::string> fields;
  for (std::int64_t i = 0; i < store.size(split); ++i) {
    const Sample sample = store.load(split, i);
    const std::size_t own = scorer.kept_of(sample);
    scorer.set_fields(sample, rest.first(own), fields);
    rest = rest.subspan(own);
    writer.add({sample.sample_id, sample.text_id, fields});
  }
  writer.finish();
}

}  // namespace bp::trainer
