// A file in CoNLL's columns, the samples of its sentences, and the entities of its tags. The first
// byte selects the columns.
#include "trainer/tasks/tokens/conll.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"
#include "trainer/tasks/tokens/entities.h"
#include "trainer/tasks/tokens/sentence_windows.h"

namespace {

using bp::trainer::Sentence;

void check_words(const Sentence& sentence) {
  if (sentence.words.empty() || sentence.line < 1) std::abort();
  if (!sentence.tags.empty() && sentence.tags.size() != sentence.words.size()) std::abort();
  for (const std::string& word : sentence.words) {
    if (word.empty() || bp::find_invalid_utf8(word) != std::string::npos) std::abort();
  }
}

// Each tag has its own number.
void check_entities(const Sentence& sentence) {
  const bp::trainer::EntityTags tags(sentence.tags);
  std::vector<int> numbers;
  for (std::size_t i = 0; i < sentence.tags.size(); ++i) numbers.push_back(static_cast<int>(i));
  std::int64_t last = -1;
  for (const bp::trainer::Entity& entity : tags.entities_of(numbers)) {
    if (entity.first < 0 || entity.first > entity.last || entity.last <= last) std::abort();
    last = entity.last;
  }
  if (last >= static_cast<std::int64_t>(numbers.size())) std::abort();
}

void check_windows(const Sentence& sentence, std::size_t max_length) {
  using namespace bp::trainer;
  static Tokenizer tokenizer(
      Vocabulary::parse("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n##a\nb\n##b\n.\n", "vocab.txt"));
  std::int64_t word = 0;
  for (const SentenceWindow& w : make_sentence_windows(sentence.words, {}, max_length, tokenizer)) {
    if (w.first_word != word || w.ids.size() > max_length || w.ids.size() < 3) std::abort();
    if (w.targets.size() != w.ids.size()) std::abort();
    word += static_cast<std::int64_t>(w.positions.size());
  }
  if (word != static_cast<std::int64_t>(sentence.words.size())) std::abort();
}

}  // namespace

FUZZ_TARGET(conll) {
  using namespace bp::trainer;
  if (size == 0) return 0;
  const std::string text = bp::test::text_of(data + 1, size - 1);
  bp::test::read_input([&] {
    ConllReader reader("input", {.word = data[0] & 3, .tag = data[0] >> 2U & 3});
    const auto check = [&] {
      check_words(reader.sentence());
      check_entities(reader.sentence());
      check_windows(reader.sentence(), 3U + (data[0] >> 4U));
    };
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      if (reader.add(rest.substr(0, end))) check();
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (reader.finish()) check();
  });
  return 0;
}
