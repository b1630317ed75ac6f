#include "trainer/tasks/tokens/entities.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kCounts = 3;  // of a type; the words' two come last

// `tag` is not empty.
std::string type_of(std::string_view tag) {
  std::size_t letter = 1;  // bytes of the first character
  while (letter < tag.size() && continues_character(tag[letter])) {
    ++letter;
  }
  std::string_view type = tag.substr(letter);
  if (const std::size_t hyphen = type.find('-'); hyphen != std::string_view::npos) {
    type.remove_prefix(hyphen + 1);
  }
  return type.empty() ? "_" : std::string(type);
}

bool one_of(char letter, std::string_view letters) {
  return letters.find(letter) != std::string_view::npos;
}

// Whether an entity ends between two words, from the letters of their tags.
bool ends(char before, char letter, bool same_type) {
  if (one_of(before, "ES")) return true;
  if (one_of(before, "BI") && one_of(letter, "BSO")) return true;
  return !one_of(before, "O.") && !same_type;
}

bool begins(char before, char letter, bool same_type) {
  if (one_of(letter, "BS")) return true;
  if (one_of(before, "ESO") && one_of(letter, "EI")) return true;
  return !one_of(letter, "O.") && !same_type;
}

}  // namespace

EntityTags::EntityTags(const std::vector<std::string>& tags) {
  types_.emplace_back("_");  // the type of "O"
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i].empty()) refuse(concat("tag ", i, " of the model is empty"));
    types_.push_back(type_of(tags[i]));
  }
  std::sort(types_.begin(), types_.end());
  types_.erase(std::unique(types_.begin(), types_.end()), types_.end());
  const auto number_of_type = [&](const std::string& type) {
    return static_cast<int>(std::lower_bound(types_.begin(), types_.end(), type) - types_.begin());
  };
  outside_ = {'O', number_of_type("_")};
  for (const std::string& tag : tags) tags_.push_back({tag[0], number_of_type(type_of(tag))});
}

std::vector<Entity> EntityTags::entities_of(std::span<const int> tags) const {
  std::vector<Entity> entities;
  Tag before = outside_;
  std::int64_t first = 0;
  for (std::size_t i = 0; i <= tags.size(); ++i) {
    const Tag& tag = i < tags.size() ? tags_.at(static_cast<std::size_t>(tags[i])) : outside_;
    const bool same_type = before.type == tag.type;
    const auto word = static_cast<std::int64_t>(i);
    if (ends(before.letter, tag.letter, same_type)) {
      entities.push_back({before.type, first, word - 1});
    }
    if (begins(before.letter, tag.letter, same_type)) first = word;
    before = tag;
  }
  return entities;
}

EntityTally::EntityTally(const EntityTags& tags)
    : tags_(tags), values_(tags.types().size() * kCounts + 2) {}

void EntityTally::add(std::span<const int> labels, std::span<const int> predictions) {
  if (labels.size() != predictions.size()) {
    refuse(concat(predictions.size(), " predicted tags for ", labels.size(), " words"));
  }
  std::vector<Entity> labelled = tags_.entities_of(labels);
  std::vector<Entity> predicted = tags_.entities_of(predictions);
  std::sort(labelled.begin(), labelled.end());
  std::sort(predicted.begin(), predicted.end());
  std::vector<Entity> correct;
  std::set_intersection(labelled.begin(), labelled.end(), predicted.begin(), predicted.end(),
                        std::back_inserter(correct));
  std::size_t offset = 0;
  for (const std::vector<Entity>* entities : {&correct, &predicted, &labelled}) {
    for (const Entity& entity : *entities) {
      ++values_[static_cast<std::size_t>(entity.type) * kCounts + offset];
    }
    ++offset;
  }
  values_[values_.size() - 2] += static_cast<std::int64_t>(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    values_.back() += labels[i] == predictions[i] ? 1 : 0;
  }
}

EntityCount EntityTally::count(int type) const {
  const std::size_t at = static_cast<std::size_t>(type) * kCounts;
  return {
      .correct = values_.at(at), .predicted = values_.at(at + 1), .labelled = values_.at(at + 2)};
}

std::int64_t EntityTally::words() const { return values_[values_.size() - 2]; }

std::int64_t EntityTally::correct_words() const { return values_.back(); }

}  // namespace bp::trainer
