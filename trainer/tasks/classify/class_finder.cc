#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/classify/class_input.h"
#include "trainer/tasks/classify/label_naming.h"
#include "trainer/tasks/classify/label_remarks.h"
#include "trainer/tasks/classify/token_rows.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

constexpr const char* kSkipHint = "--unknown-labels skip leaves such rows out";

// Returns what holds the labels.
std::string answer_name(const std::optional<TableLayout>& layout) {
  return layout ? layout->answer_name() : "the label";
}

// The labels sorted by value if all of them are numbers, else by bytes.
std::vector<std::string> in_order(std::vector<std::string> labels) {
  std::ranges::sort(labels);
  if (std::ranges::all_of(labels, [](const auto& l) { return number_of(l).has_value(); })) {
    std::ranges::stable_sort(labels, {},
                             [](const std::string& label) { return *number_of(label); });
  }
  return labels;
}

class ClassFinder : public RowFinder {
 public:
  ClassFinder(const Plan& plan, const ClassOptions& options, Findings& found)
      : plan_(plan),
        options_(options),
        found_(found),
        naming_(options, plan.options.encoding),
        row_(options, naming_),
        names_(naming_.classes()) {
    for (const std::string& name : names_) labels_.emplace(name, Uses());
  }

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    if (is_unnamed(rows.fields())) return without_name(rows, source);
    if (!row_.read(rows.fields().back())) return without_number(rows, source);
    if (row_.names().empty()) report_unlabelled(rows, source);
    if (rows_seen_++ == 0 && row_.names().size() == 1) first_label_ = row_.names().front();
    labelled_ = labelled_ || !row_.names().empty();
    for (const std::string& label : row_.names()) {
      if (learns(source)) {
        learn(label);
      } else if (!labels_.contains(label)) {
        return without_class(rows, source, label);
      }
    }
    count_labels(source);
    ++kept_;
    return {.stratum = row_.stratum()};
  }

  void end_source(std::size_t source, std::int64_t rows) override {
    const SourceFiles& file = plan_.sources[source];
    if (learns(source)) {
      names_.clear();
      for (const auto& [label, uses] : labels_) names_.push_back(label);
      names_ = in_order(std::move(names_));
      refuse_many(source, rows);
    }
    if (source == 0) {
      rows_ = rows;
      kept_of_first_ = kept_;
    }
    const bool labelled = std::exchange(labelled_, false);
    const bool kept = std::exchange(kept_, 0) > 0;
    if (options_.multi_label && !labelled && file.split != Split::test) {
      found_.add(source, {.text = concat("no row of ", file.name, " has a label"),
                          .hint = concat(answer_name(file.layout()), " is empty in all of them; ",
                                         "is --label the right column?")});
    }
    if (kept || !options_.skip_unknown) return;
    found_.add(source, {.text = concat("no row of ", file.name, " has one of the labels ", origin(),
                                       ": ", shown_labels(names_)),
                        .hint = "--unknown-labels skip left all rows out; is --label the right "
                                "column?"});
  }

  [[nodiscard]] std::vector<std::string> names() const override { return names_; }

  [[nodiscard]] std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = {remark_on_skipped()};
    if (plan_.sources.front().split == Split::train) {
      if (given()) {
        remarks.push_back(remark_on_absent());
      } else {
        for (std::string& remark : remarks_on_alike(names_)) remarks.push_back(std::move(remark));
        remarks.push_back(remark_on_missing(names_));
        remarks.push_back(remark_on_first_row());
        const SourceFiles& source = plan_.sources.front();
        remarks.push_back(remark_on_many(
            names_, {.answers = concat(answer_name(source.layout()), " of ", source.name),
                     .rows = rows_,
                     .uses = uses_}));
      }
      remarks.push_back(!options_.multi_label ? remark_on_joined(names_)
                        : several_            ? ""
                                              : remark_on_single(names_));
    }
    std::erase(remarks, "");
    return remarks;
  }

  [[nodiscard]] std::vector<Findings::Line> of_source(std::size_t source) const override {
    std::vector<Findings::Line> lines = {found_.line(source, kUnlabelled)};
    if (source > 0 || given()) {
      lines.push_back(found_.line(source, kOther));
      if (options_.skip_unknown) lines.back().second += "; left out";
    }
    return lines;
  }

  [[nodiscard]] std::vector<Findings::Line> of_all() const override {
    constexpr std::size_t kMostShown = 20;
    constexpr std::size_t kLongest = 20;
    std::vector<std::pair<std::int64_t, std::string>> labels;  // the most frequent first
    std::int64_t all = 0;
    for (const auto& [label, uses] : labels_) {
      labels.emplace_back(-uses.trained, label);
      all += uses.trained;
    }
    std::ranges::sort(labels);
    const std::int64_t rows = options_.multi_label ? kept_of_first_ : all;
    const auto result = [&](std::int64_t count) {
      return concat(counted(count, "row"), ", ", percent_text(count, rows));
    };
    std::vector<Findings::Line> lines = {
        {"labels", with_commas(static_cast<std::int64_t>(labels.size()))}};
    if (options_.multi_label) lines.emplace_back("labels of a row", labels_of_a_row(all, rows));
    std::int64_t left = all;
    for (std::size_t i = 0; i < std::min(kMostShown, labels.size()); ++i) {
      const std::int64_t count = -labels[i].first;
      lines.emplace_back("  " + shortened(repaired_utf8(labels[i].second), kLongest),
                         result(count));
      left -= count;
    }
    if (labels.size() > kMostShown) {
      // One row may have several of them.
      lines.emplace_back("  others",
                         options_.multi_label ? concat(with_commas(left), " times") : result(left));
    }
    return lines;
  }

 private:
  static constexpr const char* kUnlabelled = "without a label";
  static constexpr const char* kOther = "with another label";  // than the classes

  struct Uses {
    bool occurs = false;
    std::int64_t trained = 0;  // rows of the first source that have the label
  };

  // Returns whether the labels are known before the rows are read.
  [[nodiscard]] bool given() const { return !naming_.classes().empty(); }
  // Returns whether the labels of this source are the classes.
  [[nodiscard]] bool learns(std::size_t source) const {
    return !given() && plan_.sources[source].split == Split::train;
  }
  [[nodiscard]] std::string origin() const {
    return given() ? naming_.origin() : "in " + plan_.sources[0].name;
  }

  // A header with a long name looks like a row.
  [[nodiscard]] std::string remark_on_first_row() const {
    const std::optional<TableLayout>& layout = plan_.sources.front().layout();
    const bool chosen = layout && layout->format.text != TextFormat::jsonl && !layout->header &&
                        plan_.options.header == HeaderMode::automatic;
    const auto is_single = [](const auto& label) { return label.second.trained == 1; };
    const auto first = labels_.find(first_label_);
    if (!chosen || first == labels_.end() || !is_single(*first) || labels_.size() < 3 ||
        std::ranges::count_if(labels_, is_single) > 1) {
      return "";
    }
    return concat("only row 1 has the label '", first_label_,
                  "'; if the first line names the columns, --header yes --rebuild leaves it out");
  }

  // A free text taken for the label would fill the memory, so the others are not known by name. No
  // model has as many.
  void learn(const std::string& label) {
    constexpr std::size_t kMostLabels = 1'000'000;
    if (labels_.size() < kMostLabels) labels_.try_emplace(label);
  }

  // Of the current row.
  void count_labels(std::size_t source) {
    for (const std::string& label : row_.names()) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) continue;
      found->second.occurs = true;
      if (source == 0) ++found->second.trained;
    }
    if (source == 0) uses_ += std::ssize(row_.names());
    several_ = several_ || row_.names().size() > 1;
    if (source == 0) most_in_row_ = std::max(most_in_row_, row_.names().size());
  }

  void report_unlabelled(const SourceRows& rows, std::size_t source) {
    const bool fatal = !options_.multi_label && plan_.sources[source].split != Split::test;
    found_.add(source, rows,
               {.kind = kUnlabelled,
                .text = "has no label",
                .hint = answer_name(rows.layout()) + " is empty there; remove the row or label it",
                .fatal = fatal});
  }

  RowVerdict without_name(const SourceRows& rows, std::size_t source) {
    const std::string_view code = rows.fields()[kLabelCodeField];
    if (options_.skip_unknown) return skip(rows, source, code);
    found_.add(source, rows,
               {.kind = "with a label that the table LabelEncodings lacks",
                .text = concat("the table LabelEncodings has no label ", code),
                .hint = kSkipHint});
    return {};
  }

  RowVerdict without_number(const SourceRows& rows, std::size_t source) {
    const std::string_view written = row_.refused();
    if (options_.skip_unknown) return skip(rows, source, written);
    found_.add(source, rows,
               {.kind = "with a label that is not a number",
                .text = concat("label '", written, "' is not a number"),
                .hint = "--round-labels is for labels that are numbers; leave it out, or remove "
                        "the row"});
    return {};
  }

  RowVerdict without_class(const SourceRows& rows, std::size_t source, const std::string& label) {
    if (options_.skip_unknown) return skip(rows, source, label);
    found_.add(source, rows,
               {.kind = kOther,
                .text = concat("label '", label, "' is not among those ", origin(), ": ",
                               shown_labels(names_)),
                .hint = hint_for(label),
                .rows = concat("row with a label that ",
                               given() ? "is none of those " + naming_.origin()
                                       : plan_.sources.front().name + " lacks")});
    return {};
  }

  RowVerdict skip(const SourceRows& rows, std::size_t source, std::string_view label) {
    found_.add(
        source, rows,
        {.kind = kOther, .text = std::string("label '").append(label).append("'"), .fatal = false});
    return {.kept = false};
  }

  [[nodiscard]] std::string hint_for(const std::string& label) const {
    constexpr std::size_t kShortest = 3;  // any two shorter labels are near each other
    const std::string nearest = nearest_name(label, names_);
    if (!nearest.empty() && label.size() >= kShortest) {
      return concat("did you mean '", nearest, "'? --label-map gives labels the names of classes, ",
                    kSkipHint);
    }
    return concat("is --label the right column, and has the file a header? see --header; ",
                  kSkipHint);
  }

  // Takes a column of free text, of which each row would be a class, for no labels.
  void refuse_many(std::size_t source, std::int64_t rows) {
    constexpr std::size_t kMany = 1000;
    if (names_.size() <= kMany || 2 * std::ssize(names_) <= uses_) return;
    const SourceFiles& file = plan_.sources[source];
    found_.add(
        source,
        {.text = concat(file.name, " has ", names_.size(), " different labels in ", rows, " rows"),
         .hint = concat(answer_name(file.layout()),
                        options_.multi_label
                            ? " may have something else between its labels: --label-separator; "
                              "else"
                            : " is not a label, or labels that are numbers need --round-labels;",
                        " name the right one with --label, or list the labels with --label-map "
                        "FILE")});
  }

  [[nodiscard]] std::string remark_on_skipped() const {
    const RowsFound* first = nullptr;
    std::string label;
    std::int64_t skipped = 0;
    for (const Findings::Found& found : found_.all()) {
      if (found.first.kind != kOther) continue;
      skipped += found.rows.count;
      if (first == nullptr) {
        first = &found.rows;
        label = found.first.text;
      }
    }
    if (first == nullptr) return "";
    return concat("--unknown-labels skip leaves out ", counted(skipped, "row"),
                  " with other labels than those ", origin(), ", the first: ", first->first, ", ",
                  label);
  }

  [[nodiscard]] std::string remark_on_absent() const {
    std::vector<std::string> absent;
    for (const std::string& name : names_) {
      if (!labels_.at(name).occurs) absent.push_back(name);
    }
    if (absent.empty()) return "";
    return concat("no row has the label", absent.size() == 1 ? " " : "s ", shown_labels(absent),
                  ", which the model will not learn");
  }

  [[nodiscard]] std::string labels_of_a_row(std::int64_t labels, std::int64_t rows) const {
    const double mean = rows == 0 ? 0 : static_cast<double>(labels) / static_cast<double>(rows);
    return concat(fixed(mean, 2), " on average, ", most_in_row_, " at most");
  }

  const Plan& plan_;
  const ClassOptions& options_;
  Findings& found_;
  LabelNaming naming_;
  RowLabels row_;  // of the current row
  std::vector<std::string> names_;
  std::unordered_map<std::string, Uses> labels_;
  bool labelled_ = false;  // a row of the current source has one
  bool several_ = false;   // some row has several
  std::int64_t kept_ = 0;  // rows of the current source
  std::int64_t rows_seen_ = 0;
  std::string first_label_;         // of the first row of all; empty if it has none or several
  std::int64_t rows_ = 0;           // of the first source
  std::int64_t uses_ = 0;           // labels of all rows of the first source, added up
  std::int64_t kept_of_first_ = 0;  // rows of the first source
  std::size_t most_in_row_ = 0;     // of the first source
};

}  // namespace

std::unique_ptr<RowFinder> make_class_finder(const Plan& plan,
                                             const ClassOptions& options,
                                             Findings& found) {
  return std::make_unique<ClassFinder>(plan, options, found);
}

}  // namespace bp::trainer
