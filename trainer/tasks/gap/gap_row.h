// Rows of GAP, "gendered ambiguous pronouns": a text with a pronoun and two names, A and B, one of
// which, or neither, the pronoun stands for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// The columns of a GAP file that bp reads, in the order in which these functions take their fields.
inline constexpr std::array<std::string_view, 10> kGapColumns = {
    "ID",       "Text",    "Pronoun", "Pronoun-offset", "A",
    "A-offset", "A-coref", "B",       "B-offset",       "B-coref"};

enum class Gender : std::uint8_t { unknown, masculine, feminine };

// Of "he", "him" or "his", and "she", "her" or "hers", in lower or upper case.
[[nodiscard]] Gender gender_of(std::string_view pronoun);

struct GapSample {
  std::vector<std::int32_t> ids = {};       // with [CLS] and [SEP]
  std::array<std::int64_t, 3> positions{};  // in ids, of the first pieces of pronoun, A and B
  int label = -1;                           // 0: neither, 1: A, 2: B; -1: the row does not say
  Gender gender = Gender::unknown;          // the pronoun's
};

// Throws what make_gap_sample() throws for a row, as far as it needs no tokenizer. Returns the
// row's label.
int check_gap_row(std::span<const std::string_view> fields);

// Makes the sample of a row. `fields` are those of kGapColumns; both coref fields are empty if the
// row does not say the answer. Offsets count characters from 0.
//
// Tokenizes the text in four parts, cut at the three offsets, so that each mention begins with a
// piece of its own. Throws InputError (65), naming the row's ID but not the file, if an offset is
// no number or another text stands there, if the pronoun is only a part of a word, if coref is
// neither TRUE nor FALSE, or if the sample has more than `max_length` tokens. A row is never cut.
[[nodiscard]] GapSample make_gap_sample(std::span<const std::string_view> fields,
                                        std::size_t max_length,
                                        Tokenizer& tokenizer);

// Returns the token types that the head "segment" needs: 1 at the pronoun's position, 2 at A's, 3
// at B's, and 0 elsewhere.
[[nodiscard]] std::vector<std::int32_t> gap_token_types(const GapSample& sample);

}  // namespace bp::trainer
