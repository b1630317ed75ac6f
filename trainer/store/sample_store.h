// A prepared data set: samples of token ids in one SQLite file. prepare() makes it once, and any
// number of ranks read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "trainer/store/sample_schema.h"

namespace bp::trainer {

enum class Split : std::uint8_t { train, dev, test };
[[nodiscard]] const char* name_of(Split split);

struct Sample {
  std::int64_t sample_id = 0;            // from 1; unique in the store; ascending within a split
  std::int64_t text_id = 0;              // row of the source, from 1; several samples may share it
  std::vector<std::int32_t> token_ids;   // [CLS] ... [SEP], unpadded
  std::vector<ArrayValues> arrays = {};  // in the order of schema()
};

// Read-only. Only one thread may use it at a time.
class SampleStore {
 public:
  // Opens a store. Takes no locks and creates no files, so a store may be in a read-only or shared
  // folder. Throws StoreError naming the path, as does every function here.
  static SampleStore open(const std::string& path);
  SampleStore(SampleStore&&) noexcept;
  SampleStore& operator=(SampleStore&&) noexcept;
  ~SampleStore();

  // Hides all but the first `most` samples of the split from the functions of this object that read
  // samples. verify() and identity() are about the whole store.
  void limit(Split split, std::int64_t most);
  [[nodiscard]] std::int64_t size(Split split) const;
  [[nodiscard]] Sample load(Split split, std::int64_t index) const;  // index: 0 .. size(split)-1
  // Returns the number of texts of which these are samples.
  [[nodiscard]] std::int64_t texts(Split split) const;
  // Return the number of tokens of each sample of the split, and its text, in order of index.
  [[nodiscard]] std::vector<std::int32_t> lengths(Split split) const;
  [[nodiscard]] std::vector<std::int64_t> text_ids(Split split) const;
  // Returns the integers of an array of one value, in order of index.
  [[nodiscard]] std::vector<std::int64_t> integers(Split split, std::size_t array) const;
  // The text of the source.
  [[nodiscard]] std::string text(std::int64_t text_id, Split split) const;

  [[nodiscard]] const std::string& task() const;     // its name
  [[nodiscard]] const SampleSchema& schema() const;  // of the task
  // What the task's integers stand for, from 0.
  [[nodiscard]] const std::vector<std::string>& names() const;
  [[nodiscard]] const std::vector<std::string>& vocabulary() const;  // lines of vocab.txt
  // The tokenizer.json of the tokenizer; "": BERT's of this vocabulary and case.
  [[nodiscard]] const std::string& tokenizer() const;
  [[nodiscard]] bool lower_case() const;
  [[nodiscard]] int max_length() const;
  [[nodiscard]] std::int32_t pad_id() const;
  // Returns a hash of the content: equal on two hosts exactly if they hold the same texts and
  // samples in the same order, for the same task with the same names and vocabulary.
  [[nodiscard]] std::string identity() const;
  // Reads everything and compares it with the store's recorded identity; throws if it differs.
  // Reads the tables on several threads.
  void verify() const;
  // Returns what the store was made from, and how, as pairs (name, value): "max length", "128".
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fingerprint() const;

 private:
  SampleStore();
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Thrown for a file that is not a store, or not one that this program reads.
class StoreError : public InputError {
 public:
  enum class Kind : std::uint8_t {
    missing,      // or not readable: exit code 66
    foreign,      // not a store: bp does not overwrite it; 65
    replaceable,  // empty, unfinished, damaged or of another version: bp may overwrite it; 65
  };

  StoreError(Kind kind, const std::string& text)
      : InputError(kind == Kind::missing ? 66 : 65, text, hint_for(kind)), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  static const char* hint_for(Kind kind) {
    switch (kind) {
      case Kind::missing:
        return "check the name, and the folder in which it is looked for";
      case Kind::foreign:
        return "make a store with: bert_train prep FILE, where FILE is a .csv or .tsv file";
      case Kind::replaceable:
        return "rebuild it from its text file: bert_train prep FILE --store STORE --rebuild";
    }
    return "";
  }

  Kind kind_;
};

}  // namespace bp::trainer
