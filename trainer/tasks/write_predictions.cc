#include "trainer/tasks/write_predictions.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bp::trainer {

void write_predictions(const std::string& path,
                       const SampleStore& store,
                       Split split,
                       const Scorer& scorer) {
  const Predictor& predictor = scorer.predictor();
  PredictionsWriter writer(path, predictor.columns());
  std::span<const float> rest = scorer.kept();
  std::vector<std::string> fields;
  for (std::int64_t i = 0; i < store.size(split); ++i) {
    const Sample sample = store.load(split, i);
    const std::size_t own = predictor.kept_of(sample);
    predictor.set_fields(sample, rest.first(own), fields);
    rest = rest.subspan(own);
    writer.add({sample.sample_id, sample.text_id, fields});
  }
  writer.finish();
}

}  // namespace bp::trainer
