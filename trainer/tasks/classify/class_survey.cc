#include "trainer/tasks/classify/class_survey.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
#include "trainer/data/source_rows.h"
#include "trainer/tasks/classify/label_set.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

// Refuses a column of free text as the label: each row would be a class.
void check_labels(const SourceFile& source, std::size_t labels, std::int64_t rows) {
  constexpr std::size_t kMany = 1000;
  if (labels > kMany && 2 * static_cast<std::int64_t>(labels) > rows) {
    throw InputError(
        65, concat(source.path, " has ", labels, " different labels in ", rows, " rows"),
        concat(source.layout->answer_name(),
               " is not a label; name the right one with --label, or round labels that "
               "are numbers with --round-labels"));
  }
}

std::string remark_on_blanks(const std::vector<std::string>& labels) {
  std::map<std::string_view, const std::string*> seen;
  std::string first;
  std::int64_t pairs = 0;
  for (const std::string& label : labels) {
    const auto [other, is_new] = seen.emplace(without_blanks(label), &label);
    if (is_new) continue;
    if (pairs++ == 0) first = concat("the labels '", *other->second, "' and '", label, "'");
  }
  if (pairs == 0) return "";
  return concat(first,
                pairs == 1   ? ""
                : pairs == 2 ? " and another pair"
                             : concat(" and ", pairs - 1, " other pairs"),
                " differ only by blanks around them, and are different classes; --trim-labels "
                "--rebuild makes them one");
}

std::string remark_on_many(const SourceFile& source,
                           const std::vector<std::string>& labels,
                           std::int64_t rows) {
  constexpr std::size_t kFew = 20;
  if (labels.size() <= kFew || 2 * static_cast<std::int64_t>(labels.size()) <= rows) return "";
  const bool fractions =
      std::ranges::all_of(labels, [](const auto& l) { return written_number(l).has_value(); }) &&
      std::ranges::any_of(labels, [](const auto& l) {
        return std::trunc(*written_number(l)) != *written_number(l);
      });
  return concat(source.layout->answer_name(), " of ", source.path, " has ", labels.size(),
                fractions ? " different numbers" : " different labels", " in ", rows,
                " rows, and each is a class by itself; ",
                fractions ? "--round-labels --rebuild rounds them, " : "",
                "--label names another column");
}

class ClassSurvey : public RowSurvey {
 public:
  ClassSurvey(const Plan& plan, const ClassOptions& options)
      : plan_(plan), options_(options), names_(options.known_labels) {}

  void add(const SourceRows& rows, std::size_t source) override {
    const std::string_view written = rows.fields().back();
    const std::optional<std::string> label = formed_label(written, options_.label_form);
    if (!label) {
      throw InputError(65, concat(rows.place(), ": label '", written, "' is not a number"),
                       "--round-labels is for labels that are numbers; leave it out, or "
                       "remove the row");
    }
    const SourceFile& file = plan_.sources[source];
    if (label->empty() && file.split == Split::test) return;
    if (label->empty()) {
      throw InputError(
          65, concat(rows.place(), ": has no label"),
          concat(file.layout->answer_name(), " is empty there; remove the row or label it"));
    }
    if (file.split == Split::train) {
      labels_.add(*label);
    } else if (std::ranges::find(names_, *label) == names_.end()) {
      refuse_unknown(rows, *label);
    }
  }

  void end_source(std::size_t source, std::int64_t rows) override {
    const SourceFile& file = plan_.sources[source];
    if (file.split != Split::train) return;
    names_ = labels_.sorted();
    check_labels(file, names_.size(), rows);
    rows_ = rows;
  }

  [[nodiscard]] std::vector<std::string> names() const override { return names_; }

  [[nodiscard]] std::vector<std::string> remarks() const override {
    if (plan_.sources.front().split != Split::train) return {};
    std::vector<std::string> remarks = {remark_on_blanks(names_),
                                        remark_on_many(plan_.sources.front(), names_, rows_)};
    std::erase(remarks, "");
    return remarks;
  }

 private:
  [[noreturn]] void refuse_unknown(const SourceRows& rows, const std::string& label) const {
    const std::string nearest = nearest_name(label, names_);
    throw InputError(
        65,
        concat(rows.place(), ": label '", label, "' is not among those ",
               options_.known_labels.empty() ? "in " + plan_.sources[0].path : "of the model", ": ",
               shown_labels(names_)),
        nearest.empty() ? "is --label the right column, and has the file a header? see --header"
                        : concat("did you mean '", nearest, "'?"));
  }

  const Plan& plan_;
  const ClassOptions& options_;
  LabelSet labels_;
  std::vector<std::string> names_;
  std::int64_t rows_ = 0;  // to train on
};

}  // namespace

std::unique_ptr<RowSurvey> make_class_survey(const Plan& plan, const ClassOptions& options) {
  return std::make_unique<ClassSurvey>(plan, options);
}

}  // namespace bp::trainer
