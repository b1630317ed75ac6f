#include "trainer/text/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "trainer/text/added_tokens.h"
#include "trainer/text/bert_encoder.h"
#include "trainer/text/pipeline.h"
#include "trainer/text/text_encoder.h"

namespace bp::trainer {
namespace {

using BertIds = std::array<std::int32_t, kBertTokens.size()>;

// Returns the ids of kBertTokens, with -1 for one that is not there.
BertIds bert_ids(const std::vector<std::string>& tokens) {
  BertIds ids{};
  std::ranges::transform(kBertTokens, ids.begin(), [&](std::string_view token) {
    const auto found = std::ranges::find(tokens, token);
    return found == tokens.end() ? -1 : static_cast<std::int32_t>(found - tokens.begin());
  });
  return ids;
}

std::shared_ptr<const TextEncoder> encoder_of(const Vocabulary& vocabulary, bool lower_case) {
  if (vocabulary.pipeline) return vocabulary.pipeline;
  const BertIds ids = bert_ids(vocabulary.tokens);
  std::vector<AddedToken> special;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0) special.push_back({std::string(kBertTokens[i]), ids[i]});
  }
  return make_bert_encoder(vocabulary.tokens, AddedTokens(std::move(special)),
                           {lower_case, lower_case});
}

}  // namespace

SampleForm form_of(const Vocabulary& vocabulary) {
  if (vocabulary.pipeline) return vocabulary.pipeline->form;
  const BertIds ids = bert_ids(vocabulary.tokens);
  return {.pad = ids[0], .unknown = ids[1], .cls = ids[2], .sep = ids[3], .mask = ids[4]};
}

Tokenizer::Tokenizer(const Vocabulary& vocabulary, bool lower_case)
    : encoder_(encoder_of(vocabulary, lower_case)), form_(form_of(vocabulary)) {}

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  encoder_->encode(text, cache_, ids);
}

}  // namespace bp::trainer
