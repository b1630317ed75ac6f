#include "trainer/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "trainer/text/added_tokens.h"
#include "trainer/text/bert_encoder.h"
#include "trainer/text/pipeline.h"
#include "trainer/text/text_encoder.h"

namespace bp::trainer {
namespace {

std::int32_t find_token(const std::vector<std::string>& tokens, std::string_view token) {
  const auto found = std::ranges::find(tokens, token);
  return found == tokens.end() ? -1 : static_cast<std::int32_t>(found - tokens.begin());
}

std::shared_ptr<const TextEncoder> encoder_of(const Vocabulary& vocabulary, bool lower_case) {
  if (vocabulary.pipeline) return vocabulary.pipeline;
  std::vector<AddedToken> special;
  for (const std::string_view name : kBertTokens) {
    const std::int32_t id = find_token(vocabulary.tokens, name);
    if (id >= 0) special.push_back({std::string(name), id});
  }
  return make_bert_encoder(vocabulary.tokens, AddedTokens(std::move(special)),
                           {lower_case, lower_case});
}

}  // namespace

SampleForm form_of(const Vocabulary& vocabulary) {
  if (vocabulary.pipeline) return vocabulary.pipeline->form;
  return bert_form([&](const std::string& token) { return find_token(vocabulary.tokens, token); });
}

Tokenizer::Tokenizer(const Vocabulary& vocabulary, bool lower_case)
    : encoder_(encoder_of(vocabulary, lower_case)), form_(form_of(vocabulary)) {}

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  encoder_->encode(text, cache_, ids);
}

}  // namespace bp::trainer
