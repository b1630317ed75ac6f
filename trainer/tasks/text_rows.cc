#include "trainer/tasks/text_rows.h"

#include <algorithm>
#include <numeric>

namespace bp::trainer {

void add_answer_option(OptionSet& set, AnswerPer& per) {
  set.choice<AnswerPer>({"answer-per", "What has one answer and counts once, if --long-text folds"},
                        per, {{"text", AnswerPer::text}, {"sample", AnswerPer::sample}});
}

std::vector<std::size_t> starts_of_texts(std::span<const std::int64_t> text_ids) {
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < text_ids.size(); ++i) {
    if (i == 0 || text_ids[i] != text_ids[i - 1]) starts.push_back(i);
  }
  starts.push_back(text_ids.size());
  return starts;
}

std::vector<std::size_t> starts_of_samples(std::size_t samples) {
  std::vector<std::size_t> starts(samples + 1);
  std::iota(starts.begin(), starts.end(), std::size_t{0});
  return starts;
}

// In double precision, in the order of samples. The mean of one number is that number.
std::vector<float> means_of_rows(std::span<const float> numbers,
                                 std::span<const std::size_t> starts) {
  const std::size_t samples = starts.back();
  const std::size_t width = samples == 0 ? 0 : numbers.size() / samples;
  std::vector<float> means;
  means.reserve(width * (starts.size() - 1));
  std::vector<double> sums(width);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    std::ranges::fill(sums, 0);
    const std::size_t count = starts[row + 1] - starts[row];
    for (std::size_t i = starts[row] * width; i < starts[row + 1] * width; ++i) {
      sums[i % width] += double{numbers[i]};
    }
    for (const double sum : sums) {
      means.push_back(static_cast<float>(sum / static_cast<double>(count)));
    }
  }
  return means;
}

}  // namespace bp::trainer
