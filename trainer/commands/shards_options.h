// What `bert_train shards` is asked to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/make_instances.h"

namespace bp::trainer {

struct ShardsOptions {
  TextSource source;
  std::string vocabulary;
  bool lower_case = true;
  InstanceOptions instances;
  MaskOptions masks = {.share = 0.15, .dynamic = false};  // most 0: see default_masked()
  std::string out;                                        // the folder to make
  std::string name = "training";                          // of the shards, before their number
  std::int64_t rows = 1'000'000;                          // of one shard
};

// Returns the most masked tokens of an instance in NVIDIA's recipe: 20 up to 128 tokens, else 80.
[[nodiscard]] int default_masked(int max_length);

}  // namespace bp::trainer
