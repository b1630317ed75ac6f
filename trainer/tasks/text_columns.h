// The columns of the texts that a sample is made of: one text, or a pair.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/option_set.h"
#include "trainer/prepare/task_data.h"
#include "trainer/prepare/token_windows.h"
#include "trainer/store/sample_schema.h"

namespace bp::trainer {

class TextColumns {
 public:
  // Adds --text and --text2. This object must live until they are parsed.
  void add_options(OptionSet& set);

  // Returns whether each row has two texts.
  [[nodiscard]] bool pairs() const { return !second_.empty(); }
  // Returns the fields of the texts, which come before those of answers.
  [[nodiscard]] std::vector<Field> fields() const;
  // Adds the token types of pairs to a schema, as its last array.
  void add_to(SampleSchema& schema) const;

  // Returns the text of a row, see TaskData::text(): a pair's have a line feed between them.
  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const;
  // Makes the samples of a row, each with `arrays`, and the token types of a pair behind them.
  void make(Fields fields,
            std::span<const ArrayView> arrays,
            TokenWindows& windows,
            const SampleSink& sink) const;

 private:
  std::string first_ = "text";  // by name, or by number from 1; keys in JSON lines
  std::string second_;
};

}  // namespace bp::trainer
