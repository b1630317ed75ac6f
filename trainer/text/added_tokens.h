// The tokens that a tokenizer cuts out of a text wherever they are written, before it looks at
// words: <mask>, and whatever else a tokenizer.json adds.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

struct AddedToken {
  std::string content;  // not empty
  std::int32_t id = 0;
  bool takes_left_blanks = false;  // "lstrip": white space before it is part of it
  bool takes_right_blanks = false;
};

class AddedTokens {
 public:
  using TakeText = std::function<void(std::string_view text)>;
  using TakeToken = std::function<void(std::int32_t id)>;

  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Calls one of the two for each part of the text, in order. Of tokens that begin at one place the
  // longest counts.
  void cut(std::string_view text, const TakeText& take_text, const TakeToken& take_token) const;

  // Returns the longest token with which `text`, which is not empty, begins, or nullptr.
  [[nodiscard]] const AddedToken* at_start(std::string_view text) const {
    const bool may_be = is_first_byte_[static_cast<unsigned char>(text.front())];
    return may_be ? find_at_start(text) : nullptr;
  }

 private:
  [[nodiscard]] const AddedToken* find_at_start(std::string_view text) const;

  std::vector<AddedToken> tokens_;         // the longest first
  std::array<bool, 256> is_first_byte_{};  // of any token
};

}  // namespace bp::trainer
