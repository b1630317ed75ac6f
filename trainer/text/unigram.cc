#include "trainer/text/unigram.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/utf8.h"

namespace bp::trainer {

Unigram::Unigram(const std::vector<std::string>& pieces,
                 std::vector<double> scores,
                 std::int32_t unknown)
    : trie_(pieces), scores_(std::move(scores)), unknown_(unknown) {
  constexpr double kPenalty = 10;
  unknown_score_ = std::ranges::min(scores_) - kPenalty;
}

std::vector<Unigram::Step> Unigram::best_steps(std::string_view word) const {
  std::vector<Step> steps(word.size() + 1);
  for (std::size_t begin = 0; begin < word.size();) {
    const std::string_view rest = word.substr(begin);
    const std::size_t character = character_length(rest);
    const auto offer = [&](std::size_t length, std::int32_t id, double score) {
      Step& step = steps[begin + length];
      const double sum = score + steps[begin].score;
      if (step.id < 0 || sum > step.score) step = {sum, id, static_cast<std::uint32_t>(length)};
    };
    bool is_piece = false;
    trie_.find(rest, [&](std::size_t length, std::int32_t id) {
      offer(length, id, scores_[static_cast<std::size_t>(id)]);
      is_piece = is_piece || length == character;
    });
    if (!is_piece) offer(character, unknown_, unknown_score_);
    begin += character;
  }
  return steps;
}

void Unigram::operator()(std::string_view word, std::vector<std::int32_t>& ids) const {
  const std::vector<Step> steps = best_steps(word);
  const std::size_t before = ids.size();
  for (std::size_t end = word.size(); end > 0; end -= steps[end].length) {
    const bool fuses = steps[end].id == unknown_ && ids.size() > before && ids.back() == unknown_;
    if (!fuses) ids.push_back(steps[end].id);
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end());
}

}  // namespace bp::trainer
