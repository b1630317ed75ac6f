// What an encoder computes: its sizes, and in what its family differs from others. Does not use
// LibTorch.
#pragma once

#include <map>
#include <string>

namespace bp::trainer {

// The defaults are those of a BERT.
struct EncoderSpec {
  std::string family = "bert";  // 'model_type' in config.json; see family.h
  int vocabulary = 30522;
  int hidden = 128;
  int layers = 2;
  int heads = 2;
  int intermediate = 512;
  int positions = 512;  // rows of the table of positions
  int token_types = 2;
  int pad_id = 0;
  double norm_epsilon = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double initializer_range = 0.02;
  // The keys that belong to the head, which the encoder does not know, with their values as JSON:
  // {"problem_type", "\"regression\""}. No value holds lists or objects in others.
  std::map<std::string, std::string> head = {};
  bool operator==(const EncoderSpec&) const = default;

  // Returns the number of tokens of the longest sample.
  [[nodiscard]] int max_tokens() const { return positions; }
};

}  // namespace bp::trainer
