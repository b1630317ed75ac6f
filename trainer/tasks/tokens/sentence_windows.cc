#include "trainer/tasks/tokens/sentence_windows.h"

#include "base/refuse.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

class WindowBuilder {
 public:
  WindowBuilder(std::size_t max_length, const Tokenizer& tokenizer)
      : max_length_(max_length), form_(tokenizer.form()) {}

  void add(std::int64_t word, std::span<const std::int32_t> pieces, std::int64_t target) {
    if (pieces.size() > space()) begin(word);
    SentenceWindow& own = windows_.back();
    own.positions.push_back(static_cast<std::int64_t>(own.ids.size()));
    for (const std::int32_t piece : pieces) {
      if (space() == 0) begin(word + 1);  // the word is longer than a window
      append(piece, target);
      target = kIgnoredTarget;
    }
  }

  [[nodiscard]] std::vector<SentenceWindow>& finish() {
    if (!windows_.empty()) append(form_.sep, kIgnoredTarget);
    return windows_;
  }

 private:
  // How many more pieces the last window may have; 0 if there is none.
  [[nodiscard]] std::size_t space() const {
    return windows_.empty() ? 0 : max_length_ - 1 - windows_.back().ids.size();
  }
  void begin(std::int64_t first_word) {
    (void)finish();
    windows_.emplace_back().first_word = first_word;
    append(form_.cls, kIgnoredTarget);
  }
  void append(std::int32_t id, std::int64_t target) {
    windows_.back().ids.push_back(id);
    windows_.back().targets.push_back(target);
  }

  std::size_t max_length_;
  SampleForm form_;
  std::vector<SentenceWindow> windows_;
};

}  // namespace

std::vector<SentenceWindow> make_sentence_windows(const std::vector<std::string>& words,
                                                  std::span<const std::int64_t> tags,
                                                  std::size_t max_length,
                                                  Tokenizer& tokenizer) {
  if (max_length < 3) refuse(concat("a window of ", max_length, " tokens has no room for a word"));
  if (!tags.empty() && tags.size() != words.size()) {
    refuse(concat(tags.size(), " tags for ", words.size(), " words"));
  }
  WindowBuilder builder(max_length, tokenizer);
  std::vector<std::int32_t> pieces;
  const SampleForm& form = tokenizer.form();
  const std::int32_t unknown = form.unknown < 0 ? form.pad : form.unknown;
  for (std::size_t i = 0; i < words.size(); ++i) {
    pieces.clear();
    tokenizer.encode(concat(" ", words[i]), pieces);  // byte-level words begin with a blank
    if (pieces.empty()) pieces.push_back(unknown);
    const bool tagged = !tags.empty() && tags[i] >= 0;
    builder.add(static_cast<std::int64_t>(i), pieces, tagged ? tags[i] : kIgnoredTarget);
  }
  return builder.finish();
}

}  // namespace bp::trainer
