#include <algorithm>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "trainer/common/text_list.h"
#include "trainer/model/families/family.h"

namespace bp::trainer {

const std::vector<const Family*>& families() {
  static const std::vector<const Family*> kFamilies = {
      &albert(),  &bart(),       &bert(),  &camembert(), &deberta_v2(),  &distilbert(),
      &electra(), &modernbert(), &mpnet(), &roberta(),   &xlm_roberta(),
  };
  return kFamilies;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::ranges::find_if(
      families(), [&](const Family* family) { return family->usual.family == model_type; });
  return found == families().end() ? nullptr : *found;
}

std::vector<std::string> model_types() {
  std::vector<std::string> types;
  for (const Family* const family : families()) types.push_back(family->usual.family);
  return types;
}

std::string family_names() {
  const std::vector<std::string> types = model_types();
  const auto first_ones = std::span(types).first(types.size() - 1);
  return concat("'", list_of(first_ones, "', '"), "' and '", types.back(), "'");
}

const Family& family_of(const EncoderSpec& spec) {
  const Family* const family = find_family(spec.family);
  BP_CHECK(family != nullptr, "every encoder is of a family");
  return *family;
}

std::string class_name(const EncoderSpec& spec, std::string_view purpose) {
  return concat(family_of(spec).classes, purpose);
}

std::vector<ConfigKey> without(std::vector<ConfigKey> keys, const ConfigKey::Member& member) {
  std::erase_if(keys, [&](const ConfigKey& key) { return key.member == member; });
  return keys;
}

std::string key_of(const EncoderSpec& spec, const ConfigKey::Member& member) {
  const std::vector<ConfigKey>& keys = family_of(spec).keys;
  const auto found = std::ranges::find(keys, member, &ConfigKey::member);
  return found == keys.end() ? "" : found->name;
}

}  // namespace bp::trainer
