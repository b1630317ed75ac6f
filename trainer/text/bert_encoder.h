// BERT's steps, faster than one by one: text in a normal form, words, and WordPiece.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/text_encoder.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/words.h"

namespace bp::trainer {

// Returns the form of BERT's samples. `id_of`: the id of a token, or -1.
[[nodiscard]] SampleForm bert_form(
    const std::function<std::int32_t(const std::string& token)>& id_of);

// `special`: tokens where a text contains them exactly as written. Each begins with a punctuation
// character of ASCII.
[[nodiscard]] std::unique_ptr<const TextEncoder> make_bert_encoder(std::vector<std::string> tokens,
                                                                   AddedTokens special,
                                                                   const WordForm& form);

}  // namespace bp::trainer
