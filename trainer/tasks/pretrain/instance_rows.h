// Rows that are instances: of shards, or made of plain text. A row has two fields: where it comes
// from ("wiki_0001.hdf5, row 17"), which is the row's text, and the packed instance.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/input/row_reader.h"
#include "trainer/prepare/task_data.h"
#include "trainer/tasks/pretrain/document_instances.h"
#include "trainer/tasks/pretrain/documents.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/tasks/pretrain/shard_reader.h"

namespace bp::trainer {

class InstanceRows : public RowReader {
 public:
  bool next() override;
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  [[nodiscard]] std::string place() const override { return place_; }

 private:
  // Returns the next instance; nothing at the end. `place`: where it comes from.
  virtual std::optional<Instance> take(std::string& place) = 0;

  std::string place_;
  std::vector<std::int32_t> packed_;
  std::string_view fields_[2];
  std::int64_t number_ = 0;
};

// The rows of a shard.
class ShardRows : public InstanceRows {
 public:
  // `vocabulary`: the number of its tokens. Throws what ShardReader throws.
  ShardRows(const std::string& path, std::int64_t vocabulary);

 private:
  std::optional<Instance> take(std::string& place) override;

  std::string name_;
  ShardReader reader_;
};

// The pairs of segments of a file of plain text, without masks.
class PairRows : public InstanceRows {
 public:
  // Throws what DocumentReader and InstanceMaker throw.
  PairRows(const std::string& path,
           TextForm form,
           const Vocabulary& vocabulary,
           bool lower_case,
           const InstanceOptions& options);

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

  std::optional<Instance> take(std::string& place) override;

  std::string name_;
  DocumentReader documents_;
  InstanceMaker maker_;
  DocumentBlock block_;
  InstanceList instances_;
  std::size_t next_ = 0;  // in instances_
};

// Makes samples of these rows.
class InstanceSamples : public SampleMaker {
 public:
  // What a sample holds besides its tokens and their types; see pretrain_input.h.
  struct Form {
    bool next_sentence = false;
    bool masks = false;
    int max_length = 0;  // of an instance
  };
  explicit InstanceSamples(const Form& form) : form_(form) {}

  void make(Fields fields, const SampleSink& sink) override;

 private:
  void require_fitting(const Instance& instance) const;

  Form form_;
  std::vector<std::int32_t> packed_;
  std::vector<std::int32_t> types_;
};

}  // namespace bp::trainer
