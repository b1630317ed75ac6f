#include "trainer/tasks/pretrain/make_instances.h"

#include <vector>

#include "trainer/prepare/block_pipeline.h"

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
  const Tokenizer tokenizer(vocabulary, lower_case);
  std::vector<InstanceMaker> makers;
  do makers.emplace_back(tokenizer, vocabulary, options);
  while (makers.size() < threads);
  DocumentReader reader(source.files, source.form, source.block_bytes);
  InstanceCounts all;
  BlockPipeline<WorkBlock> pipeline({.read =
                                         [&](WorkBlock& block) {
                                           block.copies = options.copies;
                                           return reader.read(block.documents);
                                         },
                                     .work =
                                         [&](WorkBlock& block, std::size_t number) {
                                           block.counts = makers[number].make(block.documents,
                                                                              block.instances);
                                         },
                                     .take =
                                         [&](WorkBlock& block) {
                                           for (std::size_t i = 0; i < block.instances.size(); ++i)
                                             take(block.instances[i]);
                                           add(block.counts, all);
                                         }},
                                    {.workers = threads, .bytes = kMostBytes});
  pipeline.run();
  return all;
}

}  // namespace bp::trainer
