// Reads the samples of a token file in the order of their ids.
//
//   for (TokenSamples samples("old.sqlite"); samples.next();) use(samples.ids(), samples.label());
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace bp::trainer {

class TokenSamples {
 public:
  // Throws InputError (65) with the file, the table and, for a sample, its id; so does next().
  explicit TokenSamples(const std::string& path);
  TokenSamples(const TokenSamples&) = delete;
  TokenSamples& operator=(const TokenSamples&) = delete;

  // Moves to the next sample and returns true, or false at the end.
  bool next();

  // Of the current sample, valid until next().
  [[nodiscard]] std::int64_t sample_id() const { return sample_id_; }
  // Its tokens without the padding, which is id 0, at their end. The attention masks of the file
  // are not read: those of divided texts are wrong.
  [[nodiscard]] std::span<const std::int32_t> ids() const { return ids_; }
  [[nodiscard]] std::int64_t code() const { return code_; }  // of its label
  // Returns the label that LabelEncodings has for the code; "" if it has none.
  [[nodiscard]] const std::string& label() const;
  // "old.sqlite, sample_id 7"
  [[nodiscard]] std::string place() const;

 private:
  void take();
  [[noreturn]] void refuse_sample(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& row, const std::string& what) const;

  std::string path_;
  SQLite::Database database_;
  std::unordered_map<std::int64_t, std::string> labels_;
  std::optional<SQLite::Statement> select_;
  std::int64_t rows_ = 0;
  std::int64_t sample_id_ = 0;
  std::vector<std::int32_t> ids_;
  std::int64_t code_ = 0;
};

}  // namespace bp::trainer
