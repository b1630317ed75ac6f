#include "trainer/tasks/classify/class_survey.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
#include "trainer/data/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/label_naming.h"
#include "trainer/tasks/classify/label_separators.h"
#include "trainer/tasks/classify/label_set.h"
#include "trainer/tasks/classify/row_labels.h"
#include "trainer/tasks/classify/token_rows.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

// Returns what holds the labels.
std::string answer_name(const std::optional<TableLayout>& layout) {
  return layout ? layout->answer_name() : "the label";
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

std::string remark_on_many(const SourceFiles& source,
                           const std::vector<std::string>& labels,
                           std::int64_t rows) {
  constexpr std::size_t kFew = 20;
  if (labels.size() <= kFew || 2 * static_cast<std::int64_t>(labels.size()) <= rows) return "";
  const bool fractions =
      std::ranges::all_of(labels, [](const auto& l) { return written_number(l).has_value(); }) &&
      std::ranges::any_of(labels, [](const auto& l) {
        return std::trunc(*written_number(l)) != *written_number(l);
      });
  return concat(answer_name(source.layout()), " of ", source.name, " has ", labels.size(),
                fractions ? " different numbers" : " different labels", " in ", rows,
                " rows, and each is a class by itself; ",
                fractions ? "--round-labels --rebuild rounds them, " : "",
                "--label names another column");
}

class ClassSurvey : public RowSurvey {
 public:
  ClassSurvey(const Plan& plan, const ClassOptions& options)
      : plan_(plan),
        options_(options),
        naming_(options, plan.options.encoding),
        row_(options, naming_) {
    set_names(naming_.classes());
  }

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    if (is_unnamed(rows.fields())) return without_name(rows);
    if (!row_.read(rows.fields().back())) return without_number(rows, row_.refused());
    const SourceFiles& file = plan_.sources[source];
    const std::size_t labels = row_.names().size();
    if (labels == 0 && !options_.multi_label) require_test(rows, file);
    labelled_ = labelled_ || labels > 0;
    several_ = several_ || labels > 1;
    for (const std::string& label : row_.names()) {
      if (file.split == Split::train && !given()) {
        labels_.add(label);
      } else if (const auto found = numbers_.find(label); found != numbers_.end()) {
        occurs_[found->second] = true;
      } else {
        return without_class(rows, label);
      }
    }
    ++kept_;
    return {.stratum = row_.stratum()};
  }

  void end_source(std::size_t source, std::int64_t rows) override {
    const SourceFiles& file = plan_.sources[source];
    if (file.split == Split::train && !given()) {
      set_names(labels_.sorted());
      if (const Obstacle free_text = too_many_labels(file, names_.size(), rows);
          !free_text.what.empty()) {
        throw InputError(65, free_text.what, free_text.hint);
      }
      rows_ = rows;
    }
    const bool labelled = std::exchange(labelled_, false);
    if (options_.multi_label && !labelled && file.split != Split::test) refuse_unlabelled(file);
    if (std::exchange(kept_, 0) > 0) return;
    throw InputError(65,
                     concat("no row of ", file.name, " has one of the labels ", origin(), ": ",
                            shown_labels(names_)),
                     "--unknown-labels skip left all rows out; is --label the right column?");
  }

  [[nodiscard]] std::vector<std::string> names() const override { return names_; }

  [[nodiscard]] std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = {remark_on_skipped()};
    if (plan_.sources.front().split == Split::train) {
      if (given()) {
        remarks.push_back(remark_on_absent());
      } else {
        remarks.push_back(remark_on_blanks(names_));
        remarks.push_back(remark_on_many(plan_.sources.front(), names_, rows_));
      }
      remarks.push_back(options_.multi_label ? several_ ? "" : remark_on_single(names_)
                                             : remark_on_joined(names_));
    }
    std::erase(remarks, "");
    return remarks;
  }

 private:
  // Returns whether the labels are known before the rows are read.
  [[nodiscard]] bool given() const { return !naming_.classes().empty(); }
  [[nodiscard]] std::string origin() const {
    return given() ? naming_.origin() : "in " + plan_.sources[0].name;
  }

  void set_names(std::vector<std::string> names) {
    names_ = std::move(names);
    for (std::size_t i = 0; i < names_.size(); ++i) numbers_.emplace(names_[i], i);
    occurs_.resize(names_.size());
  }

  static void require_test(const SourceRows& rows, const SourceFiles& file) {
    if (file.split == Split::test) return;
    throw InputError(
        65, concat(rows.place(), ": has no label"),
        concat(answer_name(rows.layout()), " is empty there; remove the row or label it"));
  }

  RowVerdict without_name(const SourceRows& rows) {
    const std::string_view code = rows.fields()[kLabelCodeField];
    if (options_.skip_unknown) return skip(rows, code);
    throw InputError(65, concat(rows.place(), ": the table LabelEncodings has no label ", code),
                     "--unknown-labels skip leaves such rows out");
  }

  [[noreturn]] static void refuse_unlabelled(const SourceFiles& file) {
    throw InputError(65, concat("no row of ", file.name, " has a label"),
                     concat(answer_name(file.layout()), " is empty in all of them; is --label ",
                            "the right column?"));
  }

  RowVerdict without_number(const SourceRows& rows, std::string_view written) {
    if (options_.skip_unknown) return skip(rows, written);
    throw InputError(65, concat(rows.place(), ": label '", written, "' is not a number"),
                     "--round-labels is for labels that are numbers; leave it out, or "
                     "remove the row");
  }

  RowVerdict without_class(const SourceRows& rows, const std::string& label) {
    if (options_.skip_unknown) return skip(rows, label);
    throw InputError(65,
                     concat(rows.place(), ": label '", label, "' is not among those ", origin(),
                            ": ", shown_labels(names_)),
                     hint_for(label));
  }

  [[nodiscard]] std::string hint_for(const std::string& label) const {
    constexpr std::size_t kShortest = 3;  // any two shorter labels are near each other
    const std::string nearest = nearest_name(label, names_);
    if (!nearest.empty() && label.size() >= kShortest) {
      return concat("did you mean '", nearest,
                    "'? --label-map gives labels the names of classes, --unknown-labels skip "
                    "leaves such rows out");
    }
    return concat("is --label the right column, and has the file a header? see --header; ",
                  "--unknown-labels skip leaves such rows out");
  }

  RowVerdict skip(const SourceRows& rows, std::string_view label) {
    if (skipped_++ == 0) first_skipped_ = concat(rows.place(), ", label '", label, "'");
    return {.kept = false};
  }

  [[nodiscard]] std::string remark_on_skipped() const {
    if (skipped_ == 0) return "";
    return concat("--unknown-labels skip leaves out ", counted(skipped_, "row"),
                  " with other labels than those ", origin(), ", the first: ", first_skipped_);
  }

  [[nodiscard]] std::string remark_on_absent() const {
    std::vector<std::string> absent;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (!occurs_[i]) absent.push_back(names_[i]);
    }
    if (absent.empty()) return "";
    return concat("no row has the label", absent.size() == 1 ? " " : "s ", shown_labels(absent),
                  ", which the model will not learn");
  }

  const Plan& plan_;
  const ClassOptions& options_;
  LabelNaming naming_;
  LabelSet labels_;  // of the rows to train on, unless they are given
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> numbers_;  // of the names
  std::vector<bool> occurs_;                              // of the names
  RowLabels row_;                                         // of the current row
  bool labelled_ = false;                                 // a row of the current source has one
  bool several_ = false;                                  // some row has several
  std::int64_t rows_ = 0;                                 // to train on
  std::int64_t kept_ = 0;                                 // rows of the current source
  std::int64_t skipped_ = 0;
  std::string first_skipped_;
};

}  // namespace

Obstacle too_many_labels(const SourceFiles& source, std::size_t labels, std::int64_t rows) {
  constexpr std::size_t kMany = 1000;
  if (labels <= kMany || 2 * static_cast<std::int64_t>(labels) <= rows) return {};
  return {concat(source.name, " has ", labels, " different labels in ", rows, " rows"),
          concat(answer_name(source.layout()),
                 " is not a label; name the right one with --label, or round labels that are "
                 "numbers with --round-labels")};
}

std::unique_ptr<RowSurvey> make_class_survey(const Plan& plan, const ClassOptions& options) {
  return std::make_unique<ClassSurvey>(plan, options);
}

}  // namespace bp::trainer
