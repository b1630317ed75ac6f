#include "trainer/text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "trainer/text/unicode.h"

namespace bp::trainer {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::stable_sort(tokens_, std::ranges::greater{},
                           [](const AddedToken& token) { return token.content.size(); });
  for (const AddedToken& token : tokens_) {
    is_first_byte_[static_cast<unsigned char>(token.content.front())] = true;
  }
}

void AddedTokens::cut(std::string_view text,
                      const TakeText& take_text,
                      const TakeToken& take_token) const {
  std::size_t begin = 0;  // of the text after the last token
  for (std::size_t at = 0; !tokens_.empty() && at < text.size();) {
    const AddedToken* const token = at_start(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::string_view before = text.substr(begin, at - begin);
    if (token->takes_left_blanks) before.remove_suffix(white_space_at_end(before));
    if (!before.empty()) take_text(before);
    take_token(token->id);
    at += token->content.size();
    if (token->takes_right_blanks) at += white_space_at_start(text.substr(at));
    begin = at;
  }
  if (begin < text.size()) take_text(text.substr(begin));
}

const AddedToken* AddedTokens::find_at_start(std::string_view text) const {
  const auto found = std::ranges::find_if(
      tokens_, [&](const AddedToken& token) { return text.starts_with(token.content); });
  return found == tokens_.end() ? nullptr : &*found;
}

}  // namespace bp::trainer
