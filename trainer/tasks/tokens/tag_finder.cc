#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/tokens/conll.h"
#include "trainer/tasks/tokens/entities.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {
namespace {

constexpr const char* kColumnHint =
    "is the column of the tags the right one? see --tag-column and --tags";

// Whether a tag for the inside or the end of an entity follows none of the same type.
bool lacks_beginning(const std::vector<std::string>& tags) {
  const auto is_one_of = [](char letter, std::string_view letters) {
    return letters.find(letter) != std::string_view::npos;
  };
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (!is_one_of(tags[i][0], "IEL")) continue;
    const bool continues =
        i > 0 && is_one_of(tags[i - 1][0], "BI") && tags[i - 1].substr(1) == tags[i].substr(1);
    if (!continues) return true;
  }
  return false;
}

class TagFinder : public RowFinder {
 public:
  TagFinder(const Plan& plan, const TokenOptions& options, Findings& found)
      : plan_(plan),
        options_(options),
        found_(found),
        names_(options.known_tags),
        words_(plan.sources.size()) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const std::vector<std::string> tags = split_words(rows.fields()[kTagsField]);
    if (!has_tags(rows, source, tags)) return {};
    const bool trains = plan_.sources[source].split == Split::train;
    for (const std::string& tag : tags) {
      if (trains ? is_entity_tag(tag) : std::ranges::find(names_, tag) != names_.end()) continue;
      found_.add(source, rows, trains ? invalid(tag) : unknown(tag));
      return {};
    }
    if (trains) learn(tags);
    if (found_.lists() && lacks_beginning(tags)) {
      found_.add(source, rows, {.kind = kNoBeginning, .fatal = false});
    }
    return {};
  }

  void end_source(std::size_t source, std::int64_t /*rows*/) override {
    if (plan_.sources[source].split != Split::train) return;
    names_.assign(1, "O");
    for (const auto& [type, tag] : tags_) names_.push_back(tag);
  }

  [[nodiscard]] std::vector<std::string> names() const override { return names_; }

  [[nodiscard]] std::vector<Findings::Line> of_source(std::size_t source) const override {
    std::vector<Findings::Line> lines = {{"  words", with_commas(words_[source])},
                                         found_.line(source, kUntagged),
                                         found_.line(source, kNoBeginning)};
    if (source > 0) lines.push_back(found_.line(source, kUnknown));
    return lines;
  }

  [[nodiscard]] std::vector<Findings::Line> of_all() const override {
    constexpr std::size_t kLongest = 20;
    std::int64_t all = 0;
    for (const auto& [type, count] : entities_) all += count;
    const auto tags = static_cast<std::int64_t>(tags_.size()) + (has_outside_ ? 1 : 0);
    std::vector<Findings::Line> lines = {{"tags", with_commas(tags)},
                                         {"entities", with_commas(all)}};
    for (const auto& [type, count] : entities_) {
      lines.emplace_back("  " + shortened(repaired_utf8(type), kLongest),
                         concat(with_commas(count), ", ", percent_text(count, all)));
    }
    return lines;
  }

 private:
  static constexpr const char* kUntagged = "without tags";
  static constexpr const char* kNoBeginning = "entity without B-";
  static constexpr const char* kUnknown = "with another tag";

  // Returns whether the sentence has a tag for each word.
  bool has_tags(const SourceRows& rows, std::size_t source, const std::vector<std::string>& tags) {
    const std::size_t words = split_words(rows.fields()[kWordsField]).size();
    words_[source] += static_cast<std::int64_t>(words);
    if (words == 0) {
      found_.add(source, rows,
                 {.kind = "without words", .text = "has no words", .hint = "remove the row"});
    } else if (tags.empty()) {
      found_.add(source, rows,
                 {.kind = kUntagged,
                  .text = "has no tags",
                  .hint = "tag the sentence; only sentences to test or to score may lack tags",
                  .fatal = plan_.sources[source].split != Split::test,
                  .rows = "sentence without tags"});
    } else if (tags.size() != words) {
      found_.add(source, rows,
                 {.kind = "more or fewer tags",
                  .text = concat("has ", words, " words and ", tags.size(), " tags"),
                  .hint = "blanks separate words, and tags; each word needs one tag",
                  .rows = "sentence with another number of tags than of words"});
    }
    return words > 0 && tags.size() == words;
  }

  static Finding invalid(const std::string& tag) {
    return {.kind = "with a tag that is none",
            .text = concat("'", tag, "' is not a tag"),
            .hint = "a tag is O, or B-, I-, E-, S-, L- or U- and a type, such as B-PER",
            .rows = "sentence with a tag that is none"};
  }

  [[nodiscard]] Finding unknown(const std::string& tag) const {
    const std::string& known = plan_.sources.front().name;
    return {.kind = kUnknown,
            .text = concat("tag '", tag, "' is not among those ",
                           options_.known_tags.empty() ? "in " + known : "of the model", ": ",
                           shown_labels(names_)),
            .hint = did_you_mean(tag, names_, kColumnHint),
            .rows = concat("sentence with a tag that ", known, " lacks")};
  }

  void learn(const std::vector<std::string>& tags) {
    for (const std::string& tag : tags) {
      if (tag == "O") {
        has_outside_ = true;
      } else {
        tags_.emplace(tag.substr(2), tag);
      }
    }
    if (!found_.lists()) return;
    const EntityTags known(tags);
    std::vector<int> numbers(tags.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    for (const Entity& entity : known.entities_of(numbers)) {
      ++entities_[known.types()[static_cast<std::size_t>(entity.type)]];
    }
  }

  const Plan& plan_;
  const TokenOptions& options_;
  Findings& found_;
  std::set<std::pair<std::string, std::string>> tags_;  // type and tag; without O
  bool has_outside_ = false;                            // some word to train on has the tag O
  std::vector<std::string> names_;
  std::vector<std::int64_t> words_;               // of each source
  std::map<std::string, std::int64_t> entities_;  // by type; if findings are listed
};

}  // namespace

std::unique_ptr<RowFinder> make_tag_finder(const Plan& plan,
                                           const TokenOptions& options,
                                           Findings& found) {
  return std::make_unique<TagFinder>(plan, options, found);
}

Obstacle no_tags_to_learn(const std::vector<std::string>& names) {
  if (names.size() > 1) return {};
  return {"all words have the tag O", concat("there is nothing to learn; ", kColumnHint)};
}

}  // namespace bp::trainer
