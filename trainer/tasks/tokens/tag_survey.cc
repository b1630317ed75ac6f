#include "trainer/tasks/tokens/tag_survey.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/source_rows.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/tokens/word_list.h"

namespace bp::trainer {
namespace {

class TagSurvey : public RowSurvey {
 public:
  TagSurvey(const Plan& plan, const TokenOptions& options)
      : plan_(plan), options_(options), names_(options.known_tags) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const SourceFiles& file = plan_.sources[source];
    const std::vector<std::string> tags = split_words(rows.fields()[kTagsField]);
    require_tags(rows, tags, file);
    for (const std::string& tag : tags) {
      if (file.split == Split::train) {
        add(rows, tag);
      } else if (std::ranges::find(names_, tag) == names_.end()) {
        refuse_unknown(rows, tag);
      }
    }
    return {};
  }

  void end_source(std::size_t source, std::int64_t /*rows*/) override {
    if (plan_.sources[source].split != Split::train) return;
    names_.assign(1, "O");
    for (const auto& [type, tag] : tags_) names_.push_back(tag);
  }

  [[nodiscard]] std::vector<std::string> names() const override { return names_; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return {}; }

 private:
  static void require_tags(const SourceRows& rows,
                           const std::vector<std::string>& tags,
                           const SourceFiles& file) {
    const std::size_t words = split_words(rows.fields()[kWordsField]).size();
    if (words == 0) throw InputError(65, concat(rows.place(), ": has no words"), "remove the row");
    if (tags.empty() && file.split == Split::test) return;
    if (tags.empty()) {
      throw InputError(65, concat(rows.place(), ": has no tags"),
                       "tag the sentence; only sentences to test or to score may lack tags");
    }
    if (tags.size() == words) return;
    throw InputError(65, concat(rows.place(), ": has ", words, " words and ", tags.size(), " tags"),
                     "blanks separate words, and tags; each word needs one tag");
  }

  void add(const SourceRows& rows, const std::string& tag) {
    if (tag == "O") return;
    if (!is_entity_tag(tag)) {
      throw InputError(65, concat(rows.place(), ": '", tag, "' is no tag"),
                       "a tag is O, or B-, I-, E-, S-, L- or U- and a type, such as B-PER");
    }
    tags_.emplace(tag.substr(2), tag);
  }

  [[noreturn]] void refuse_unknown(const SourceRows& rows, const std::string& tag) const {
    const std::string nearest = nearest_name(tag, names_);
    throw InputError(
        65,
        concat(rows.place(), ": tag '", tag, "' is not among those ",
               options_.known_tags.empty() ? "in " + plan_.sources[0].name : "of the model", ": ",
               shown_labels(names_)),
        nearest.empty() ? "is the column of the tags the right one? see --tag-column and --tags"
                        : concat("did you mean '", nearest, "'?"));
  }

  const Plan& plan_;
  const TokenOptions& options_;
  std::set<std::pair<std::string, std::string>> tags_;  // type and tag
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<RowSurvey> make_tag_survey(const Plan& plan, const TokenOptions& options) {
  return std::make_unique<TagSurvey>(plan, options);
}

}  // namespace bp::trainer
