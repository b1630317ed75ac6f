#include "trainer/tasks/pretrain/pretrain_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/input/open_input.h"
#include "trainer/prepare/make_vocabulary.h"
#include "trainer/prepare/prepare.h"
#include "trainer/prepare/token_windows.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/pretrain/instance_rows.h"
#include "trainer/tasks/pretrain/masks.h"
#include "trainer/tasks/pretrain/passage_reader.h"
#include "trainer/tasks/pretrain/shard_reader.h"
#include "trainer/tasks/task_input.h"

namespace bp::trainer {
namespace {

// Returns rows of numbers as a ragged array.
template <class NumbersOf>
BatchArray ragged_array(const std::vector<Masks>& rows, const NumbersOf& numbers_of) {
  BatchArray array{.width = 0};
  for (const Masks& row : rows) {
    const auto size = static_cast<std::int32_t>(numbers_of(row).size());
    array.sizes.push_back(size);
    array.width = std::max(array.width, size);
  }
  const auto width = static_cast<std::size_t>(array.width);
  array.integers.reserve(rows.size() * width);
  for (const Masks& row : rows) {
    const std::vector<std::int32_t>& numbers = numbers_of(row);
    array.integers.insert(array.integers.end(), numbers.begin(), numbers.end());
    array.integers.insert(array.integers.end(), width - numbers.size(), 0);
  }
  return array;
}

// Hides tokens, and appends the arrays with their positions and ids: see pretrain_input.h. The
// masks of a sample depend on its id and the draw.
void mask_batch(const Masker& masker, const BatchDraw& draw, Batch& batch) {
  const auto length = static_cast<std::size_t>(batch.length);
  std::vector<Masks> rows;
  std::vector<std::int32_t> tokens;
  for (std::size_t row = 0; row < static_cast<std::size_t>(batch.rows); ++row) {
    const auto begin = batch.token_ids.begin() + static_cast<std::ptrdiff_t>(row * length);
    tokens.assign(begin, begin + batch.lengths[row]);
    rows.push_back(
        masker.hide(tokens, masker.draws_of(draw.seed, draw.epoch, batch.sample_ids[row])));
    std::ranges::copy(tokens, begin);
  }
  batch.arrays.push_back(ragged_array(
      rows, [](const Masks& row) -> const auto& { return row.positions; }));
  batch.arrays.push_back(ragged_array(
      rows, [](const Masks& row) -> const auto& { return row.ids; }));
}

class PretrainMaker : public SampleMaker {
 public:
  PretrainMaker(const PrepareOptions& prepare, Tokenizer tokenizer)
      : windows_(prepare, std::move(tokenizer)) {}

  void make(Fields fields, const SampleSink& sink) override {
    windows_.encode(fields.front());
    while (windows_.next()) sink(windows_.sample(), {});
  }

 private:
  TokenWindows windows_;
};

class PretrainInput : public TaskInput {
 public:
  void add_options(OptionSet& set) override {
    set.text({"text", "Column or JSON key of the text: a name, or a number from 1", "", "COLUMN"},
             options_.text_column)
        .others = {"text-column"};
    set.flag({"lines", "Each line of a .txt file is a text of its own"}, options_.lines).others = {
        "line-by-line"};
    set.number({"mask-share", "Share of the tokens that are masked"}, options_.masks.share, 0.01,
               0.99)
        .others = {"mlm-probability", "masked-lm-prob"};
    set.flag({"whole-words", "Mask all pieces of a word, or none"}, options_.masks.whole_words);
    set.flag({"next-sentence", "Learn, too, whether the second of two segments follows the first"},
             options_.next_sentence);
    set.choice<TextForm>({"line", "What a line of a .txt file of --next-sentence holds"},
                         options_.line,
                         {{"sentence", TextForm::sentences}, {"paragraph", TextForm::running}});
    set.number({"copies", "Times that --next-sentence divides each document into pairs"},
               options_.copies, 1, 1000);
    set.number({"limit-files", "Read only the first N shards of a folder; 0: all"},
               options_.limit_files, 0, 1e9)
        .others = {"num-file"};
  }
  void add_training_options(OptionSet& set) override {
    set.flag({"static-masks", "Mask the same tokens of a sample in all epochs"},
             options_.static_masks);
  }

  [[nodiscard]] std::string name() const override { return "pretrain"; }
  void use_data(const std::string& path) override { is_shards_ = !shard_files(path).empty(); }
  [[nodiscard]] std::vector<Field> fields() const override {
    std::vector<Field> fields = {{"text", options_.text_column}};
    if (reads_instances()) fields.push_back({"instance", "instance", false, true});
    return fields;
  }
  [[nodiscard]] SampleSchema schema() const override {
    if (!reads_instances()) return {};
    SampleSchema schema = {{.name = std::string(kTokenTypes), .shape = Shape::per_token}};
    if (options_.next_sentence) schema.push_back({.name = kNextSentence, .padding = -1});
    if (!is_shards_) return schema;
    schema.push_back({.name = "masked_positions", .shape = Shape::ragged, .places = true});
    schema.push_back({.name = "masked_ids", .shape = Shape::ragged});
    return schema;
  }
  [[nodiscard]] bool has_own_format(const std::string& path) const override {
    return reads_instances() || is_text(path);
  }
  [[nodiscard]] std::vector<std::string> files_of(const std::string& path) const override {
    std::vector<std::string> files = is_shards_ ? shard_files(path) : std::vector<std::string>();
    if (options_.limit_files > 0 && std::cmp_less(options_.limit_files, files.size())) {
      files.resize(static_cast<std::size_t>(options_.limit_files));
    }
    return files;
  }
  [[nodiscard]] std::unique_ptr<RowReader> open(const std::string& path,
                                                const PrepareOptions& prepare) const override {
    if (is_shards_) return open_shards(path, prepare);
    if (options_.next_sentence) return open_pairs(path, prepare);
    return std::make_unique<PassageReader>(path, prepare.encoding,
                                           options_.lines ? 0 : PassageReader::kPassageBytes);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    Fingerprint print;
    if (options_.lines) print.emplace_back("texts of a .txt file", "lines");
    if (options_.next_sentence) print.emplace_back("samples", "pairs of segments");
    if (options_.next_sentence && !is_shards_) {
      print.emplace_back("line", options_.line == TextForm::sentences ? "sentence" : "paragraph");
      print.emplace_back("copies of each document", concat(options_.copies));
    }
    return print;
  }

  [[nodiscard]] std::unique_ptr<SampleMaker> make_maker(const PrepareOptions& prepare,
                                                        const std::vector<std::string>& /*names*/,
                                                        Tokenizer tokenizer) const override {
    if (reads_instances()) {
      return std::make_unique<InstanceSamples>(
          InstanceSamples::Form{.next_sentence = options_.next_sentence,
                                .masks = is_shards_,
                                .max_length = prepare.max_length});
    }
    return std::make_unique<PretrainMaker>(prepare, std::move(tokenizer));
  }

  [[nodiscard]] CompleteBatch completion(const std::vector<std::string>& vocabulary,
                                         const std::string& tokenizer) const override {
    MaskOptions masks = options_.masks;
    masks.dynamic = !options_.static_masks;
    return [masker = Masker(stored_vocabulary(vocabulary, tokenizer), masks)](
               Batch& batch, const BatchDraw& draw) {
      const bool has_masks = batch.arrays.size() > kPairArrays;
      if (!has_masks) mask_batch(masker, draw, batch);
    };
  }

  [[nodiscard]] const PretrainOptions& options() const { return options_; }

 private:
  static bool is_text(const std::string& path) { return unpacked_name(path).ends_with(".txt"); }
  [[nodiscard]] bool reads_instances() const { return is_shards_ || options_.next_sentence; }

  [[nodiscard]] std::unique_ptr<RowReader> open_shards(const std::string& path,
                                                       const PrepareOptions& prepare) const {
    if (!is_shard_name(path)) {
      throw InputError(66, concat(path, " is not a shard"),
                       "a shard's name ends with .hdf5 or .h5");
    }
    const Vocabulary vocabulary = needed_vocabulary(path, prepare);
    return std::make_unique<ShardRows>(path, static_cast<std::int64_t>(vocabulary.tokens.size()));
  }

  [[nodiscard]] std::unique_ptr<RowReader> open_pairs(const std::string& path,
                                                      const PrepareOptions& prepare) const {
    if (!is_text(path) || options_.lines) {
      throw InputError(2, concat("--next-sentence cannot make pairs of ", path),
                       "it takes shards, or .txt files in which a blank line ends a document, "
                       "without --lines");
    }
    const InstanceOptions instances{
        .max_length = prepare.max_length, .copies = options_.copies, .masks = std::nullopt};
    return std::make_unique<PairRows>(path, options_.line, needed_vocabulary(path, prepare),
                                      prepare.lower_case, instances);
  }

  PretrainOptions options_;
  bool is_shards_ = false;
};

}  // namespace

const PretrainOptions& pretrain_options(const TaskInput& input) {
  return dynamic_cast<const PretrainInput&>(input).options();
}

std::shared_ptr<TaskInput> make_pretrain_input() { return std::make_shared<PretrainInput>(); }

}  // namespace bp::trainer
