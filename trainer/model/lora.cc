#include "trainer/model/lora.h"

#include <algorithm>
#include <cmath>
#include <regex>

#include "base/nearest.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/files/byte_source.h"

namespace bp::trainer {
namespace {

bool is_end_of(std::string_view end, std::string_view module) {
  return module == end || (module.ends_with(end) && module[module.size() - end.size() - 1] == '.');
}

template <class Value>
Value fitting(const std::vector<std::pair<std::string, Value>>& values,
              std::string_view module,
              Value otherwise) {
  const auto found =
      std::ranges::find_if(values, [&](const auto& one) { return is_end_of(one.first, module); });
  return found == values.end() ? otherwise : found->second;
}

std::string last_part(const std::string& module) { return module.substr(module.rfind('.') + 1); }

}  // namespace

int LoraConfig::rank_of(std::string_view module) const { return fitting(ranks, module, rank); }

double LoraConfig::scale_of(std::string_view module) const {
  const double own = rank_of(module);
  return fitting(alphas, module, alpha) / (rank_stabilized ? std::sqrt(own) : own);
}

bool LoraConfig::adapts(std::string_view module) const {
  if (targets == std::vector<std::string>{kAllLinear}) return true;
  if (!target_pattern.empty()) {
    return std::regex_match(module.begin(), module.end(), std::regex(target_pattern));
  }
  return std::ranges::any_of(targets, [&](const std::string& t) { return is_end_of(t, module); });
}

bool LoraConfig::saves(std::string_view parameter) const {
  if (is_adapter(parameter)) return true;
  for (std::size_t dot = parameter.rfind('.');; dot = parameter.rfind('.', dot - 1)) {
    const std::string_view module = parameter.substr(0, dot);
    // Unlike a target, an end may begin inside a part: PEFT takes "pre_classifier", too.
    if (std::ranges::any_of(modules_to_save, [&](const auto& m) { return module.ends_with(m); })) {
      return true;
    }
    if (module.find('.') == std::string_view::npos) return false;
  }
}

std::vector<std::string> adaptable_modules(const EncoderSpec& spec) {
  const WeightNames& names = names_of(spec);
  std::vector<std::string> modules;
  for (int layer = 0; layer < spec.own_layers(); ++layer) {
    for (const std::string& product :
         names.products(spec.is_of_decoder(static_cast<std::size_t>(layer)))) {
      modules.push_back(names.layer(spec, layer) + product);
    }
  }
  if (names.encoder_has_pooler()) modules.push_back(names.pooler);
  return modules;
}

std::vector<std::string> usual_targets(const EncoderSpec& spec) {
  const std::vector<std::string>& qkv = names_of(spec).qkv;
  if (qkv.size() == 1) return {last_part(qkv.front())};
  return {last_part(qkv.front()), last_part(qkv.back())};
}

std::vector<std::string> target_names(const EncoderSpec& spec) {
  std::vector<std::string> targets;
  const auto add = [&targets](const std::string& target) {
    if (std::ranges::count(targets, target) == 0) targets.push_back(target);
  };
  const WeightNames& names = names_of(spec);
  const std::vector<std::string> products = names.products(spec.has_decoder());
  for (const std::string& product : products) add(last_part(product));
  // "dense" is the end of several.
  for (const std::string& product : products) {
    if (std::ranges::count(products, last_part(product), last_part) > 1) add(product);
  }
  if (names.encoder_has_pooler()) add(names.pooler.substr(names.prefix.size()));
  return targets;
}

void check(const LoraConfig& config, const EncoderSpec& spec) {
  if (config.rank < 1) refuse(concat("the rank of adapters is ", config.rank, "; it is 1 or more"));
  const std::vector<std::string> modules = adaptable_modules(spec);
  if (!config.target_pattern.empty()) {
    if (std::ranges::any_of(modules, [&](const auto& m) { return config.adapts(m); })) return;
    refuse(concat("no module's name matches ", in_quotes(config.target_pattern)));
  }
  if (config.targets.empty()) refuse("no module is named that could get adapters");
  for (const std::string& target : config.targets) {
    if (target == kAllLinear && config.targets.size() == 1) continue;
    if (std::ranges::any_of(modules, [&](const auto& m) { return is_end_of(target, m); })) continue;
    if (config.saves(target + ".weight")) continue;  // PEFT lists the head's products, too
    const std::string nearest = nearest_name(target, target_names(spec));
    refuse(concat("no module's name ends with ", in_quotes(target),
                  nearest.empty() ? "" : concat("; did you mean ", in_quotes(nearest), "?")));
  }
}

}  // namespace bp::trainer
