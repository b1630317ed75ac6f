// Reads SPACE.yaml, of which docs/sweep.md has the grammar: the parameters of a block, the block,
// and the file.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/shell_words.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/yaml_node.h"

namespace bp::launcher::sweep {
namespace {

constexpr double kMostProducts = 1e6;  // of a grid

// Returns nullptr if there is none.
const YamlNode* entry_of(const std::vector<YamlNode>& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &YamlNode::key);
  return found == entries.end() ? nullptr : &*found;
}

int count_in(const YamlNode& entry, std::int64_t least = 1, std::int64_t most = 1'000'000) {
  return static_cast<int>(std::min(entry.whole(least), most));
}

std::vector<Value> read_values(const YamlNode& list) {
  if (!list.node.IsSequence()) return {list.value()};
  std::vector<Value> values;
  for (const YamlNode& element : list.elements()) {
    values.push_back(element.value());
    if (std::count(values.begin(), values.end(), values.back()) > 1) {
      element.refuse(concat("'", list.key, "' has the value ", values.back().text(), " twice"));
    }
  }
  if (values.empty()) list.refuse(concat("'", list.key, "' has no values, so there is no trial"));
  return values;
}

void set_choice(Dimension& dimension, const YamlNode& list) {
  for (Value& value : read_values(list)) dimension.rows.push_back({std::move(value)});
}

void set_range(Dimension& dimension, const YamlNode& numbers, const std::vector<YamlNode>& parts) {
  dimension.step = parts.at(2).number();
  if (dimension.step <= 0) numbers.refuse("the step of a range must be above 0");
  dimension.whole = std::all_of(parts.begin(), parts.end(), [](const YamlNode& part) {
    return part.value().kind() == Value::Kind::integer;
  });
  if ((dimension.high - dimension.low) / dimension.step > 1e6) {
    numbers.refuse("a range has at most 1,000,000 values; use a larger step, or uniform");
  }
}

void set_numbers(Dimension& dimension, const YamlNode& numbers) {
  const auto parts = numbers.elements();
  const bool range = dimension.kind == Dimension::Kind::range;
  if (parts.size() != (range ? 3 : 2)) {
    numbers.refuse(range ? "range must be [low, high, step]"
                         : concat(numbers.key, " must be [low, high]"));
  }
  const bool integer = dimension.kind == Dimension::Kind::integer;
  dimension.low = integer ? static_cast<double>(parts[0].whole(-(1LL << 53))) : parts[0].number();
  dimension.high = integer ? static_cast<double>(parts[1].whole(-(1LL << 53))) : parts[1].number();
  if (dimension.low > dimension.high) {
    numbers.refuse(
        concat(parts[0].text(), " is above ", parts[1].text(), ", so there is no value"));
  }
  if (range) set_range(dimension, numbers, parts);
  if (dimension.kind == Dimension::Kind::loguniform && dimension.low <= 0) {
    numbers.refuse("loguniform needs numbers above 0");
  }
  if (!std::isfinite(dimension.high - dimension.low)) numbers.refuse("these numbers are too large");
}

// A condition holds for some of the values that the other parameter can have.
void check_possible(const YamlNode& entry, const Dimension& other, const Condition& condition) {
  if (other.size() == 0) return;
  const auto column = static_cast<std::size_t>(std::ranges::find(other.names, condition.name) -
                                               other.names.begin());
  for (const Value& value : condition.values) {
    bool possible = false;
    for (std::size_t i = 0; i < other.size() && !possible; ++i) {
      possible = other.values(i).at(column) == value;
    }
    if (!possible) entry.refuse(concat("'", condition.name, "' never is ", value.text()));
  }
}

// Whether `name` depends on `other`, directly or not.
bool depends_on(const Block& block, const std::string& name, const std::string& other) {
  const auto found = block.when.find(name);
  if (found == block.when.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Condition& condition) {
    return condition.name == other || depends_on(block, condition.name, other);
  });
}

Dimension read_parameter(const YamlNode& entry) {
  Dimension dimension;
  dimension.names = {entry.key};
  dimension.line = entry.line;
  if (!entry.node.IsMap()) {
    set_choice(dimension, entry);
    return dimension;
  }
  const auto parts = entry.entries({"choice", "range", "uniform", "loguniform", "int"});
  if (parts.size() != 1) {
    entry.refuse(concat("'", entry.key, "' must have one of choice, range, uniform, ...: ",
                        parts.empty() ? "none is" : "two are", " given"));
  }
  const std::string& kind = parts[0].key;
  if (kind == "choice") {
    set_choice(dimension, parts[0]);
    return dimension;
  }
  dimension.kind = kind == "range"        ? Dimension::Kind::range
                   : kind == "uniform"    ? Dimension::Kind::uniform
                   : kind == "loguniform" ? Dimension::Kind::loguniform
                                          : Dimension::Kind::integer;
  set_numbers(dimension, parts[0]);
  return dimension;
}

Dimension read_zip(const YamlNode& group) {
  Dimension dimension;
  dimension.line = group.line;
  for (const YamlNode& entry : group.entries()) {
    dimension.names.push_back(entry.key);
    const auto elements = entry.elements();
    if (elements.empty()) entry.refuse(concat("'", entry.key, "' has no values"));
    if (dimension.names.size() == 1) dimension.rows.resize(elements.size());
    if (elements.size() != dimension.rows.size()) {
      entry.refuse(concat("'", entry.key, "' has ", elements.size(), " values and '",
                          dimension.names.front(), "' has ", dimension.rows.size(),
                          "; lists of one zip need the same number"));
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
      dimension.rows[i].push_back(elements[i].value());
    }
  }
  if (dimension.names.empty()) group.refuse("this zip has no parameters");
  return dimension;
}

void read_conditions(const YamlNode& when, Block& block) {
  for (const YamlNode& entry : when.entries()) {
    if (find_dimension(block, entry.key) == nullptr) {
      entry.refuse(concat("'", entry.key, "' is not a parameter"));
    }
    for (const YamlNode& condition : entry.entries()) {
      const Dimension* other = find_dimension(block, condition.key);
      if (other == nullptr) condition.refuse(concat("'", condition.key, "' is not a parameter"));
      if (condition.key == entry.key || depends_on(block, condition.key, entry.key)) {
        condition.refuse(concat("'", entry.key, "' would depend on itself"));
      }
      Condition read{condition.key, read_values(condition)};
      check_possible(condition, *other, read);
      block.when[entry.key].push_back(std::move(read));
    }
  }
}

std::vector<std::string> read_program(const YamlNode& entry) {
  std::vector<std::string> words;
  if (entry.node.IsSequence()) {
    for (const YamlNode& word : entry.elements()) words.push_back(word.text());
  } else {
    words = split_shell_words(entry.text());
  }
  if (words.empty() || words.front().empty()) entry.refuse("'program' names no program");
  return words;
}

void read_repeat(const YamlNode& entry, Block& block) {
  YamlNode count = entry;
  block.repeat_option = "seed";
  if (entry.node.IsMap()) {
    const auto options = entry.entries();
    if (options.size() != 1) entry.refuse("'repeat' must be a number or {OPTION: NUMBER}");
    count = options.front();
    block.repeat_option = count.key;
  }
  block.repeat = count_in(count);
}

void add_dimension(Dimension dimension, Block& block, const YamlNode& entry) {
  for (const std::string& name : dimension.names) {
    if (name.empty()) entry.refuse("a parameter needs a name");
    const bool twice = std::count(dimension.names.begin(), dimension.names.end(), name) > 1;
    if (twice || find_dimension(block, name) != nullptr) {
      entry.refuse(concat("'", name, "' is a parameter twice"));
    }
    if (block.repeat > 1 && name == block.repeat_option) {
      entry.refuse(concat("'", name, "' is also what 'repeat' sets; write repeat: {OPTION: ",
                          block.repeat, "} to set another option"));
    }
  }
  block.dimensions.push_back(std::move(dimension));
}

void check_sampler(const Block& block, const YamlNode& whole) {
  if (block.sampler != SamplerKind::grid) {
    if (block.trials == 0) whole.refuse("random and tpe need 'trials': how many to try");
    if (block.dimensions.empty()) whole.refuse("random and tpe need 'parameters' to choose");
    return;
  }
  double products = 1;
  for (const Dimension& dimension : block.dimensions) {
    YamlNode at = whole;
    at.line = dimension.line;
    if (dimension.size() == 0) {
      at.refuse(concat("'", dimension.names.front(),
                       "' has no countable values for a grid; use range or a list, or add "
                       "'sampler: random' and 'trials'"));
    }
    products *= static_cast<double>(dimension.size());
    if (products > kMostProducts) {
      at.refuse("the grid has more than 1,000,000 trials; use sampler: random and trials: N");
    }
  }
}

// The keys of a map that may have those of a block, too. The first seven hold for all blocks at the
// top of a file; the others say what is searched.
std::vector<std::string> with_block_keys(std::vector<std::string> keys) {
  for (const char* key : {"program", "sampler", "trials", "seed", "slots", "spread", "repeat",
                          "parameters", "zip", "when"}) {
    keys.emplace_back(key);
  }
  return keys;
}

// Reads the value of one of the first seven keys.
void read_shared(const YamlNode& entry, Block& block) {
  if (entry.key == "program") block.program = read_program(entry);
  if (entry.key == "sampler") {
    block.sampler = static_cast<SamplerKind>(entry.one_of({"grid", "random", "tpe"}));
  }
  if (entry.key == "trials") block.trials = count_in(entry);
  if (entry.key == "seed") block.seed = static_cast<std::uint64_t>(entry.whole(0));
  if (entry.key == "slots") block.slots = count_in(entry);
  if (entry.key == "spread") block.spread = static_cast<Spread>(entry.one_of({"host", "any"}));
  if (entry.key == "repeat") read_repeat(entry, block);
}

// Reads what is searched into the block, and checks the whole block.
void read_search(const std::vector<YamlNode>& entries, Block& block, const YamlNode& whole) {
  if (const YamlNode* parameters = entry_of(entries, "parameters")) {
    for (const YamlNode& entry : parameters->entries()) {
      add_dimension(read_parameter(entry), block, entry);
    }
  }
  if (const YamlNode* zip = entry_of(entries, "zip")) {
    for (const YamlNode& group : zip->elements()) add_dimension(read_zip(group), block, group);
  }
  if (const YamlNode* when = entry_of(entries, "when")) read_conditions(*when, block);
  check_sampler(block, whole);
}

StopSpec read_stop(const YamlNode& entry) {
  using Rule = StopSpec::Rule;
  StopSpec spec;
  std::vector<YamlNode> parts;
  if (entry.node.IsMap()) parts = entry.entries({"rule", "min", "factor", "unit", "trials"});
  const YamlNode* rule = entry.node.IsMap() ? entry_of(parts, "rule") : &entry;
  if (rule == nullptr) entry.refuse("'stop' must have a rule: asha or median");
  spec.rule = rule->one_of({"asha", "median"}) == 0 ? Rule::asha : Rule::median;
  for (const YamlNode& part : parts) {
    if ((part.key == "factor" && spec.rule != Rule::asha) ||
        (part.key == "trials" && spec.rule != Rule::median)) {
      part.refuse(concat("'", part.key, "' has no effect on this rule; remove it"));
    }
    if (part.key == "min") spec.min = part.whole(1);
    if (part.key == "factor") spec.factor = count_in(part, 2, 1000);
    if (part.key == "trials") spec.trials = count_in(part);
    if (part.key == "unit") {
      spec.unit = static_cast<StopSpec::Unit>(part.one_of({"reports", "steps"}));
    }
  }
  return spec;
}

// What makes no sense for the file as a whole.
void check_trials(const std::vector<Block>& blocks, const std::vector<YamlNode>& entries) {
  const YamlNode* trials = entry_of(entries, "trials");
  const bool grids = std::ranges::all_of(
      blocks, [](const Block& block) { return block.sampler == SamplerKind::grid; });
  if (grids && trials != nullptr) {
    trials->refuse("'trials' has no effect on a grid; remove it, or add 'sampler: random'");
  }
}

std::vector<Block> read_blocks(const YamlNode& list, const Block& defaults) {
  std::vector<Block> blocks;
  for (const YamlNode& element : list.elements()) {
    const auto entries = element.entries(with_block_keys({"name"}));
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
  const auto entries = root.entries(with_block_keys({"metric", "direction", "stop", "blocks"}));
  Space space;
  Block defaults;
  defaults.line = root.line;
  const YamlNode* blocks = entry_of(entries, "blocks");
  const YamlNode* search = nullptr;
  for (const YamlNode& entry : entries) {
    if (entry.key == "metric") space.metric = entry.text();
    if (entry.key == "direction") {
      space.direction = static_cast<Direction>(entry.one_of({"min", "max"}));
    }
    if (entry.key == "stop") space.stop = read_stop(entry);
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
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      throw Error(ErrorCode::invalid_argument,
                  concat(name, ", line ", documents[1].Mark().line + 1,
                         ": a second document begins, behind ---; put all into one"));
    }
    const YAML::Node node = documents.empty() ? YAML::Node() : documents.front();
    if (!node.IsMap()) {
      throw Error(
          ErrorCode::invalid_argument,
          concat(name, ", line 1: this is not a map of keys to values; it needs 'parameters'"));
    }
    return read_root({node, name, node.Mark().line + 1});
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::invalid_argument,
                concat(name, ", line ", error.mark.line + 1, ": ", error.msg));
  }
}

}  // namespace bp::launcher::sweep
