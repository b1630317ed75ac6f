// What the task "gap" makes of rows. Does not use LibTorch.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/gap/gap_config.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {

// The order of the arrays. A sample has token types too, the last array, if the head needs them.
enum GapArray : std::size_t {
  kGapLabel,      // 0: neither, 1: A, 2: B; -1: the row does not say
  kGapGender,     // the pronoun's
  kGapPositions,  // of pronoun, A and B
  kGapId,         // the bytes of the row's ID
};

class GapInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override;
  std::vector<std::string> score_by(const BertConfig& config) override;
  [[nodiscard]] int usual_length() const override;

  [[nodiscard]] std::string name() const override { return "gap"; }
  [[nodiscard]] std::vector<Field> fields() const override;
  [[nodiscard]] SampleSchema schema() const override;
  [[nodiscard]] Fingerprint fingerprint() const override;
  [[nodiscard]] std::string_view text(Fields fields, std::string& buffer) const override;
  [[nodiscard]] std::string describe(const std::vector<std::string>& names) const override;
  [[nodiscard]] std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                       Findings& found) const override;
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& names,
                                                        Tokenizer tokenizer) const override;

  [[nodiscard]] GapHeadKind head() const { return head_; }

 private:
  GapHeadKind head_ = GapHeadKind::mul;
};

}  // namespace bp::trainer
