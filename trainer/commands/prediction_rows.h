// The rows that `bert_train predict` reads: of a file in any format of the task, or of standard
// input.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trainer/input/row_reader.h"
#include "trainer/prepare/prepare.h"

namespace bp::trainer {

// Opens `source`, a file, a folder of files or "-", which is standard input: one text a line, or
// JSON lines if the options say so. Rows count on from file to file. Answers are optional.
// `before_waiting` is called each time when standard input has no byte yet. Throws InputError: what
// inspect_table() throws; 2 for a format that cannot be read from standard input.
[[nodiscard]] std::unique_ptr<RowReader> open_prediction_rows(
    const std::string& source,
    const PrepareOptions& options,
    const std::function<void()>& before_waiting);

}  // namespace bp::trainer
