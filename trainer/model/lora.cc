#include "trainer/model/lora.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/byte_source.h"

namespace bp::trainer {
namespace {

constexpr const char* kProducts[] = {"attention.self.query", "attention.self.key",
                                     "attention.self.value", "attention.output.dense",
                                     "intermediate.dense",   "output.dense"};

bool is_end_of(std::string_view end, std::string_view module) {
  return module == end || (module.ends_with(end) && module[module.size() - end.size() - 1] == '.');
}

}  // namespace

bool LoraConfig::adapts(std::string_view module) const {
  return std::ranges::any_of(targets, [&](const std::string& t) { return is_end_of(t, module); });
}

bool LoraConfig::saves(std::string_view parameter) const {
  if (is_adapter(parameter)) return true;
  for (std::size_t dot = parameter.rfind('.');; dot = parameter.rfind('.', dot - 1)) {
    const std::string_view module = parameter.substr(0, dot);
    if (std::ranges::any_of(modules_to_save, [&](const auto& m) { return is_end_of(m, module); })) {
      return true;
    }
    if (module.find('.') == std::string_view::npos) return false;
  }
}

std::vector<std::string> adaptable_modules(int layers) {
  std::vector<std::string> names;
  for (int layer = 0; layer < layers; ++layer) {
    for (const char* product : kProducts) {
      names.push_back(concat("bert.encoder.layer.", layer, ".", product));
    }
  }
  names.emplace_back("bert.pooler.dense");
  return names;
}

void check(const LoraConfig& config, int layers) {
  if (config.rank < 1) refuse(concat("the rank of adapters is ", config.rank, "; it is 1 or more"));
  if (config.targets.empty()) refuse("no module is named that could get adapters");
  const std::vector<std::string> modules = adaptable_modules(layers);
  for (const std::string& target : config.targets) {
    if (std::ranges::any_of(modules, [&](const auto& m) { return is_end_of(target, m); })) continue;
    const std::string nearest =
        nearest_name(target, {"query", "key", "value", "dense", "intermediate.dense",
                              "attention.output.dense", "output.dense", "pooler.dense"});
    refuse(concat("no module's name ends with ", in_quotes(target),
                  nearest.empty() ? "" : concat("; did you mean ", in_quotes(nearest), "?")));
  }
}

}  // namespace bp::trainer
