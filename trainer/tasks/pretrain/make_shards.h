// Makes shards of pre-training from files of plain text, as NVIDIA's create_pretraining_data.py
// does: instances with static masks, all of them shuffled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/make_instances.h"

namespace bp::trainer {

struct ShardFiles {
  std::string prefix = {};            // of the names: "shards/train" gives shards/train_0000.hdf5
  std::int64_t rows = 1'000'000;      // of each shard; the last one may have fewer
  std::string temporary_folder = {};  // for files without names; empty: the current folder
};

struct MadeShards {
  InstanceCounts counts;
  std::vector<std::string> files;
};

// Writes shards of the width options.max_length, and of options.masks->most masked tokens. Throws
// InputError as make_instances() does, and (2) for options without masks or without a bound on
// them; throws io if a file cannot be written, and Interrupted if this process is asked to stop.
// Shards that were written before stay.
MadeShards make_shards(const TextSource& source,
                       const Vocabulary& vocabulary,
                       bool lower_case,
                       const InstanceOptions& options,
                       std::size_t threads,
                       const ShardFiles& to);

}  // namespace bp::trainer
