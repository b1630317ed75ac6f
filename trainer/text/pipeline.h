// A tokenizer as a tokenizer.json describes it: the steps from a text to its ids.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/normalizers.h"
#include "trainer/text/piece_model.h"
#include "trainer/text/splitters.h"
#include "trainer/text/text_encoder.h"
#include "trainer/text/tokenizer.h"
#include "trainer/text/words.h"

namespace bp::trainer {

struct Pipeline {
  std::string json;  // the text of the file
  SampleForm form;
  AddedTokens added;             // cut out of the text as it is written
  AddedTokens added_normalized;  // cut out of the normalized text between those
  std::vector<Normalizer> normalizers;
  std::vector<Splitter> splitters;  // at least one
  std::string blank;                // how tokens write one: "\u0120", "\u2581"; "": BERT's pieces
  std::unique_ptr<const PieceModel> model;
  // Instead of normalizers, splitters and model: those of BERT, with these tokens.
  std::optional<WordForm> bert;
  std::vector<std::string> tokens;
};

[[nodiscard]] std::unique_ptr<TextEncoder> make_pipeline_encoder(
    std::shared_ptr<const Pipeline> pipeline);

}  // namespace bp::trainer
