#include "trainer/tasks/pretrain/instance_samples.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer {

void InstanceSamples::make(Fields fields, SampleSink& sink) {
  packed_.read(fields.back());
  const Instance& instance = packed_.instance();
  require_fitting(instance);
  types_.assign(instance.tokens.size(), 1);
  std::fill_n(types_.begin(), instance.first, 0);
  std::vector<ArrayView> arrays = {std::span<const std::int32_t>(types_)};
  if (form_.next_sentence) arrays.emplace_back(static_cast<std::int64_t>(instance.next));
  if (form_.masks) {
    arrays.emplace_back(instance.positions);
    arrays.emplace_back(instance.ids);
  }
  sink.add(instance.tokens, arrays);
}

void InstanceSamples::require_fitting(const Instance& instance) const {
  if (std::cmp_greater(instance.tokens.size(), form_.max_length)) {
    throw InputError(65,
                     concat("an instance of ", instance.tokens.size(),
                            " tokens, more than --max-length ", form_.max_length),
                     concat("give --max-length ", instance.tokens.size(), " or more"));
  }
  if (form_.next_sentence && instance.next == NextSentence::none) {
    throw InputError(65, "an instance of one segment, where --next-sentence needs two",
                     "leave out --next-sentence to learn masked tokens only");
  }
}

}  // namespace bp::trainer
