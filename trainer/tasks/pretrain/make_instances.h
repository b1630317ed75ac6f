// Makes the instances that a model is pre-trained with from files of plain text, on all cores.
//
// The result depends only on the files, the vocabulary and the options. The memory is bounded,
// however long the files are: documents are read in blocks, and a block's instances are made and
// handed on at once.
//
// What differs from Google's create_pretraining_data.py, beside the generator of random numbers:
// the random second segment comes from a document of the same block, not of the whole input. A
// block of 1 MiB has hundreds of documents, of which one instance in two takes a sentence, so a
// model has as little chance to know them by their source. NVIDIA's recipe cuts the text into
// hundreds of files and does the same in each. The instances come document after document;
// ShuffledInstances shuffles all of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "trainer/tasks/pretrain/document_instances.h"
#include "trainer/tasks/pretrain/documents.h"
#include "trainer/tasks/pretrain/instance.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

struct TextSource {
  std::vector<std::string> files = {};
  TextForm form = TextForm::sentences;
  std::size_t block_bytes = std::size_t{1} << 20;
};

// Calls `take` with each instance, on this thread. `threads`: besides this one; 0: none. Throws
// InputError for invalid options, files that cannot be read, and a vocabulary without [MASK], and
// what `take` throws.
InstanceCounts make_instances(const TextSource& source,
                              const Vocabulary& vocabulary,
                              bool lower_case,
                              const InstanceOptions& options,
                              std::size_t threads,
                              const std::function<void(const Instance&)>& take);

}  // namespace bp::trainer
