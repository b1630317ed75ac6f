// A row of GAP: fields that tabs separate. The first byte is the number of tokens that a sample may
// have.
#include "trainer/tasks/gap/gap_row.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "fuzz.h"
#include "input_file.h"

FUZZ_TARGET(gap_row) {
  using namespace bp::trainer;
  static Tokenizer tokenizer(Vocabulary::parse(
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##a\nb\n##b\n.\nhe\n##r\nher\nshe\n", "vocab.txt"));
  if (size == 0) return 0;
  const std::string text = bp::test::text_of(data + 1, size - 1);
  std::array<std::string_view, kGapColumns.size()> fields;
  std::string_view rest = text;
  for (std::string_view& field : fields) {
    field = rest.substr(0, rest.find('\t'));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  }
  bp::test::read_input([&] {
    const GapSample sample = make_gap_sample(fields, data[0], tokenizer);
    if (sample.ids.size() > data[0] || sample.label < -1 || sample.label > 2) std::abort();
    if (sample.ids.front() != tokenizer.form().cls || sample.ids.back() != tokenizer.form().sep) {
      std::abort();
    }
    const auto pronoun = sample.ids.at(static_cast<std::size_t>(sample.positions[0]));
    if (pronoun == tokenizer.form().unknown || pronoun == tokenizer.form().sep) std::abort();
    for (const std::int64_t position : sample.positions) {
      if (position < 1 || position >= static_cast<std::int64_t>(sample.ids.size())) std::abort();
    }
    if (gap_token_types(sample).size() != sample.ids.size()) std::abort();
  });
  return 0;
}
