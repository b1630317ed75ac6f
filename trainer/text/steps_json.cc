#include "trainer/text/steps_json.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/text/precompiled.h"

namespace bp::trainer {
namespace {

template <class Step>
struct Reader {
  const char* type;
  Step (*read)(const JsonPlace& place);
};

// Returns the steps of these places. `readers` know their types.
template <class Step, std::size_t size>
std::vector<Step> read_steps(const std::vector<JsonPlace>& places,
                             const Reader<Step> (&readers)[size]) {
  std::vector<Step> steps;
  for (const JsonPlace& place : places) {
    const JsonPlace type = place.at("type");
    const auto reader = std::ranges::find_if(
        readers, [&](const Reader<Step>& one) { return type.value() == one.type; });
    if (reader == std::end(readers)) {
      std::string known = "Sequence";
      for (const Reader<Step>& one : readers) known += concat(", ", one.type);
      type.refuse_value(concat("bp's tokenizer has only ", known));
    }
    steps.push_back(reader->read(place));
  }
  return steps;
}

std::string decode_base64(const JsonPlace& place) {
  const std::string& text = place.text();
  std::string bytes(text.size() / 4 * 3, '\0');
  const bool fits = text.size() <= std::numeric_limits<int>::max();
  const int size = fits ? EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                          reinterpret_cast<const unsigned char*>(text.data()),
                                          static_cast<int>(text.size()))
                        : -1;
  if (size < 0) place.refuse_value("it must be in base64");
  const auto padding = static_cast<std::size_t>(std::ranges::count(text, '='));
  bytes.resize(static_cast<std::size_t>(size) - std::min({padding, std::size_t{2}, bytes.size()}));
  return bytes;
}

Normalizer read_precompiled(const JsonPlace& place) {
  const JsonPlace table = place.at("precompiled_charsmap");
  if (table.value().is_null()) return [](std::string&) {};
  const std::string bytes = decode_base64(table);
  try {
    const auto precompiled = std::make_shared<const Precompiled>(bytes);
    return [precompiled](std::string& text) { precompiled->normalize(text); };
  } catch (const Error& error) {
    table.refuse_value(error.what());
  }
}

Normalizer read_replace(const JsonPlace& place) {
  const std::string content = place.at("content").text();
  const JsonPlace regex = place.at("pattern.Regex");
  if (regex.value() == " {2,}") {
    return [content](std::string& text) { replace_runs_of_blanks(content, text); };
  }
  if (regex.value() == R"(\s{2,}|[\n\r\t])") {
    return [content](std::string& text) { replace_white_space(content, text); };
  }
  if (!regex.value().is_null()) {
    regex.refuse_value(R"(bp's tokenizer has only " {2,}" and "\s{2,}|[\n\r\t]")");
  }
  const JsonPlace pattern = place.at("pattern.String");
  if (pattern.text().empty()) pattern.refuse_value("it must not be empty");
  return [content, pattern = pattern.text()](std::string& text) {
    replace_all(pattern, content, text);
  };
}

Normalizer read_strip(const JsonPlace& place) {
  const bool left = place.at("strip_left").flag();
  const bool right = place.at("strip_right").flag();
  return [left, right](std::string& text) { strip(left, right, text); };
}

template <UnicodeForm form>
Normalizer read_unicode_form(const JsonPlace& /*place*/) {
  return [](std::string& text) { normalize(form, text); };
}

Splitter read_metaspace(const JsonPlace& place) {
  Metaspace metaspace{.mark = place.at("replacement").text(),
                      .split = place.at("split").flag_or(true)};
  const JsonPlace scheme = place.at("prepend_scheme");
  if (scheme.value().is_null()) {
    metaspace.prepend = place.at("add_prefix_space").flag_or(true);
  } else if (scheme.value() == "never") {
    metaspace.prepend = false;
  } else {
    scheme.require("always");
  }
  if (metaspace.mark.empty()) place.at("replacement").refuse_value("it must not be empty");
  return [metaspace](std::string_view text, const TakeWord& take) {
    split_at_marks(metaspace, text, take);
  };
}

constexpr Reader<Normalizer> kNormalizers[] = {
    {"Precompiled", read_precompiled},
    {"Replace", read_replace},
    {"NFD", read_unicode_form<UnicodeForm::nfd>},
    {"NFC", read_unicode_form<UnicodeForm::nfc>},
    {"NFKD", read_unicode_form<UnicodeForm::nfkd>},
    {"NFKC", read_unicode_form<UnicodeForm::nfkc>},
    {"Strip", read_strip},
    {"StripAccents", [](const JsonPlace&) { return Normalizer(strip_accents); }},
    {"Lowercase", [](const JsonPlace&) { return Normalizer(make_lower_case); }}};

constexpr Reader<Splitter> kSplitters[] = {
    {"Metaspace", read_metaspace},
    {"WhitespaceSplit", [](const JsonPlace&) { return Splitter(split_at_white_space); }}};

}  // namespace

std::vector<Normalizer> read_normalizers(const JsonPlace& place) {
  return read_steps(place.steps("normalizers"), kNormalizers);
}

std::vector<Splitter> read_splitters(const JsonPlace& place) {
  return read_steps(place.steps("pretokenizers"), kSplitters);
}

std::string read_blank(const JsonPlace& place) {
  for (const JsonPlace& step : place.steps("pretokenizers")) {
    if (step.at("type").value() == "Metaspace") return step.at("replacement").text();
  }
  return "";
}

Splitter read_byte_level(const JsonPlace& place) {
  place.at("type").require("ByteLevel");
  place.at("use_regex").require_if_given(true);
  if (!place.at("add_prefix_space").flag_or(true)) return split_as_gpt2;
  return [](std::string_view text, const TakeWord& take) {
    if (text.starts_with(' ')) return split_as_gpt2(text, take);
    split_as_gpt2(concat(" ", text), take);
  };
}

}  // namespace bp::trainer
