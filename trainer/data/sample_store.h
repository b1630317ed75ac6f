// A prepared data set: samples of token ids in one SQLite file, made once by prepare() and then
// read by any number of ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {

enum class Split : std::uint8_t { train, dev, test };
[[nodiscard]] const char* name_of(Split split);

struct Sample {
  std::int64_t sample_id = 0;           // from 1; unique in the store; ascending inside a split
  std::int64_t text_id = 0;             // row of the source, from 1; several samples may share one
  int label = -1;                       // index into labels(); -1: none was given
  std::vector<std::int32_t> token_ids;  // [CLS] ... [SEP], unpadded
};

// Read-only. Used by one thread at a time.
class SampleStore {
 public:
  // Takes no locks and makes no files: a store may lie in a folder that is read-only or shared.
  // Throws StoreError, as every function here does, naming the path.
  static SampleStore open(const std::string& path);
  SampleStore(SampleStore&&) noexcept;
  SampleStore& operator=(SampleStore&&) noexcept;
  ~SampleStore();

  [[nodiscard]] std::int64_t size(Split split) const;
  [[nodiscard]] Sample load(Split split, std::int64_t index) const;  // index: 0 .. size(split)-1
  // Token counts of every sample of the split, in order of index.
  [[nodiscard]] std::vector<std::int32_t> lengths(Split split) const;
  [[nodiscard]] std::string text(std::int64_t text_id, Split split) const;  // the source's words

  [[nodiscard]] const std::vector<std::string>& labels() const;      // sorted; index = label
  [[nodiscard]] const std::vector<std::string>& vocabulary() const;  // lines of vocab.txt
  [[nodiscard]] bool lower_case() const;
  [[nodiscard]] int max_length() const;
  [[nodiscard]] std::int32_t pad_id() const;
  // A hash of the content: equal on two hosts exactly when they hold the same texts and samples in
  // the same order with the same labels and vocabulary.
  [[nodiscard]] std::string identity() const;
  // Reads everything and compares it with the identity that the store carries: about a second for
  // a million short samples in the file cache.
  void verify() const;
  // What it was made from and how, as (what, value): "max length", "128".
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fingerprint() const;

 private:
  SampleStore();
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer
