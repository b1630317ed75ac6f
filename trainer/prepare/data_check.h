// Finds out what data files hold, and what would keep bert_train from training on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/common/say.h"
#include "trainer/prepare/findings.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/repeated_texts.h"

namespace bp::trainer {

struct FileFindings {
  std::string path = {};
  std::int64_t rows = 0;
  RowsFound empty = {};                   // rows with a text without a token
  std::vector<Findings::Line> task = {};  // what the task finds
};

struct DataFindings {
  std::vector<FileFindings> files = {};               // the first is the one to train on
  std::map<std::int64_t, std::int64_t> lengths = {};  // number of texts by their tokens
  std::int64_t vocabulary = 0;                        // its tokens
  std::int64_t unknown_tokens = 0;                    // [UNK] among all tokens
  std::int64_t tokens = 0;
  std::array<std::int64_t, 3> rows = {};  // of each split, indexed by split
  TextRows::Findings repeats = {};
  std::vector<Findings::Line> task = {};  // what the task finds in all files
  std::vector<std::string> remarks = {};  // what may be meant otherwise, one line each
  Obstacle obstacle = {};                 // the first thing that training refuses
};

// Reads all files of the plan twice, and once more if it has no vocabulary, which is then trained
// as prepare() trains it. Writes nothing beside them. Calls `progress` before each reading. Throws
// InputError (65, 66) for what no reader can skip, such as a broken row, and 70 if a temporary
// file, which more than `most_in_memory` texts need, cannot be written; Interrupted if this process
// is asked to stop.
[[nodiscard]] DataFindings check_data(const Plan& plan,
                                      const Say& progress,
                                      std::size_t most_in_memory = SortedDigests::kMostInMemory);

}  // namespace bp::trainer
