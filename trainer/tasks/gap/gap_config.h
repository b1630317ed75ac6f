// The part of config.json that belongs to a head for GAP. Does not use LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/model/config.h"

namespace bp::trainer {

enum class GapHeadKind : std::uint8_t {
  // A linear layer over the last states of the pronoun, A and B, one after the other.
  concat,
  // The products of the pronoun's last state with a trained vector, A's state and B's state,
  // divided by the root of the hidden size. The vector's elements begin as standard normal numbers.
  mul,
  // A linear layer over the pooler's output. The batch's token types mark the mentions
  // (gap_token_types()), so the encoder needs four types.
  segment,
};

// With the names that --gap-head and config.json have for them.
[[nodiscard]] const std::vector<std::pair<std::string, GapHeadKind>>& gap_head_names();
[[nodiscard]] std::string name_of(GapHeadKind kind);

// The number of token types that the head "segment" needs.
inline constexpr int kSegmentTypes = 4;

// The answers, in the order of the head's outputs.
[[nodiscard]] const std::vector<std::string>& gap_answers();

// Returns nothing if the configuration belongs to no model for GAP. Throws invalid_argument,
// without a file's name, for an unknown head.
[[nodiscard]] std::optional<GapHeadKind> gap_head_of(const EncoderSpec& config);

// Returns the keys for EncoderSpec::head. transformers reads the encoder alone, as a BertModel.
[[nodiscard]] std::map<std::string, std::string> gap_keys(GapHeadKind kind,
                                                          const EncoderSpec& encoder = {});

}  // namespace bp::trainer
