// The section of report.html with the lengths of the data's samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/report/section.h"

namespace bp::trainer {

// Tokens of the samples of a split, with [CLS] and [SEP].
struct SplitLengths {
  std::string split = {};  // "train"
  std::int64_t samples = 0;
  std::int64_t texts = 0;  // fewer than samples: long texts were folded into several
  std::int32_t least = 0;
  std::int32_t median = 0;
  std::int32_t usual = 0;  // 95 % of the samples have at most so many
  std::int32_t most = 0;
  bool operator==(const SplitLengths&) const = default;
};

// See base/fields.h.
void fields(auto& json, Of<SplitLengths> auto& it) {
  json("split", it.split);
  json("samples", it.samples);
  json("texts", it.texts);
  json("least", it.least);
  json("median", it.median);
  json("usual", it.usual);
  json("most", it.most);
}

// `tokens`: of each sample, at least one.
[[nodiscard]] SplitLengths lengths_of(const std::string& split,
                                      std::vector<std::int32_t> tokens,
                                      std::int64_t texts);

// Returns "dev: 22 samples of 3 texts", or "" if each text is a sample.
[[nodiscard]] std::string folded_text(const std::string& split,
                                      std::int64_t samples,
                                      std::int64_t texts);

// It is left out if no split has samples.
[[nodiscard]] Section lengths_section(const std::vector<SplitLengths>& splits);

}  // namespace bp::trainer
