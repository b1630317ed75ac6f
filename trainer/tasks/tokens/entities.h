// Finds the entities in sequences of tags, and counts those that a model finds. Equal to seqeval
// in its default mode, which is lenient: "I-" after another type begins an entity, as "B-" does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Words `first` to `last` of a sentence.
struct Entity {
  int type = 0;  // an index of EntityTags::types()
  std::int64_t first = 0;
  std::int64_t last = 0;
  auto operator<=>(const Entity&) const = default;  // NOLINT(modernize-use-nullptr): false alarm
};

// The tags of a model, by number. The first character of a tag is its letter. What follows a
// hyphen, or else the letter, is its type; seqeval calls an empty one "_".
class EntityTags {
 public:
  // Throws invalid_argument for an empty tag.
  explicit EntityTags(const std::vector<std::string>& tags);

  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }  // sorted

  // Returns the entities of one sentence, in the order of their ends. For tags as conll.h accepts
  // them, these are the entities of seqeval's get_entities(). L and U are letters that seqeval does
  // not know: a word "U-PER" beside another of the same type belongs to the same entity.
  [[nodiscard]] std::vector<Entity> entities_of(std::span<const int> tags) const;

 private:
  struct Tag {
    char letter = 'O';
    int type = 0;
  };
  std::vector<Tag> tags_;
  std::vector<std::string> types_;
  Tag outside_;
};

struct EntityCount {
  std::int64_t correct = 0;    // found with the right type, first and last word
  std::int64_t predicted = 0;  // found by the model
  std::int64_t labelled = 0;   // in the data
};

// Counts of the entities of each type, and of words, as integers. Adding up ranks is one
// all_reduce(sum) of values(), so the result is the same for any number and order of ranks.
class EntityTally {
 public:
  // `tags` must outlive this object.
  explicit EntityTally(const EntityTags& tags);

  // Adds a sentence: the true tag of each word, and the predicted ones. Throws invalid_argument if
  // the numbers of words differ.
  void add(std::span<const int> labels, std::span<const int> predictions);

  [[nodiscard]] EntityCount count(int type) const;
  [[nodiscard]] std::int64_t words() const;
  [[nodiscard]] std::int64_t correct_words() const;  // whose tags are equal

  // The layout is private to this class; the size depends only on the number of types.
  [[nodiscard]] std::span<std::int64_t> values() { return values_; }
  [[nodiscard]] const EntityTags& tags() const { return tags_; }

 private:
  const EntityTags& tags_;
  std::vector<std::int64_t> values_;
};

}  // namespace bp::trainer
