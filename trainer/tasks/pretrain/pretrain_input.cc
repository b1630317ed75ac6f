#include "trainer/tasks/pretrain/pretrain_input.h"

#include <memory>
#include <utility>
#include <vector>

#include "trainer/data/open_input.h"
#include "trainer/data/prepare.h"
#include "trainer/data/token_windows.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/pretrain/mask_batch.h"
#include "trainer/tasks/pretrain/passage_reader.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

// Any text will do.
class PretrainSurvey : public RowSurvey {
 public:
  [[nodiscard]] RowVerdict add(const SourceRows& /*rows*/, std::size_t /*source*/) override {
    return {};
  }
  void end_source(std::size_t /*source*/, std::int64_t /*rows*/) override {}
  [[nodiscard]] std::vector<std::string> names() const override { return {}; }
  [[nodiscard]] std::vector<std::string> remarks() const override { return {}; }
};

class PretrainCheck : public RowCheck {
 public:
  [[nodiscard]] RowVerdict add(const SourceRows& /*rows*/, std::size_t /*source*/) override {
    return {};
  }
  [[nodiscard]] std::vector<Line> of_source(std::size_t /*source*/) const override { return {}; }
  [[nodiscard]] std::vector<Line> of_all() const override { return {}; }
  [[nodiscard]] Obstacle obstacle() const override { return {}; }
};

class PretrainMaker : public SampleMaker {
 public:
  PretrainMaker(const PrepareOptions& prepare, Tokenizer tokenizer)
      : windows_(prepare, std::move(tokenizer)) {}

  void make(Fields fields, SampleSink& sink) override {
    windows_.encode(fields.front());
    while (windows_.next()) sink.add(windows_.sample(), {});
  }

 private:
  TokenWindows windows_;
};

class PretrainInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    set.text({"text", "Column or JSON key of the text: a name, or a number from 1", "", "COLUMN"},
             options_.text_column);
    set.flag({"lines", "Each line of a .txt file is a text of its own"}, options_.lines);
    set.number({"mask-share", "Share of the tokens that are masked"}, options_.masks.share, 0.01,
               0.99);
    set.flag({"whole-words", "Mask all pieces of a word, or none"}, options_.masks.whole_words);
  }
  void add_training_options(OptionSet& set) override {
    set.flag({"static-masks", "Mask the same tokens of a sample in all epochs"},
             options_.static_masks);
  }
  std::vector<std::string> score_by(const BertConfig& /*config*/) override { return {}; }

  [[nodiscard]] std::string name() const override { return "pretrain"; }
  [[nodiscard]] std::vector<Field> fields() const override {
    return {{"text", options_.text_column}};
  }
  [[nodiscard]] SampleSchema schema() const override { return {}; }
  [[nodiscard]] bool has_own_format(const std::string& path) const override {
    return unpacked_name(path).ends_with(".txt");
  }
  [[nodiscard]] std::unique_ptr<RowReader> open(const std::string& path,
                                                const PrepareOptions& prepare) const override {
    return std::make_unique<PassageReader>(path, prepare.encoding,
                                           options_.lines ? 0 : PassageReader::kPassageBytes);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    if (!options_.lines) return {};
    return {{"texts of a .txt file", "lines"}};
  }
  [[nodiscard]] std::string describe(const std::vector<std::string>& /*names*/) const override {
    return "";
  }

  [[nodiscard]] std::unique_ptr<RowSurvey> make_survey(const Plan& /*plan*/) const override {
    return std::make_unique<PretrainSurvey>();
  }
  [[nodiscard]] std::unique_ptr<RowCheck> make_check(const Plan& /*plan*/) const override {
    return std::make_unique<PretrainCheck>();
  }
  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& /*names*/,
                                                        Tokenizer tokenizer) const override {
    return std::make_unique<PretrainMaker>(prepare, std::move(tokenizer));
  }

  [[nodiscard]] CompleteBatch completion(
      const std::vector<std::string>& vocabulary) const override {
    MaskOptions masks = options_.masks;
    masks.dynamic = !options_.static_masks;
    return [masker = Masker({vocabulary}, masks)](Batch& batch, const BatchDraw& draw) {
      mask_batch(masker, draw, batch);
    };
  }

 private:
  PretrainOptions options_;
};

}  // namespace

std::shared_ptr<TaskInput> make_pretrain_input() { return std::make_shared<PretrainInput>(); }

}  // namespace bp::trainer
