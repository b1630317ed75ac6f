#include "launcher/sweep/space/read_block.h"

#include <algorithm>

#include "base/text.h"
#include "launcher/process/shell_words.h"
#include "launcher/sweep/space/read_dimension.h"

namespace bp::launcher::sweep {
namespace {

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
  block.repeat = static_cast<int>(std::min<std::int64_t>(count.whole(1), 1'000'000));
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

}  // namespace

const std::vector<std::string>& shared_keys() {
  static const std::vector<std::string> keys{"program", "sampler", "trials", "seed",
                                             "slots",   "spread",  "repeat"};
  return keys;
}

const std::vector<std::string>& search_keys() {
  static const std::vector<std::string> keys{"parameters", "zip", "when"};
  return keys;
}

void read_shared(const YamlNode& entry, Block& block) {
  const auto count = [&] {
    return static_cast<int>(std::min<std::int64_t>(entry.whole(1), 1'000'000));
  };
  if (entry.key == "program") block.program = read_program(entry);
  if (entry.key == "sampler") {
    block.sampler = static_cast<SamplerKind>(entry.one_of({"grid", "random", "tpe"}));
  }
  if (entry.key == "trials") block.trials = count();
  if (entry.key == "seed") block.seed = static_cast<std::uint64_t>(entry.whole(0));
  if (entry.key == "slots") block.slots = count();
  if (entry.key == "spread") block.spread = static_cast<Spread>(entry.one_of({"host", "any"}));
  if (entry.key == "repeat") read_repeat(entry, block);
}

void read_search(const std::vector<YamlNode>& entries, Block& block, const YamlNode& whole) {
  const auto find = [&](const std::string& key) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const YamlNode& entry) { return entry.key == key; });
  };
  if (const auto found = find("parameters"); found != entries.end()) {
    for (const YamlNode& entry : found->entries()) {
      add_dimension(read_parameter(entry), block, entry);
    }
  }
  if (const auto found = find("zip"); found != entries.end()) {
    for (const YamlNode& group : found->elements()) {
      add_dimension(read_zip(group), block, group);
    }
  }
  if (const auto found = find("when"); found != entries.end()) read_conditions(*found, block);
  check_sampler(block, whole);
}

}  // namespace bp::launcher::sweep
