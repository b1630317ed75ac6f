// What a prediction is about where --long-text folds a text into several samples: the text, whose
// outputs are the means of its samples', or each sample. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/options/option_set.h"

namespace bp::trainer {

enum class AnswerPer : std::uint8_t { text, sample };

// Adds --answer-per.
void add_answer_option(OptionSet& set, AnswerPer& per);

// Returns the first of the samples that each row is about, which are those of one text, and behind
// the last row the number of samples. `text_ids`: of samples that follow one another.
[[nodiscard]] std::vector<std::size_t> starts_of_texts(std::span<const std::int64_t> text_ids);
// The same where each of so many samples has its row.
[[nodiscard]] std::vector<std::size_t> starts_of_samples(std::size_t samples);

// Returns [rows, n]: the means of [samples, n] numbers over the samples of each row.
[[nodiscard]] std::vector<float> means_of_rows(std::span<const float> numbers,
                                               std::span<const std::size_t> starts);

}  // namespace bp::trainer
