// Splits running text into sentences. The rules are simple, because an instance of pre-training
// only needs places where a text may be cut: a sentence that is cut too late or too early costs
// little.
#pragma once

#include <functional>
#include <string_view>

namespace bp::trainer {

// Calls `take` with each sentence of valid UTF-8, without the white space around it.
//
// A sentence ends behind '.', '!' or '?', with the quotes and brackets that close there, if white
// space follows and then no lower-case letter of ASCII. A '.' behind an initial ("J. Smith") or a
// common English abbreviation ("Dr. Smith") ends none. Behind "。", "！" and "？" no white space is
// needed.
void split_sentences(std::string_view text, const std::function<void(std::string_view)>& take);

// Returns `text` without the white space of ASCII around it.
[[nodiscard]] std::string_view without_space_around(std::string_view text);

}  // namespace bp::trainer
