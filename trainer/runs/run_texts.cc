#include "trainer/runs/run_texts.h"

#include <exception>

#include "trainer/data/plan.h"

namespace bp::trainer {

RunTexts::RunTexts(const std::vector<Setting>& settings, Split split) : split_(split) {
  PrepareOptions options;
  options.source = value_of(settings, "data");
  options.store = value_of(settings, "store");
  try {
    store_.emplace(
        SampleStore::open(is_store(options.source) ? options.source : store_path(options)));
    if (store_->task() != value_of(settings, "task")) store_.reset();
  } catch (const std::exception&) {
    store_.reset();
  }
}

// Sample ids ascend within a split.
std::string RunTexts::of(std::int64_t sample_id, std::int64_t text_id) const {
  if (!store_) return "";
  try {
    std::int64_t first = 0;
    for (std::int64_t count = store_->size(split_); count > 0;) {
      const std::int64_t half = count / 2;
      const Sample sample = store_->load(split_, first + half);
      if (sample.sample_id == sample_id) {
        return sample.text_id == text_id ? store_->text(text_id, split_) : "";
      }
      if (sample.sample_id < sample_id) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
  } catch (const std::exception&) {
  }
  return "";
}

}  // namespace bp::trainer
