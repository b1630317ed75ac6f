// A tokenizer as a tokenizer.json describes it: the steps from a text to its ids.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/normalizers.h"
#include "trainer/text/splitters.h"
#include "trainer/text/text_encoder.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// Appends the ids of the pieces of a word, which is not empty. Threads: any number of threads may
// call it at once.
using PieceModel = std::function<void(std::string_view word, std::vector<std::int32_t>& ids)>;

struct Pipeline : TextEncoder {
  std::string json;  // the text of the file
  SampleForm form;
  AddedTokens added;             // cut out of the text as it is written
  AddedTokens added_normalized;  // cut out of the normalized text between those
  std::vector<Normalizer> normalizers;
  std::vector<Splitter> splitters;  // at least one
  std::string blank;                // how tokens write one: "\u0120", "\u2581"; "": BERT's pieces
  PieceModel model;
  std::unique_ptr<const TextEncoder> bert;  // instead of these steps: BERT's

  void encode(std::string_view text,
              WordCache& cache,
              std::vector<std::int32_t>& ids) const override;
};

}  // namespace bp::trainer
