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

AddedTokens bert_special(const std::vector<std::string>& tokens) {
  std::vector<AddedToken> special;
  for (const std::string_view name : kBertTokens) {
    const std::int32_t id = find_token(tokens, name);
    if (id >= 0) special.push_back({std::string(name), id});
  }
  return AddedTokens(std::move(special));
}

}  // namespace

SampleForm form_of(const Vocabulary& vocabulary) {
  if (vocabulary.pipeline) return vocabulary.pipeline->form;
  return bert_form([&](const std::string& token) { return find_token(vocabulary.tokens, token); });
}

Tokenizer::Tokenizer(const Vocabulary& vocabulary, bool lower_case)
    : encoder_(vocabulary.pipeline ? make_pipeline_encoder(vocabulary.pipeline)
                                   : make_bert_encoder(vocabulary.tokens,
                                                       bert_special(vocabulary.tokens),
                                                       {lower_case, lower_case})),
      form_(form_of(vocabulary)) {}
Tokenizer::Tokenizer(std::unique_ptr<TextEncoder> encoder, const SampleForm& form)
    : encoder_(std::move(encoder)), form_(form) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::another() const { return {encoder_->another(), form_}; }

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  encoder_->encode(text, ids);
}

}  // namespace bp::trainer
