#include "trainer/tasks/pretrain/make_instances.h"

#include <iterator>
#include <optional>
#include <string_view>

#include "trainer/data/block_pipeline.h"

namespace bp::trainer {
namespace {

// Of all blocks that are being worked on, however many threads there are.
constexpr std::size_t kMostBytes = std::size_t{512} << 20;

struct WorkBlock {
  DocumentBlock documents;
  InstanceList instances;
  InstanceCounts counts;
  int copies = 1;

  // What the block will hold. Text has about a token for four bytes.
  [[nodiscard]] std::size_t bytes() const {
    return documents.text.size() * (2 + static_cast<std::size_t>(copies));
  }
};

// What one thread needs.
struct Worker {
  Tokenizer tokenizer;
  DocumentTokens tokens = {};
  std::vector<std::size_t> numbers = {};  // of the documents in `tokens`, in their block

  // Leaves out sentences and documents without any token.
  void tokenize(const DocumentBlock& block) {
    tokens.tokens.clear();
    tokens.sentences.assign(1, 0);
    tokens.documents.assign(1, 0);
    numbers.clear();
    std::size_t begin = 0;
    std::size_t sentence = 0;
    for (std::size_t number = 0; number < block.documents.size(); ++number) {
      for (; sentence < block.documents[number]; ++sentence) {
        const std::size_t end = block.sentences[sentence];
        tokenizer.encode(std::string_view(block.text).substr(begin, end - begin), tokens.tokens);
        begin = end;
        if (tokens.tokens.size() == tokens.sentences.back()) continue;
        tokens.sentences.push_back(tokens.tokens.size());
      }
      if (tokens.sentences.size() - 1 == tokens.documents.back()) continue;
      tokens.documents.push_back(tokens.sentences.size() - 1);
      numbers.push_back(number);
    }
  }
};

class InstanceMaker {
 public:
  InstanceMaker(const Vocabulary& vocabulary,
                bool lower_case,
                const InstanceOptions& options,
                std::size_t threads)
      : options_(options) {
    check(options);
    if (options.masks) masker_.emplace(vocabulary, *options.masks);
    workers_.push_back({Tokenizer(vocabulary, lower_case)});
    while (workers_.size() < threads) workers_.push_back({workers_[0].tokenizer.another()});
  }

  void work(WorkBlock& block, std::size_t number) {
    Worker& worker = workers_[number];
    worker.tokenize(block.documents);
    const DocumentTokens& tokens = worker.tokens;
    DocumentInstances instances(options_, {worker.tokenizer.cls_id(), worker.tokenizer.sep_id()},
                                tokens, masker_ ? &*masker_ : nullptr);
    block.instances.clear();
    reserve(tokens, block.instances);
    block.counts = {};
    const std::size_t others = block.documents.begins_with_other ? 1 : 0;
    const std::size_t own = !worker.numbers.empty() && worker.numbers[0] < others ? 1 : 0;
    for (int copy = 0; copy < options_.copies; ++copy) {
      for (std::size_t i = own; i < tokens.size(); ++i) {
        const std::size_t document =
            static_cast<std::size_t>(block.documents.first_document) + worker.numbers[i] - others;
        instances.add(i, Draws(options_.seed, static_cast<std::uint64_t>(copy), document),
                      block.instances);
      }
    }
    const std::size_t first = tokens.documents[own];
    block.counts.documents = static_cast<std::int64_t>(tokens.size() - own);
    block.counts.sentences = std::ssize(tokens.sentences) - 1 - static_cast<std::int64_t>(first);
    block.counts.tokens = static_cast<std::int64_t>(tokens.tokens.size() - tokens.sentences[first]);
    block.counts.instances = static_cast<std::int64_t>(block.instances.size());
  }

 private:
  // Each copy has about all tokens once, with a half more in random segments and masks.
  void reserve(const DocumentTokens& tokens, InstanceList& list) const {
    const std::size_t all = tokens.tokens.size() * static_cast<std::size_t>(options_.copies);
    list.reserve(3 * all / static_cast<std::size_t>(options_.max_length), 2 * all);
  }

  InstanceOptions options_;
  std::optional<Masker> masker_;
  std::vector<Worker> workers_;
};

void add(const InstanceCounts& counts, InstanceCounts& to) {
  to.documents += counts.documents;
  to.sentences += counts.sentences;
  to.tokens += counts.tokens;
  to.instances += counts.instances;
}

}  // namespace

InstanceCounts make_instances(const TextSource& source,
                              const Vocabulary& vocabulary,
                              bool lower_case,
                              const InstanceOptions& options,
                              std::size_t threads,
                              const std::function<void(const Instance&)>& take) {
  InstanceMaker maker(vocabulary, lower_case, options, threads);
  DocumentReader reader(source.files, source.form, source.block_bytes);
  InstanceCounts all;
  BlockPipeline<WorkBlock> pipeline(
      {.read =
           [&](WorkBlock& block) {
             block.copies = options.copies;
             return reader.read(block.documents);
           },
       .work = [&](WorkBlock& block, std::size_t number) { maker.work(block, number); },
       .take =
           [&](WorkBlock& block) {
             for (std::size_t i = 0; i < block.instances.size(); ++i) take(block.instances[i]);
             add(block.counts, all);
           }},
      {.workers = threads, .bytes = kMostBytes});
  pipeline.run();
  return all;
}

}  // namespace bp::trainer
