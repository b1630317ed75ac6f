#include "trainer/tasks/pretrain/instance_rows.h"

#include <filesystem>
#include <utility>

#include "base/text.h"
#include "trainer/tasks/pretrain/packed_instance.h"

namespace bp::trainer {

bool InstanceRows::next() {
  const std::optional<Instance> instance = take(place_);
  if (!instance) return false;
  pack(*instance, packed_);
  fields_[0] = place_;
  fields_[1] = packed_;
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

}  // namespace bp::trainer
