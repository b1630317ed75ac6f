// Token files: SQLite files of samples that are token ids already, with the tables that
// bert_train_parallel makes. They are never changed, and no file appears beside them.
//
//   Samples         sample_id, tok_ids ("[101, 2023, 102, 0]"), attention_mask, label (an integer)
//   LabelEncodings  key_col (such an integer as text), val_col (the label)
//   TrainQueue, ValidateQueue, TestQueue    sample_id; a file may lack them
#pragma once

#include <functional>
#include <string>

#include "trainer/prepare/task_data.h"

namespace SQLite {
class Database;
}

namespace bp::trainer {

// Returns whether the file has these tables, or some of them: a program may not have finished it.
[[nodiscard]] bool is_token_file(const std::string& path);

// Throws InputError (65) if a program still writes to the file, or was killed while it did.
[[nodiscard]] SQLite::Database open_token_file(const std::string& path);

[[nodiscard]] bool has_table(SQLite::Database& database, const std::string& table);

// Throws InputError (65) about a token file.
[[noreturn]] void refuse_token_file(const std::string& path, const std::string& what);

// Throws InputError (65) if the file has no such table.
void require_token_table(SQLite::Database& database,
                         const std::string& path,
                         const std::string& table);

// Runs an action that reads a table. What SQLite finds wrong becomes an InputError (65).
void read_token_table(const std::string& path,
                      const std::string& table,
                      const std::function<void()>& action);

// Returns the split of each sample, by the tables TrainQueue, ValidateQueue and TestQueue, in the
// order of the ids; none, with the reason, unless the tables exist and hold each sample once.
// Throws InputError (65) as TokenSamples does.
[[nodiscard]] FileSplit split_of_token_file(const std::string& path);

}  // namespace bp::trainer
