#include "trainer/tasks/regress/regress_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/prepare/token_windows.h"
#include "trainer/report/csv_rows.h"
#include "trainer/report/error_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/regress/regress_scores.h"
#include "trainer/tasks/regress/target_scale.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

// Notices targets that may have marks between thousands: "1,234" is 1.234, unless all such numbers
// look so. A file with semicolons has decimal commas, hence points between thousands.
class ThousandsMarks {
 public:
  void add(std::string_view written, const std::optional<TableLayout>& layout) {
    mark_ = layout && layout->format.separator == ';' ? '.' : ',';
    written = without_blanks(written);
    if (written.find(mark_) == std::string_view::npos) return;
    const bool fits = has_thousands(written);
    if (fits && first_.empty()) first_ = written;
    every_ = every_ && fits;
  }
  [[nodiscard]] std::string remark() const {
    if (first_.empty() || !every_) return "";
    return concat("targets such as '", first_, "' are read as ", brief(*written_number(first_)),
                  "; if the ", mark_ == ',' ? "comma" : "point",
                  " is between thousands, remove it from the file");
  }

 private:
  // 1 to 3 digits, the first of which is not 0, the mark, and 3 digits.
  [[nodiscard]] bool has_thousands(std::string_view number) const {
    if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
    const std::size_t at = number.find(mark_);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return at >= 1 && at <= 3 && number.size() == at + 4 && number.front() != '0' &&
           std::ranges::all_of(number.substr(0, at), is_digit) &&
           std::ranges::all_of(number.substr(at + 1), is_digit);
  }

  char mark_ = ',';
  bool every_ = true;
  std::string first_;
};

// Refuses a target that is not a number, and a row without one, except in a test file.
class RegressFinder : public RowFinder {
 public:
  RegressFinder(const Plan& plan, Findings& found) : plan_(plan), found_(found) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const std::string_view written = rows.fields().back();
    const std::optional<double> target = written_number(written);
    if (without_blanks(written).empty()) {
      found_.add(source, rows,
                 {.kind = kMissing,
                  .text = "has no target",
                  .hint = concat(rows.layout()->answer_name(),
                                 " is empty there; remove the row or give its number"),
                  .fatal = plan_.sources[source].split != Split::test});
    } else if (!target) {
      found_.add(source, rows,
                 {.kind = kWrong,
                  .text = concat("target '", written, "' is not a number"),
                  .hint = concat("is ", rows.layout()->answer_name(),
                                 " the right one? --target names another; --task classify learns "
                                 "labels"),
                  .rows = "row with a target that is not a number"});
    } else if (source == 0) {
      marks_.add(written, rows.layout());
      if (plan_.sources[source].split == Split::train) moments_.add(*target);
      least_ = std::min(least_, *target);
      most_ = std::max(most_, *target);
      if (found_.lists()) targets_.push_back(*target);
    }
    return {};
  }

  void end_source(std::size_t source, std::int64_t /*rows*/) override {
    const SourceFiles& file = plan_.sources[source];
    if (file.split != Split::train || least_ != most_) return;
    found_.add(source, {.text = concat("all targets of ", file.name, " are ", brief(least_)),
                        .hint = "there is nothing to learn; is --target the right column?"});
  }

  [[nodiscard]] std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = {marks_.remark()};
    if (const std::string scale = text_of(moments_.scale()); !scale.empty()) {
      remarks.push_back(concat("the targets are ", scale,
                               "; the loss of training is of such numbers, predictions and scores "
                               "are of the targets"));
    }
    std::erase(remarks, "");
    return remarks;
  }

  // The scale of the targets.
  [[nodiscard]] std::vector<std::string> names() const override {
    return names_of(moments_.scale());
  }

  [[nodiscard]] std::vector<Findings::Line> of_source(std::size_t source) const override {
    return {found_.line(source, kMissing), found_.line(source, kWrong)};
  }

  [[nodiscard]] std::vector<Findings::Line> of_all() const override {
    if (targets_.empty()) return {};
    std::vector<double> sorted = targets_;
    std::ranges::sort(sorted);
    const auto at = [&](double share) {
      return brief(
          sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))]);
    };
    return {{"targets", concat(at(0), " to ", at(1))},
            {"  half of them", concat("between ", at(0.25), " and ", at(0.75))},
            {"  median", at(0.5)}};
  }

 private:
  static constexpr const char* kMissing = "without a target";
  static constexpr const char* kWrong = "target is not a number";

  const Plan& plan_;
  Findings& found_;
  // Of the first source.
  ThousandsMarks marks_;
  TargetMoments moments_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = -std::numeric_limits<double>::infinity();
  std::vector<double> targets_;
};

// Gives each window of a text the target of its row.
class RegressMaker : public SampleMaker {
 public:
  RegressMaker(const PrepareOptions& prepare, const RegressOptions& options, Tokenizer tokenizer)
      : options_(options), windows_(prepare, std::move(tokenizer)) {}

  void make(Fields fields, const SampleSink& sink) override {
    const std::optional<double> target = written_number(fields.back());
    const ArrayView arrays[] = {target.value_or(0.0), std::int64_t{target ? 1 : 0}};
    options_.texts.make(fields, arrays, windows_, sink);
  }

 private:
  const RegressOptions& options_;
  TokenWindows windows_;
};

// See TaskInput::score().
std::optional<ScoredFile> score_numbers(const FileToScore& file, CsvRows& rows) {
  const std::size_t columns = rows.fields().size();
  const std::size_t target = column_of(rows.fields(), "target");
  const std::size_t prediction = column_of(rows.fields(), "prediction");
  const std::size_t sample_id = column_of(rows.fields(), "sample_id");
  const std::size_t text_id = column_of(rows.fields(), "text_id");
  for (const std::size_t column : {target, prediction, sample_id, text_id}) {
    if (column == columns) return std::nullopt;
  }
  std::vector<double> targets;
  std::vector<double> predictions;
  std::vector<ScoredNumber> scored;
  while (rows.next()) {
    const std::string& written = rows.fields()[target];
    if (written.empty()) continue;
    const std::optional<double> x = number_of(written);
    const std::optional<double> y = number_of(rows.fields()[prediction]);
    if (!x || !y) rows.refuse("its target or its prediction is not a number");
    targets.push_back(*x);
    predictions.push_back(*y);
    scored.push_back({rows.id(sample_id), rows.id(text_id), *x, *y});
  }
  if (targets.empty()) return ScoredFile();
  const RegressScores scores = regress_scores(targets, predictions);
  ErrorRows errors = error_rows(file.name, std::move(scored));
  for (ErrorRow& row : errors.rows) row.text = file.text_of(row.sample_id, row.text_id);
  return ScoredFile{summary_of(scores),
                    {regress_line(file.name, scores)},
                    error_lines(errors),
                    {error_section(errors)}};
}

class RegressInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    options_.texts.add_options(set);
    add_answer_option(set, options_.answer_per);
    set.text({"target", "Column or JSON key of the number to predict", "", "COLUMN"},
             options_.target_column);
  }
  [[nodiscard]] std::optional<ScoredFile> score(const FileToScore& file,
                                                CsvRows& rows) const override {
    return score_numbers(file, rows);
  }

  [[nodiscard]] std::string name() const override { return "regress"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields = options_.texts.fields();
    fields.push_back({"target", options_.target_column, true});
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    SampleSchema schema = {{.name = "target", .element = Element::real}, {.name = "has_target"}};
    options_.texts.add_to(schema);
    return schema;
  }
  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override {
    return options_.texts.text(fields, buffer);
  }

  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override {
    return std::make_unique<RegressFinder>(plan, found);
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& /*names*/,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<RegressMaker>(prepare, options_, std::move(tokenizer));
  }

  [[nodiscard]] const RegressOptions& options() const { return options_; }

 private:
  RegressOptions options_;
};

}  // namespace

const RegressOptions& regress_options(const TaskInput& input) {
  return dynamic_cast<const RegressInput&>(input).options();
}

std::shared_ptr<TaskInput> make_regress_input() { return std::make_shared<RegressInput>(); }

}  // namespace bp::trainer
