// From a text file to a SampleStore. One process prepares, under a renewed lease beside the store;
// others that ask for the same store wait and see its progress; a store that is there and matches
// is reused.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trainer/data/label_form.h"
#include "trainer/data/lease.h"
#include "trainer/data/separator.h"

namespace bp::trainer {

enum class TextFormat : std::uint8_t { automatic, csv, tsv };
enum class HeaderMode : std::uint8_t { automatic, yes, no };
enum class LongText : std::uint8_t { fold, truncate };

struct PrepareOptions {
  std::string source;  // the text file
  // Files of their own for the two other splits; may be empty. When either is given, `split` and
  // `seed` are not looked at and all of `source` is for training.
  std::string dev_source;
  std::string test_source;
  std::string store;  // empty: <source without suffix>.sqlite beside it
  std::string text_column = "text";
  std::string label_column = "label";  // by name, or by number from 1
  TextFormat format = TextFormat::automatic;
  HeaderMode header = HeaderMode::automatic;
  char separator = kFindSeparator;  // between the fields of a CSV file
  LabelForm label_form;
  bool dedupe = false;     // each text stays once: see TextRows::repeats()
  std::string vocabulary;  // a vocab.txt; empty: one is trained on the train texts
  int vocabulary_size = 8000;
  bool lower_case = true;
  int max_length = 128;
  LongText long_text = LongText::fold;
  std::array<double, 3> split = {0.8, 0.1, 0.1};  // of texts, never of their folds
  std::uint64_t seed = 1;
  // The labels of a trained model, in its order, to score a file: all of `source` goes into the
  // test split, and its rows have one of these labels or none. Needs `vocabulary`; may be empty.
  std::vector<std::string> labels = {};
  bool rebuild = false;
  bool may_rebuild = true;  // hints may offer --rebuild
  // The run that needs the store with this path and identity, or "". A store that a run needs is
  // not replaced.
  std::function<std::string(const std::string& store, const std::string& identity)> needed_by = {};
};

struct PrepareResult {
  std::string store;    // its path
  bool reused = false;  // was there and matched, or another process has just made it
};

// `progress` gets one line for a person now and then ("prepared 41,000 of 67,349 rows"). Throws
// InputError (bad content or options, a full disk, with the exit code that belongs to it) or Error.
// Either way nothing half made is left; a store that was there before stays as it was. Throws
// Interrupted when this process is asked to stop: what was committed stays, as after a kill.
//
// The store comes into being by a rename when it is complete. The next preparer goes on with what a
// killed one left, or removes it. Equal input gives equal bytes, in however many goes.
PrepareResult prepare(const PrepareOptions& options,
                      const std::function<void(const std::string&)>& progress,
                      const LeaseTimes& times = {});

}  // namespace bp::trainer
