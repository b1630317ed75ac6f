#include "trainer/tasks/gap/gap_input.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/source_rows.h"
#include "trainer/store/sample_schema.h"
#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/gap/gap_row.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kTextField = 1;
constexpr std::size_t kPronounField = 2;

// Refuses a row whose mentions or answer are wrong, and one without an answer, except in a test
// file.
class GapFinder : public RowFinder {
 public:
  GapFinder(const Plan& plan, Findings& found)
      : plan_(plan), found_(found), counts_(plan.sources.size()) {}

  [[nodiscard]] RowVerdict add(const SourceRows& rows, std::size_t source) override {
    int label = 0;
    try {
      label = check_gap_row(rows.fields());
    } catch (const InputError& error) {
      found_.add(source, rows,
                 {.kind = "with a wrong value",
                  .text = error.what(),
                  .hint = error.hint(),
                  .explains = true});
      return {};
    }
    Counts& counts = counts_[source];
    ++counts.genders.at(static_cast<std::size_t>(gender_of(rows.fields()[kPronounField])));
    if (label >= 0) {
      ++counts.answers.at(static_cast<std::size_t>(label));
      return {};
    }
    found_.add(source, rows,
               {.kind = kUnanswered,
                .text = "has no answer",
                .hint = "A-coref and B-coref say the answer, TRUE or FALSE; only a file to test or "
                        "to score may leave both empty",
                .fatal = plan_.sources[source].split != Split::test});
    return {};
  }

  [[nodiscard]] std::vector<std::string> names() const override { return gap_answers(); }

  [[nodiscard]] std::vector<Findings::Line> of_source(std::size_t source) const override {
    const Counts& counts = counts_[source];
    std::vector<Findings::Line> lines;
    for (std::size_t i = 0; i < gap_answers().size(); ++i) {
      lines.emplace_back("  " + gap_answers()[i], with_commas(counts.answers.at(i)));
    }
    lines.push_back(found_.line(source, kUnanswered));
    lines.emplace_back("  pronouns", concat(with_commas(counts.genders[1]), " masculine, ",
                                            with_commas(counts.genders[2]), " feminine, ",
                                            with_commas(counts.genders[0]), " others"));
    return lines;
  }

 private:
  static constexpr const char* kUnanswered = "without an answer";
  struct Counts {
    std::array<std::int64_t, 3> answers{};
    std::array<std::int64_t, 3> genders{};
  };

  const Plan& plan_;
  Findings& found_;
  std::vector<Counts> counts_;
};

class GapMaker : public SampleMaker {
 public:
  GapMaker(int max_length, bool types, Tokenizer tokenizer)
      : max_length_(static_cast<std::size_t>(max_length)),
        types_(types),
        tokenizer_(std::move(tokenizer)) {}

  void make(Fields fields, const SampleSink& sink) override {
    const GapSample sample = make_gap_sample(fields, max_length_, tokenizer_);
    const std::vector<std::int32_t> positions(sample.positions.begin(), sample.positions.end());
    std::vector<std::int32_t> id;
    for (const char byte : fields.front()) id.push_back(static_cast<unsigned char>(byte));
    const std::vector<std::int32_t> token_types = gap_token_types(sample);
    const ArrayView arrays[] = {
        std::int64_t{sample.label}, static_cast<std::int64_t>(sample.gender),
        std::span<const std::int32_t>(positions), std::span<const std::int32_t>(id),
        std::span<const std::int32_t>(token_types)};
    sink(sample.ids, std::span(arrays).first(types_ ? std::size(arrays) : kGapId + 1));
  }

 private:
  std::size_t max_length_;
  bool types_;
  Tokenizer tokenizer_;
};

class GapInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    set.choice<GapHeadKind>({"gap-head",
                             "Head over the states of pronoun, A and B: a linear layer over all, "
                             "products, or a linear layer over [CLS] with marked mentions"},
                            head_, gap_head_names());
  }
  std::vector<std::string> score_by(const EncoderSpec& config) override {
    head_ = gap_head_of(config).value_or(head_);
    return gap_answers();
  }
  // A row is never cut.
  [[nodiscard]] int usual_length() const override {
    constexpr int kLongest = 512;
    return kLongest;
  }

  [[nodiscard]] std::string name() const override { return "gap"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields;
    for (const std::string_view column : kGapColumns) {
      const std::string name(column);
      fields.push_back(
          {.name = name, .column = name, .answer = name.ends_with("-coref"), .fixed = true});
    }
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    SampleSchema schema = {{.name = "label", .padding = -1, .named = true},
                           {.name = "gender"},
                           {.name = "positions", .shape = Shape::ragged, .places = true},
                           {.name = "id", .shape = Shape::ragged}};
    if (head_ == GapHeadKind::segment) {
      schema.push_back({.name = std::string(kTokenTypes), .shape = Shape::per_token});
    }
    return schema;
  }
  // Two heads without token types can share a store.
  [[nodiscard]] Fingerprint fingerprint() const override {
    return {{"token types", head_ == GapHeadKind::segment ? "those of the mentions" : "none"}};
  }
  [[nodiscard]] std::string_view text(Fields fields, std::string& /*buffer*/) const override {
    return fields[kTextField];
  }
  [[nodiscard]] std::string describe(const std::vector<std::string>& names) const override {
    return "answers " + shown_labels(names);
  }
  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override {
    return std::make_unique<GapFinder>(plan, found);
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& /*names*/,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<GapMaker>(prepare.max_length, head_ == GapHeadKind::segment,
                                      std::move(tokenizer));
  }

  [[nodiscard]] GapHeadKind head() const { return head_; }

 private:
  GapHeadKind head_ = GapHeadKind::mul;
};

}  // namespace

std::shared_ptr<TaskInput> make_gap_input() { return std::make_shared<GapInput>(); }

GapHeadKind gap_head_to_train(const TaskInput& input) {
  return dynamic_cast<const GapInput&>(input).head();
}

}  // namespace bp::trainer
