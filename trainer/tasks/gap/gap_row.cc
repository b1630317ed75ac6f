#include "trainer/tasks/gap/gap_row.h"

#include <algorithm>

#include "base/check.h"
#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kShownCharacters = 40;

struct Row {
  std::string_view id = {};
  std::string_view text = {};
  std::array<std::string_view, 3> mentions = {};  // pronoun, A, B
  std::array<std::size_t, 3> offsets{};           // in bytes
};

[[noreturn]] void fail(std::string_view id, const std::string& problem, const std::string& hint) {
  throw InputError(65, concat(id, ": ", problem), hint);
}

std::string quoted(std::string_view text) {
  return concat('\'', shortened(repaired_utf8(text), kShownCharacters), '\'');
}

// Returns the offset in bytes of the mention that is said to begin at character `offset`.
std::size_t find_mention(const Row& row,
                         std::string_view mention,
                         std::string_view offset,
                         std::string_view column) {
  const auto characters = number_in<std::uint64_t>(offset);
  if (!characters) {
    fail(row.id, concat(column, " is ", quoted(offset), ", no whole number"),
         "it says before which character of Text the mention begins, counted from 0");
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < *characters && at < row.text.size(); ++i) {
    (void)next_code_point(row.text, at);
  }
  if (mention.empty() || !row.text.substr(at).starts_with(mention)) {
    fail(row.id,
         concat(quoted(mention), " is not at character ", *characters, " of Text (", column,
                "); there is ", quoted(row.text.substr(at))),
         "offsets count characters, not bytes, from 0");
  }
  return at;
}

int label_of(std::string_view id, std::string_view a, std::string_view b) {
  if (a.empty() && b.empty()) return -1;
  const auto is_true = [&](std::string_view field, const char* column) {
    const std::string value = lower_case(std::string(field));
    if (value != "true" && value != "false") {
      fail(id, concat(column, " is ", quoted(field), ", neither TRUE nor FALSE"),
           "both columns are empty where the answer is unknown");
    }
    return value == "true";
  };
  const bool of_b = is_true(b, "B-coref");
  return is_true(a, "A-coref") ? 1 : of_b ? 2 : 0;
}

Row read_row(std::span<const std::string_view> fields) {
  BP_CHECK(fields.size() == kGapColumns.size(), "a row of GAP has ten fields");
  Row row{.id = fields[0], .text = fields[1], .mentions = {fields[2], fields[4], fields[7]}};
  if (find_invalid_utf8(row.text) != std::string_view::npos) {
    fail(row.id, "Text is not UTF-8",
         "name the file's encoding, for instance --encoding windows-1252");
  }
  row.offsets = {find_mention(row, fields[2], fields[3], kGapColumns[3]),
                 find_mention(row, fields[4], fields[5], kGapColumns[5]),
                 find_mention(row, fields[7], fields[8], kGapColumns[8])};
  return row;
}

// Returns where a mention begins. Byte-level tokenizers count the blank before a word as its own.
std::size_t begin_of(const Row& row, std::size_t mention) {
  const std::size_t offset = row.offsets.at(mention);
  return offset > 0 && row.text[offset - 1] == ' ' ? offset - 1 : offset;
}

// Fills `sample.ids`, and `sample.positions` by cutting the text at each mention.
void tokenize(const Row& row, Tokenizer& tokenizer, GapSample& sample) {
  std::array<std::size_t, 3> order = {0, 1, 2};
  std::ranges::stable_sort(order, {}, [&](std::size_t k) { return row.offsets.at(k); });
  sample.ids.push_back(tokenizer.form().cls);
  std::size_t begin = 0;
  for (const std::size_t k : order) {
    const std::size_t end = begin_of(row, k);
    tokenizer.encode(row.text.substr(begin, end - begin), sample.ids);
    sample.positions.at(k) = static_cast<std::int64_t>(sample.ids.size());
    begin = end;
  }
  tokenizer.encode(row.text.substr(begin), sample.ids);
  sample.ids.push_back(tokenizer.form().sep);
}

// The piece at the pronoun's position must be the pronoun's own first piece.
void check_pronoun(const Row& row, const GapSample& sample, Tokenizer& tokenizer) {
  std::vector<std::int32_t> own;
  const std::size_t begin = begin_of(row, 0);
  tokenizer.encode(row.text.substr(begin, row.offsets[0] + row.mentions[0].size() - begin), own);
  const std::int32_t found = sample.ids.at(static_cast<std::size_t>(sample.positions[0]));
  if (own.empty() || found != own.front() || found == tokenizer.form().unknown) {
    fail(row.id,
         concat("the word at Pronoun-offset, ", quoted(row.text.substr(row.offsets[0])),
                ", does not begin with a piece of the pronoun ", quoted(row.mentions[0])),
         "the pronoun must be a whole word of Text that the vocabulary has");
  }
}

}  // namespace

Gender gender_of(std::string_view pronoun) {
  const std::string word = lower_case(std::string(pronoun));
  if (word == "he" || word == "him" || word == "his") return Gender::masculine;
  if (word == "she" || word == "her" || word == "hers") return Gender::feminine;
  return Gender::unknown;
}

int check_gap_row(std::span<const std::string_view> fields) {
  (void)read_row(fields);
  return label_of(fields[0], fields[6], fields[9]);
}

GapSample make_gap_sample(std::span<const std::string_view> fields,
                          std::size_t max_length,
                          Tokenizer& tokenizer) {
  const Row row = read_row(fields);
  GapSample sample;
  sample.label = label_of(row.id, fields[6], fields[9]);
  sample.gender = gender_of(fields[2]);
  tokenize(row, tokenizer, sample);
  check_pronoun(row, sample, tokenizer);
  if (sample.ids.size() > max_length) {
    fail(row.id,
         concat("it has ", sample.ids.size(), " tokens with [CLS] and [SEP]; at most ", max_length,
                " are allowed"),
         "raise --max-length, or shorten Text and correct the offsets");
  }
  return sample;
}

std::vector<std::int32_t> gap_token_types(const GapSample& sample) {
  std::vector<std::int32_t> types(sample.ids.size());
  std::int32_t type = 0;
  for (const std::int64_t position : sample.positions) {
    types.at(static_cast<std::size_t>(position)) = ++type;
  }
  return types;
}

}  // namespace bp::trainer
