#include "trainer/tasks/tokens/tag_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/data/rows_found.h"
#include "trainer/data/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/tokens/conll.h"
#include "trainer/tasks/tokens/entities.h"
#include "trainer/tasks/tokens/token_options.h"
#include "trainer/tasks/tokens/word_list.h"

namespace bp::trainer {
namespace {

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

class TagCheck : public RowCheck {
 public:
  explicit TagCheck(const Plan& plan) : plan_(plan), files_(plan.sources.size()) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto place = [&] { return rows.place(); };
    const std::size_t words = split_words(rows.fields()[kWordsField]).size();
    const std::vector<std::string> tags = split_words(rows.fields()[kTagsField]);
    File& file = files_[source];
    file.words += static_cast<std::int64_t>(words);
    if (words == 0) wordless_.add(place);
    if (tags.empty()) {
      file.untagged.add(place);
    } else if (tags.size() != words) {
      uneven_.add(place);
    } else if (!std::ranges::all_of(tags, [](const auto& tag) { return is_entity_tag(tag); })) {
      invalid_.add(place);
    } else {
      if (lacks_beginning(tags)) file.without_beginning.add(place);
      if (source == 0) {
        count_entities(tags);
      } else if (!std::ranges::all_of(tags, [&](const auto& t) { return is_known(t); })) {
        file.unknown.add(place);
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<Line> of_source(std::size_t source) const override {
    const File& file = files_[source];
    std::vector<Line> lines = {{"  words", with_commas(file.words)},
                               {"  without tags", file.untagged.text()},
                               {"  entity without B-", file.without_beginning.text()}};
    if (source > 0) lines.emplace_back("  with another tag", file.unknown.text());
    return lines;
  }

  [[nodiscard]] std::vector<Line> of_all() const override {
    constexpr std::size_t kLongest = 20;
    std::int64_t all = 0;
    for (const auto& [type, count] : entities_) all += count;
    std::vector<Line> lines = {{"tags", with_commas(static_cast<std::int64_t>(tags_.size()))},
                               {"entities", with_commas(all)}};
    for (const auto& [type, count] : entities_) {
      lines.emplace_back("  " + shortened(repaired_utf8(type), kLongest),
                         concat(with_commas(count), ", ", percent_text(count, all)));
    }
    return lines;
  }

  [[nodiscard]] Obstacle obstacle() const override {
    if (wordless_.count > 0) {
      return {
          concat(counted(wordless_.count, "row"), " without words, the first: ", wordless_.first),
          "remove them"};
    }
    if (uneven_.count > 0) {
      return {concat(counted(uneven_.count, "sentence"),
                     " with another number of tags than of words, the first: ", uneven_.first),
              "blanks separate words, and tags; each word needs one tag"};
    }
    if (invalid_.count > 0) {
      return {concat(counted(invalid_.count, "sentence"),
                     " with a tag that is none, the first: ", invalid_.first),
              "a tag is O, or B-, I-, E-, S-, L- or U- and a type, such as B-PER"};
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const RowsFound& untagged = files_[i].untagged;
      if (untagged.count > 0 && plan_.sources[i].split != Split::test) {
        return {concat(counted(untagged.count, "sentence"),
                       " without tags, the first: ", untagged.first),
                "remove or tag them; only a file for --test may have such sentences"};
      }
      const RowsFound& unknown = files_[i].unknown;
      if (unknown.count > 0) {
        return {concat(counted(unknown.count, "sentence"), " with a tag that ",
                       plan_.sources.front().name, " lacks, the first: ", unknown.first),
                "is the column of the tags the right one? see --tag-column and --tags"};
      }
    }
    if (entities_.empty()) {
      return {"all words have the tag O",
              "there is nothing to learn; is the column of the tags "
              "the right one? see --tag-column and --tags"};
    }
    return {};
  }

 private:
  [[nodiscard]] bool is_known(const std::string& tag) const {
    return tag == "O" || tags_.contains(tag);
  }

  void count_entities(const std::vector<std::string>& tags) {
    tags_.insert(tags.begin(), tags.end());
    const EntityTags known(tags);
    std::vector<int> numbers(tags.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    for (const Entity& entity : known.entities_of(numbers)) {
      ++entities_[known.types()[static_cast<std::size_t>(entity.type)]];
    }
  }

  struct File {
    std::int64_t words = 0;
    RowsFound untagged;
    RowsFound without_beginning;
    RowsFound unknown;  // with a tag that no sentence to train on has
  };

  const Plan& plan_;
  std::vector<File> files_;
  RowsFound wordless_;
  RowsFound uneven_;
  RowsFound invalid_;
  std::set<std::string> tags_;
  std::map<std::string, std::int64_t> entities_;  // by type
};

}  // namespace

std::unique_ptr<RowCheck> make_tag_check(const Plan& plan) {
  return std::make_unique<TagCheck>(plan);
}

}  // namespace bp::trainer
