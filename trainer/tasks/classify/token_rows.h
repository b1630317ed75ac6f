// Rows of a token file (trainer/tasks/classify/token_file.h): samples that are token ids already. A
// row has four fields, where a row of a table has a text and a label: the text that the tokens
// stand for, the ids as bytes, the code of the label, and the label, which is empty if the code has
// none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/prepare.h"
#include "trainer/data/row_reader.h"
#include "trainer/tasks/classify/token_samples.h"

namespace bp::trainer {

class TokenRows : public RowReader {
 public:
  // Throws InputError: 2 if `options` name no vocabulary, what read_vocabulary() and TokenSamples
  // throw, and from next() 65 for a sample that is not [CLS] tokens [SEP] of this vocabulary, or
  // is longer than the options say.
  TokenRows(const std::string& path, const PrepareOptions& options);

  bool next() override;
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return number_; }
  [[nodiscard]] std::string place() const override { return samples_.place(); }

 private:
  void require_sample() const;
  void write_text();

  TokenSamples samples_;
  std::vector<std::string> vocabulary_;
  std::string vocabulary_path_;
  std::size_t max_length_;
  std::int32_t cls_id_;
  std::int32_t sep_id_;
  std::int64_t number_ = 0;
  std::string text_;
  std::string code_;
  std::string_view fields_[4];
};

// Returns whether a row is one of a token file.
[[nodiscard]] inline bool has_token_ids(Fields fields) { return fields.size() == 4; }
// Of such a row.
inline constexpr std::size_t kTokenIdsField = 1;
inline constexpr std::size_t kLabelCodeField = 2;
[[nodiscard]] inline bool is_unnamed(Fields fields) {
  return has_token_ids(fields) && fields.back().empty();
}
void read_token_ids(std::string_view field, std::vector<std::int32_t>& ids);

}  // namespace bp::trainer
