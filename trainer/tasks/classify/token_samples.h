// Reads the samples of a token file in the order of their ids.
//
//   for (TokenSamples samples("old.sqlite"); samples.next();) use(samples.ids(), samples.label());
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace bp::trainer {

class TokenSamples {
 public:
  // Throws InputError (65) with the file, the table and, for a sample, its id; so does next().
  explicit TokenSamples(const std::string& path);
  ~TokenSamples();
  TokenSamples(const TokenSamples&) = delete;
  TokenSamples& operator=(const TokenSamples&) = delete;

  // Moves to the next sample and returns true, or false at the end.
  bool next();

  // Of the current sample, valid until next().
  [[nodiscard]] std::int64_t sample_id() const;
  // Its tokens without the padding, which is id 0, at their end. The attention masks of the file
  // are not read: those of divided texts are wrong.
  [[nodiscard]] std::span<const std::int32_t> ids() const;
  [[nodiscard]] std::int64_t code() const;  // of its label
  // Returns the label that LabelEncodings has for the code; "" if it has none.
  [[nodiscard]] const std::string& label() const;
  // "old.sqlite, sample_id 7"
  [[nodiscard]] std::string place() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer
