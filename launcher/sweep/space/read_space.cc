#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/regular_file.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/space/read_block.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/yaml_node.h"

namespace bp::launcher::sweep {
namespace {

std::vector<std::string> joined(std::vector<std::string> keys,
                                const std::vector<std::string>& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

StopSpec read_stop(const YamlNode& entry) {
  using Rule = StopSpec::Rule;
  StopSpec spec;
  std::vector<YamlNode> parts;
  if (entry.node.IsMap()) {
    parts = entry.entries({"rule", "min", "factor", "unit", "trials"});
    const auto rule = std::find_if(parts.begin(), parts.end(),
                                   [](const YamlNode& part) { return part.key == "rule"; });
    if (rule == parts.end()) entry.refuse("'stop' must have a rule: asha or median");
    spec.rule = rule->one_of({"asha", "median"}) == 0 ? Rule::asha : Rule::median;
  } else {
    spec.rule = entry.one_of({"asha", "median"}) == 0 ? Rule::asha : Rule::median;
  }
  for (const YamlNode& part : parts) {
    if ((part.key == "factor" && spec.rule != Rule::asha) ||
        (part.key == "trials" && spec.rule != Rule::median)) {
      part.refuse(concat("'", part.key, "' has no effect on this rule; remove it"));
    }
    if (part.key == "min") spec.min = part.whole(1);
    if (part.key == "factor") spec.factor = static_cast<int>(std::min(part.whole(2), 1000L));
    if (part.key == "trials") spec.trials = static_cast<int>(std::min(part.whole(1), 1'000'000L));
    if (part.key == "unit") {
      spec.unit = static_cast<StopSpec::Unit>(part.one_of({"reports", "steps"}));
    }
  }
  return spec;
}

// What makes no sense for the file as a whole.
void check_trials(const std::vector<Block>& blocks, const std::vector<YamlNode>& entries) {
  const auto trials = std::find_if(entries.begin(), entries.end(),
                                   [](const YamlNode& entry) { return entry.key == "trials"; });
  const bool grids = std::all_of(blocks.begin(), blocks.end(), [](const Block& block) {
    return block.sampler == SamplerKind::grid;
  });
  if (grids && trials != entries.end()) {
    trials->refuse("'trials' has no effect on a grid; remove it, or add 'sampler: random'");
  }
}

std::vector<Block> read_blocks(const YamlNode& list, const Block& defaults) {
  std::vector<Block> blocks;
  for (const YamlNode& element : list.elements()) {
    const auto entries = element.entries(joined(joined({"name"}, shared_keys()), search_keys()));
    Block block = defaults;
    block.line = element.line;
    block.name = std::to_string(blocks.size() + 1);
    for (const YamlNode& entry : entries) {
      if (entry.key == "name") block.name = entry.text();
      read_shared(entry, block);
    }
    for (const Block& other : blocks) {
      if (other.name == block.name) {
        element.refuse(concat("there are two blocks with the name ", block.name));
      }
    }
    read_search(entries, block, element);
    check_trials({block}, entries);
    blocks.push_back(std::move(block));
  }
  if (blocks.empty()) list.refuse("'blocks' is empty, so there is no trial");
  return blocks;
}

Space read_root(const YamlNode& root) {
  const auto entries = root.entries(
      joined(joined({"metric", "direction", "stop", "blocks"}, shared_keys()), search_keys()));
  Space space;
  Block defaults;
  defaults.line = root.line;
  const YamlNode* blocks = nullptr;
  const YamlNode* search = nullptr;
  for (const YamlNode& entry : entries) {
    if (entry.key == "metric") space.metric = entry.text();
    if (entry.key == "direction") {
      space.direction = static_cast<Direction>(entry.one_of({"min", "max"}));
    }
    if (entry.key == "stop") space.stop = read_stop(entry);
    if (entry.key == "blocks") blocks = &entry;
    if (search == nullptr &&
        (entry.key == "parameters" || entry.key == "zip" || entry.key == "when")) {
      search = &entry;
    }
    read_shared(entry, defaults);
  }
  if (!space.direction) space.direction = usual_direction(space.metric);
  if (!space.metric.empty() && !space.direction) {
    root.refuse(concat("add 'direction: min' or 'direction: max' for the metric ", space.metric));
  }
  if (blocks != nullptr) {
    if (search != nullptr) search->refuse("a file with blocks has its parameters in the blocks");
    space.blocks = read_blocks(*blocks, defaults);
  } else {
    if (search == nullptr) root.refuse("there are no 'parameters' and no 'blocks' to try");
    read_search(entries, defaults, root);
    space.blocks = {std::move(defaults)};
  }
  check_trials(space.blocks, entries);
  return space;
}

}  // namespace

Space parse_space(const std::string& text, const std::string& name) {
  try {
    const YAML::Node node = YAML::Load(text);
    if (!node.IsMap()) {
      throw Error(
          ErrorCode::invalid_argument,
          concat(name, ", line 1: this is no map of keys to values; it needs 'parameters'"));
    }
    return read_root({node, name, node.Mark().line + 1});
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::invalid_argument,
                concat(name, ", line ", error.mark.line + 1, ": ", error.msg));
  }
}

Space read_space(const std::string& path) {
  const OpenedFile opened = open_regular_file(path);
  if (!opened.fd) {
    throw Error(ErrorCode::io, concat("cannot read ", path, ": ", opened.problem));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_space(text.str(), path);
}

}  // namespace bp::launcher::sweep
