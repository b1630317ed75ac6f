// Writes a store, from which SampleStore reads. The file is no store until finish() has returned.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/data/sample_store.h"

namespace bp::trainer {

struct StoreSettings {
  std::vector<std::string> labels;
  std::vector<std::string> vocabulary;
  bool lower_case = true;
  int max_length = 0;
  std::vector<std::pair<std::string, std::string>> fingerprint;  // see fingerprint.h
};

class StoreWriter {
 public:
  // Creates the file. Throws io, as every function here does, naming it and why.
  StoreWriter(const std::string& path, const StoreSettings& settings);
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;
  ~StoreWriter();  // removes the file unless it is finished

  // The words of a text, and then its samples: one, or several where it was folded.
  void add_text(Split split, std::int64_t text_id, std::string_view text);
  void add_sample(Split split,
                  std::int64_t text_id,
                  int label,
                  std::span<const std::int32_t> token_ids);
  // The file is complete and on disk.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer
