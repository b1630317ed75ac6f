#include "trainer/tasks/gap/gap_check.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
#include "trainer/data/rows_found.h"
#include "trainer/data/source_rows.h"
#include "trainer/report/shown_text.h"
#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/gap/gap_row.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kPronounField = 2;
constexpr const char* kNoAnswerHint =
    "A-coref and B-coref say the answer, TRUE or FALSE; only a file to test or to score may leave "
    "both empty";

class GapSurvey : public RowSurvey {
 public:
  explicit GapSurvey(const Plan& plan) : plan_(plan) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    int label = 0;
    try {
      label = check_gap_row(rows.fields());
    } catch (const InputError& error) {
      throw InputError(error.exit_code(), concat(rows.place(), ": ", error.what()), error.hint());
    }
    if (label >= 0 || plan_.sources[source].split == Split::test) return {};
    throw InputError(65, concat(rows.place(), ": has no answer"), kNoAnswerHint);
  }
  void end_source(std::size_t /*source*/, std::int64_t /*rows*/) override {}
  [[nodiscard]] std::vector<std::string> names() const override { return gap_answers(); }
  [[nodiscard]] std::vector<std::string> remarks() const override { return {}; }

 private:
  const Plan& plan_;
};

class GapCheck : public RowCheck {
 public:
  explicit GapCheck(const Plan& plan) : plan_(plan), files_(plan.sources.size()) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    const auto place = [&] { return rows.place(); };
    File& file = files_[source];
    try {
      const int label = check_gap_row(rows.fields());
      if (label < 0) {
        file.unanswered.add(place);
      } else {
        ++file.answers.at(static_cast<std::size_t>(label));
      }
      ++file.genders.at(static_cast<std::size_t>(gender_of(rows.fields()[kPronounField])));
    } catch (const InputError& error) {
      if (wrong_++ == 0) first_ = {concat(rows.place(), ": ", error.what()), error.hint()};
    }
    return {};
  }

  [[nodiscard]] std::vector<Line> of_source(std::size_t source) const override {
    const File& file = files_[source];
    std::vector<Line> lines;
    for (std::size_t i = 0; i < gap_answers().size(); ++i) {
      lines.emplace_back("  " + gap_answers()[i], with_commas(file.answers.at(i)));
    }
    lines.emplace_back("  without an answer", file.unanswered.text());
    lines.emplace_back("  pronouns", concat(with_commas(file.genders[1]), " masculine, ",
                                            with_commas(file.genders[2]), " feminine, ",
                                            with_commas(file.genders[0]), " others"));
    return lines;
  }
  [[nodiscard]] std::vector<Line> of_all() const override { return {}; }

  [[nodiscard]] Obstacle obstacle() const override {
    if (wrong_ > 0) {
      return {wrong_ == 1 ? first_.what
                          : concat(counted(wrong_, "row"), " are wrong, the first: ", first_.what),
              first_.hint};
    }
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const RowsFound& unanswered = files_[i].unanswered;
      if (unanswered.count == 0 || plan_.sources[i].split == Split::test) continue;
      return {concat(counted(unanswered.count, "row"),
                     " without an answer, the first: ", unanswered.first),
              kNoAnswerHint};
    }
    return {};
  }

 private:
  struct File {
    RowsFound unanswered;
    std::array<std::int64_t, 3> answers{};
    std::array<std::int64_t, 3> genders{};
  };

  const Plan& plan_;
  std::vector<File> files_;
  std::int64_t wrong_ = 0;
  Obstacle first_;
};

}  // namespace

std::unique_ptr<RowSurvey> make_gap_survey(const Plan& plan) {
  return std::make_unique<GapSurvey>(plan);
}

std::unique_ptr<RowCheck> make_gap_check(const Plan& plan) {
  return std::make_unique<GapCheck>(plan);
}

}  // namespace bp::trainer
