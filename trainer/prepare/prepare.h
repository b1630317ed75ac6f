// Makes a SampleStore from a text file. One process prepares, under a renewed lease next to the
// store. Other processes that need the same store wait and see its progress. An existing store that
// matches is reused.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer/common/say.h"
#include "trainer/input/table.h"
#include "trainer/prepare/lease.h"
#include "trainer/prepare/task_data.h"
#include "trainer/text/vocabulary_training.h"

namespace bp::trainer {

enum class LongText : std::uint8_t { fold, fold_sentence, truncate };

// Who divides the rows of the source into train, dev and test.
enum class Divider : std::uint8_t {
  data_or_shares,  // the file, if it says so itself, else the shares
  data,
  shares,
};

struct PrepareOptions {
  std::shared_ptr<const TaskData> task;   // what the rows become
  std::string source;                     // the text file to read, or a folder of such files
  std::vector<std::string> more_sources;  // files or folders whose rows follow
  // Separate files for the two other splits; may be empty. If either is given, `split` and `seed`
  // are ignored and all of `source` is for training.
  std::string dev_source;
  std::string test_source;
  std::string store;  // empty: next to the source, see place_of_store()
  TextFormat format = TextFormat::automatic;
  HeaderMode header = HeaderMode::automatic;
  char separator = kFindSeparator;  // between the fields of a CSV file
  bool backslash = false;           // in its quotes, see Dialect
  std::string encoding;             // of the text files; see parse_encoding()
  std::int64_t limit = 0;           // reads only the first rows of each file; 0: all
  bool dedupe = false;              // keeps each text once: see TextRows::repeats()
  std::string vocabulary;           // a vocab.txt; empty: trains one on the train texts
  int vocabulary_size = 8000;
  VocabularyKind vocabulary_kind = VocabularyKind::word_pieces;
  bool lower_case = true;
  int max_length = 128;
  LongText long_text = LongText::fold;
  Divider divider = Divider::data_or_shares;
  // Shares of the texts; all windows of a text are in one split.
  std::array<double, 3> split = {0.8, 0.1, 0.1};
  bool stratify = false;  // each class has these shares too
  std::uint64_t seed = 1;
  // `source` is to be scored by a trained model: all of it goes into the test split, and rows need
  // no answer. Requires `vocabulary`.
  bool scored = false;
  // Threads that encode rows; 0: one per core that this process may use, at most 8. The store does
  // not depend on it.
  int threads = 0;
  bool rebuild = false;
  bool may_rebuild = true;  // hints may offer --rebuild
  // The folder of the run that this command begins or resumes with the store, or "". Hints then
  // offer another store and another run, because a store that a run needs is not rebuilt.
  std::string run = {};
  // Returns the run that needs the store with this path and identity, or "". A store that a run
  // needs is not replaced.
  std::function<std::string(const std::string& store, const std::string& identity)> needed_by = {};
};

struct PrepareResult {
  std::string store;    // the store's path
  bool reused = false;  // it existed and matched, or another process has just made it
};

// Makes or reuses the store. Calls `progress` from time to time with one line for the user
// ("prepared 41,000 of 67,349 rows"). Blocks until the store is complete. Throws InputError (bad
// content or options, or a full disk, with its exit code) or Error. Either way it leaves no partial
// file, and an older store stays as it was. Throws Interrupted if this process is asked to stop;
// then the committed part stays, as after a kill.
//
// A store appears by a rename when it is complete. The next preparer continues a killed one's
// leftover or removes it. Equal input gives equal bytes, with any number of interruptions.
PrepareResult prepare(const PrepareOptions& options,
                      const Say& progress,
                      const LeaseTimes& times = {});

}  // namespace bp::trainer
