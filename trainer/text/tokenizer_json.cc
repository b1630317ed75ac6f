#include "trainer/text/tokenizer_json.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"
#include "base/utf8.h"
#include "bp/error.h"
#include "trainer/text/bert_encoder.h"
#include "trainer/text/byte_pairs.h"
#include "trainer/text/form_json.h"
#include "trainer/text/json_place.h"
#include "trainer/text/pipeline.h"
#include "trainer/text/steps_json.h"
#include "trainer/text/unigram.h"

namespace bp::trainer {
namespace {

using Ids = std::unordered_map<std::string, std::int32_t>;

std::string in_quotes(const std::string& token) { return concat("'", quoted_line(token), "'"); }

// Reads one file into a Pipeline.
class TokenizerReader {
 public:
  TokenizerReader(const std::string& path, const Json& json)
      : path_(path), file_(path, json), model_(file_.at("model")) {}

  Vocabulary read(const std::string& text) {
    const std::int32_t unknown = read_model();
    read_added();
    pipeline_->form =
        read_sample_form(file_, [&](const std::string& token) { return id_of(token); });
    if (unknown >= 0) pipeline_->form.unknown = unknown;
    if (bert_) {
      // A vocab.txt of the same tokens may describe the same tokenizer.
      Vocabulary bert{.tokens = tokens_, .lower_case = bert_->lower_case};
      const bool usual = bert_->strip_accents == bert_->lower_case && !has_others_;
      if (usual && pipeline_->form == form_of(bert)) return bert;
      pipeline_->bert = make_bert_encoder(tokens_, pipeline_->added, *bert_);
    }
    pipeline_->json = text;
    return {.tokens = tokens_, .lower_case = {}, .pipeline = pipeline_};
  }

 private:
  // Returns the id of the unknown token, or -1 if the model has none.
  std::int32_t read_model() {
    const JsonPlace type = model_.at("type");
    const auto is = [&](const char* kind, bool as_in_old_files) {
      return type.value() == kind || (type.value().is_null() && as_in_old_files);
    };
    if (is("BPE", model_.at("merges").value().is_array())) return read_byte_pairs();
    if (is("Unigram", model_.at("vocab").value().is_array())) return read_unigram();
    if (is("WordPiece", model_.at("max_input_chars_per_word").value().is_number())) {
      return read_word_pieces();
    }
    type.refuse_value("bp's tokenizer has only \"WordPiece\", \"BPE\" and \"Unigram\"");
  }

  std::int32_t read_word_pieces() {
    model_.at("unk_token").require("[UNK]");
    model_.at("continuing_subword_prefix").require("##");
    model_.at("max_input_chars_per_word").require(100);
    const JsonPlace normalizer = file_.at("normalizer");
    normalizer.at("type").require("BertNormalizer");
    normalizer.at("clean_text").require(true);
    normalizer.at("handle_chinese_chars").require(true);
    const bool lower_case = normalizer.at("lowercase").flag();
    bert_ = {lower_case, normalizer.at("strip_accents").flag_or(lower_case)};
    file_.at("pre_tokenizer.type").require("BertPreTokenizer");
    read_ids(model_.at("vocab"));
    for (const auto& [token, id] : ids_) {
      if (token.find_first_of("\r\n") != std::string::npos) {
        refuse(path_,
               concat("model.vocab: ", in_quotes(token), " cannot be a line of a vocab.txt"));
      }
    }
    return needed("[UNK]");
  }

  std::int32_t read_byte_pairs() {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      model_.at(key).require_if_given("");
    }
    model_.at("dropout").require_if_given(0);
    model_.at("byte_fallback").require_if_given(false);
    pipeline_->normalizers = read_normalizers(file_.at("normalizer"));
    pipeline_->splitters = {read_byte_level(file_.at("pre_tokenizer"))};
    pipeline_->blank = character_of_byte(' ');
    read_ids(model_.at("vocab"));
    const JsonPlace unknown = model_.at("unk_token");
    const BytePairs::Options options{
        .unknown = unknown.value().is_null() ? -1 : needed(unknown.text()),
        .fuse_unknown = model_.at("fuse_unk").flag_or(false),
        .ignore_merges = model_.at("ignore_merges").flag_or(false)};
    const std::vector<std::pair<std::string, std::string>> pairs = merges();
    try {
      pipeline_->model = BytePairs(ids_, pairs, options);
    } catch (const Error& error) {
      refuse(path_, concat("model.merges: ", error.what()));
    }
    return options.unknown;
  }

  std::vector<std::pair<std::string, std::string>> merges() const {
    const JsonPlace place = model_.at("merges");
    std::vector<std::pair<std::string, std::string>> merges;
    for (const Json& merge : place.list()) {
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
        continue;
      }
      const std::string text = merge.is_string() ? merge.get<std::string>() : "";
      const std::size_t blank = text.find(' ');
      if (blank == std::string::npos || text.find(' ', blank + 1) != std::string::npos) {
        refuse(path_, concat("model.merges: number ", merges.size(), " is not a pair of tokens"));
      }
      merges.emplace_back(text.substr(0, blank), text.substr(blank + 1));
    }
    return merges;
  }

  std::int32_t read_unigram() {
    model_.at("byte_fallback").require_if_given(false);
    pipeline_->normalizers = read_normalizers(file_.at("normalizer"));
    pipeline_->splitters = read_splitters(file_.at("pre_tokenizer"));
    pipeline_->blank = read_blank(file_.at("pre_tokenizer"));
    if (pipeline_->splitters.empty()) file_.at("pre_tokenizer").require("Metaspace");
    std::vector<double> scores;
    for (const Json& piece : model_.at("vocab").list()) {
      const bool valid = piece.is_array() && piece.size() == 2 && piece[0].is_string() &&
                         piece[1].is_number() && std::isfinite(piece[1].get<double>());
      if (!valid) {
        refuse(path_,
               concat("model.vocab: number ", scores.size(), " is not a piece and its score"));
      }
      add(piece[0].get<std::string>());
      scores.push_back(piece[1].get<double>());
    }
    const JsonPlace unknown = model_.at("unk_id");
    if (std::cmp_greater_equal(unknown.id(), scores.size())) {
      unknown.refuse_value("no piece has it");
    }
    pipeline_->model = Unigram(tokens_, std::move(scores), unknown.id());
    return unknown.id();
  }

  void read_ids(const JsonPlace& vocabulary) {
    if (!vocabulary.value().is_object()) refuse(path_, "model.vocab is not an object");
    tokens_.resize(vocabulary.value().size());
    for (const auto& [token, id] : vocabulary.value().items()) {
      if (token.empty()) refuse(path_, "model.vocab: a token is empty");
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens_.size() ||
          !tokens_[id.get<std::size_t>()].empty()) {
        refuse(path_,
               concat("model.vocab: the id of ", in_quotes(token), " is ", printable(id.dump()),
                      "; the ids must be the numbers from 0 to ", tokens_.size() - 1));
      }
      tokens_[id.get<std::size_t>()] = token;
      ids_.emplace(token, id.get<std::int32_t>());
    }
  }

  // Adds a token with the next id.
  void add(const std::string& token) {
    const auto id = static_cast<std::int32_t>(tokens_.size());
    if (token.empty()) refuse(path_, concat("the token ", id, " is empty"));
    if (!ids_.emplace(token, id).second) {
      refuse(path_, concat("the token ", in_quotes(token), " is there twice"));
    }
    tokens_.push_back(token);
  }

  [[nodiscard]] std::int32_t id_of(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }
  std::int32_t needed(const std::string& token) const {
    const std::int32_t id = id_of(token);
    if (id < 0) refuse(concat("the vocabulary of ", path_, " has no ", quoted_line(token)));
    return id;
  }

  // The tokens that are cut out of the text.
  void read_added() {
    const JsonPlace list = file_.at("added_tokens");
    std::vector<AddedToken> as_written;
    std::vector<AddedToken> normalized;
    std::vector<JsonPlace> places;
    if (!list.value().is_null()) places = list.items();
    for (const JsonPlace& place : places) {
      const AddedToken token = read_token(place);
      const bool of_normalized =
          place.at("normalized").flag_or(!place.at("special").flag_or(false));
      (of_normalized ? normalized : as_written).push_back(token);
      if (!bert_) continue;
      place.at("normalized").require_if_given(false);
      if (std::ispunct(static_cast<unsigned char>(token.content.front())) == 0) {
        place.at("content").refuse_value("it must begin with punctuation");
      }
      has_others_ =
          has_others_ || std::ranges::find(kBertTokens, token.content) == kBertTokens.end();
    }
    for (AddedToken& token : normalized) {
      for (const Normalizer& normalize : pipeline_->normalizers) normalize(token.content);
    }
    std::erase_if(normalized, [](const AddedToken& token) { return token.content.empty(); });
    pipeline_->added = AddedTokens(std::move(as_written));
    pipeline_->added_normalized = AddedTokens(std::move(normalized));
  }

  AddedToken read_token(const JsonPlace& place) {
    AddedToken token{.content = place.at("content").text(),
                     .id = place.at("id").id(),
                     .takes_left_blanks = place.at("lstrip").flag_or(false),
                     .takes_right_blanks = place.at("rstrip").flag_or(false)};
    place.at("single_word").require_if_given(false);
    if (token.content.empty()) place.at("content").refuse_value("it must not be empty");
    if (std::cmp_equal(token.id, tokens_.size())) add(token.content);
    if (id_of(token.content) != token.id) {
      place.at("id").refuse_value(
          concat("the token ", in_quotes(token.content), " has another id, or ids are left out"));
    }
    return token;
  }

  const std::string& path_;
  JsonPlace file_;
  JsonPlace model_;
  std::shared_ptr<Pipeline> pipeline_ = std::make_shared<Pipeline>();
  std::optional<WordForm> bert_;  // of BERT's steps
  std::vector<std::string> tokens_;
  Ids ids_;
  bool has_others_ = false;  // among the added tokens: others than BERT's
};

}  // namespace

Vocabulary parse_tokenizer_json(const std::string& text, const std::string& path) {
  const Json json = parse_json(text, path);
  return TokenizerReader(path, json).read(text);
}

}  // namespace bp::trainer
