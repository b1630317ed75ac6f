#include "trainer/tasks/pretrain/make_shards.h"

#include <cstdio>
#include <optional>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/stop_signals.h"
#include "trainer/tasks/pretrain/shard_writer.h"
#include "trainer/tasks/pretrain/shuffled_instances.h"

namespace bp::trainer {
namespace {

std::string name_of(const std::string& prefix, std::size_t number) {
  const std::string digits = std::to_string(number);
  return concat(prefix, "_", std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0'), digits,
                ".hdf5");
}

void check_shards(const InstanceOptions& options, const ShardFiles& to) {
  if (!options.masks || options.masks->most < 1) {
    throw InputError(2, "shards without a number of masked tokens",
                     "a shard has room for a fixed number of them: NVIDIA's is 20 for 128 tokens "
                     "and 80 for 512");
  }
  if (to.rows < 1) {
    throw InputError(2, concat("shards of ", to.rows, " rows"), "give 1 or more");
  }
}

}  // namespace

MadeShards make_shards(const TextSource& source,
                       const Vocabulary& vocabulary,
                       bool lower_case,
                       const InstanceOptions& options,
                       std::size_t threads,
                       const ShardFiles& to) {
  check_shards(options, to);
  MadeShards made;
  ShuffledInstances instances(to.temporary_folder, options.seed);
  made.counts = make_instances(source, vocabulary, lower_case, options, threads,
                               [&](const Instance& instance) {
                                 throw_if_stopping("making shards for", to.prefix);
                                 instances.add(instance);
                               });
  const ShardWidths widths{.tokens = options.max_length, .masked = options.masks->most};
  std::optional<ShardWriter> shard;
  instances.for_each([&](const Instance& instance) {
    throw_if_stopping("making shards for", to.prefix);
    if (!shard) {
      made.files.push_back(name_of(to.prefix, made.files.size()));
      shard.emplace(made.files.back(), widths);
    }
    shard->add(instance);
    if (shard->size() < to.rows) return;
    shard->keep();
    shard.reset();
  });
  if (shard) shard->keep();
  return made;
}

}  // namespace bp::trainer
