// Files as bert_train_parallel makes them: see trainer/tasks/classify/token_file.h.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

namespace bp::trainer {

// Its statements that make the tables.
inline constexpr const char* kSamplesTable =
    "CREATE TABLE Samples (sample_id int primary key, tok_ids text, attention_mask text, label "
    "int);";
inline constexpr const char* kLabelsTable =
    "CREATE TABLE LabelEncodings ('key_col' varchar(255), 'val_col' varchar(255));";
inline constexpr const char* kQueueTables =
    "CREATE TABLE TrainQueue (sample_id int); CREATE TABLE ValidateQueue (sample_id int);"
    "CREATE TABLE TestQueue (sample_id int);";

// Runs the statements in a new file.
inline std::string make_token_file(const std::string& path, const std::string& statements) {
  SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec(statements);
  return path;
}

}  // namespace bp::trainer
