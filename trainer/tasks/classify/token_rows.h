// Rows of a token file (trainer/tasks/classify/token_file.h): samples that are token ids already. A
// row has four fields, where a row of a table has a text and a label: the text that the tokens
// stand for, the ids as bytes, the code of the label, and the label, which is empty if the code has
// none.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "trainer/input/row_reader.h"
#include "trainer/prepare/prepare.h"

namespace bp::trainer {

// Throws InputError: 2 if `options` name no vocabulary, and what read_vocabulary() and TokenSamples
// throw. The reader throws 65 for a sample that is not [CLS] tokens [SEP], by this vocabulary's
// names, or is longer than the options say.
[[nodiscard]] std::unique_ptr<RowReader> open_token_rows(const std::string& path,
                                                         const PrepareOptions& options);

// Returns whether a row is one of a token file.
[[nodiscard]] inline bool has_token_ids(Fields fields) { return fields.size() == 4; }
// Of such a row.
inline constexpr std::size_t kTokenIdsField = 1;
inline constexpr std::size_t kLabelCodeField = 2;
[[nodiscard]] inline bool is_unnamed(Fields fields) {
  return has_token_ids(fields) && fields.back().empty();
}

}  // namespace bp::trainer
