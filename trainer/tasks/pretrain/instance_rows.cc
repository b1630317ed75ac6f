#include "trainer/tasks/pretrain/instance_rows.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/tasks/pretrain/instance.h"

namespace bp::trainer {

bool InstanceRows::next() {
  const std::optional<Instance> instance = take(place_);
  if (!instance) return false;
  packed_.clear();
  append_packed(*instance, packed_);
  fields_[0] = place_;
  fields_[1] = field_of(packed_);
  ++number_;
  return true;
}

ShardRows::ShardRows(const std::string& path, std::int64_t vocabulary)
    : name_(std::filesystem::path(path).filename().string()), reader_(path, vocabulary) {}

std::optional<Instance> ShardRows::take(std::string& place) {
  if (!reader_.next()) return std::nullopt;
  place = concat(name_, ", row ", number() + 1);
  return reader_.instance();
}

PairRows::PairRows(const std::string& path,
                   TextForm form,
                   const Vocabulary& vocabulary,
                   bool lower_case,
                   const InstanceOptions& options)
    : name_(std::filesystem::path(path).filename().string()),
      documents_({path}, form, kBlockBytes),
      maker_(Tokenizer(vocabulary, lower_case), vocabulary, options) {}

std::optional<Instance> PairRows::take(std::string& place) {
  while (next_ == instances_.size()) {
    if (!documents_.read(block_)) return std::nullopt;
    (void)maker_.make(block_, instances_);
    next_ = 0;
  }
  place = concat(name_, ", pair ", number() + 1);
  return instances_[next_++];
}

void InstanceSamples::make(Fields fields, const SampleSink& sink) {
  read_numbers(fields.back(), packed_);
  const Instance instance = packed_at(packed_);
  require_fitting(instance);
  types_.assign(instance.tokens.size(), 1);
  std::fill_n(types_.begin(), instance.first, 0);
  std::vector<ArrayView> arrays = {std::span<const std::int32_t>(types_)};
  if (form_.next_sentence) arrays.emplace_back(static_cast<std::int64_t>(instance.next));
  if (form_.masks) {
    arrays.emplace_back(instance.positions);
    arrays.emplace_back(instance.ids);
  }
  sink(instance.tokens, arrays);
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
