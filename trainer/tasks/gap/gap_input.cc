#include "trainer/tasks/gap/gap_input.h"

#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "trainer/data/prepare.h"
#include "trainer/data/sample_schema.h"
#include "trainer/tasks/gap/gap_check.h"
#include "trainer/tasks/gap/gap_row.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kTextField = 1;

class GapMaker : public SampleMaker {
 public:
  GapMaker(int max_length, bool types, Tokenizer tokenizer)
      : max_length_(static_cast<std::size_t>(max_length)),
        types_(types),
        tokenizer_(std::move(tokenizer)) {}

  void make(Fields fields, SampleSink& sink) override {
    const GapSample sample = make_gap_sample(fields, max_length_, tokenizer_);
    const std::vector<std::int32_t> positions(sample.positions.begin(), sample.positions.end());
    std::vector<std::int32_t> id;
    for (const char byte : fields.front()) id.push_back(static_cast<unsigned char>(byte));
    const std::vector<std::int32_t> token_types = gap_token_types(sample);
    const ArrayView arrays[] = {
        std::int64_t{sample.label}, static_cast<std::int64_t>(sample.gender),
        std::span<const std::int32_t>(positions), std::span<const std::int32_t>(id),
        std::span<const std::int32_t>(token_types)};
    sink.add(sample.ids, std::span(arrays).first(types_ ? std::size(arrays) : kGapId + 1));
  }

 private:
  std::size_t max_length_;
  bool types_;
  Tokenizer tokenizer_;
};

}  // namespace

void GapInput::add_options(OptionSet& set) {
  set.choice<GapHeadKind>({"gap-head",
                           "Head over the states of pronoun, A and B: a linear layer over all, "
                           "products, or a linear layer over [CLS] with marked mentions"},
                          head_, gap_head_names());
}

std::vector<std::string> GapInput::score_by(const BertConfig& config) {
  head_ = gap_head_of(config).value_or(head_);
  return gap_answers();
}

// A row is never cut.
int GapInput::usual_length() const {
  constexpr int kLongest = 512;
  return kLongest;
}

std::vector<Field> GapInput::fields() const {
  std::vector<Field> fields;
  for (const std::string_view column : kGapColumns) {
    const std::string name(column);
    fields.push_back(
        {.name = name, .column = name, .answer = name.ends_with("-coref"), .fixed = true});
  }
  return fields;
}

SampleSchema GapInput::schema() const {
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
Fingerprint GapInput::fingerprint() const {
  return {{"token types", head_ == GapHeadKind::segment ? "those of the mentions" : "none"}};
}

std::string_view GapInput::text(Fields fields, std::string& /*buffer*/) const {
  return fields[kTextField];
}

std::string GapInput::describe(const std::vector<std::string>& names) const {
  return "answers " + shown_labels(names);
}

std::unique_ptr<RowSurvey> GapInput::make_survey(const Plan& plan) const {
  return make_gap_survey(plan);
}

std::unique_ptr<RowCheck> GapInput::make_check(const Plan& plan) const {
  return make_gap_check(plan);
}

std::unique_ptr<SampleMaker> GapInput::make_maker(const PrepareOptions& prepare,
                                                  const std::vector<std::string>& /*names*/,
                                                  Tokenizer tokenizer) const {
  return std::make_unique<GapMaker>(prepare.max_length, head_ == GapHeadKind::segment,
                                    std::move(tokenizer));
}

std::shared_ptr<TaskInput> make_gap_input() { return std::make_shared<GapInput>(); }

}  // namespace bp::trainer
