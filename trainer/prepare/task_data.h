// Makes samples of the rows of a data file. Each task implements it; the code that reads files and
// writes stores knows tasks only by it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/input/row_reader.h"
#include "trainer/prepare/findings.h"
#include "trainer/store/sample_schema.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

struct Plan;
struct PrepareOptions;
class SourceRows;
class Tokenizer;

// Everything that decides the content of a store, as (what, value) in a fixed order.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

// How a file divides its rows itself.
struct FileSplit {
  std::vector<Split> of_rows = {};  // empty: it does not
  std::string remark = {};          // for the user: where this is from, or why it is not
};

// What becomes of a row.
struct RowVerdict {
  bool kept = true;               // false: the task's options leave it out
  std::string_view stratum = {};  // its class, for --stratify; valid until the next row
};

// Reads all rows once, in the order of the sources, and finds what can be wrong with them before
// anything is written. It adds what it finds to the Findings that it was made with. By default it
// has nothing to say.
class RowFinder {
 public:
  virtual ~RowFinder() = default;
  // Takes the current row of the source with this number.
  [[nodiscard]] virtual RowVerdict add(const SourceRows& /*rows*/, std::size_t /*source*/) {
    return {};
  }
  // Called after the last row of a source that has rows. `rows`: how many.
  virtual void end_source(std::size_t /*source*/, std::int64_t /*rows*/) {}
  // Of all rows: the names for the store, and remarks for the user, one line each with the option
  // that helps.
  [[nodiscard]] virtual std::vector<std::string> names() const { return {}; }
  [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
  // Return what `bert_train check` prints about one source, and about all of them. Only if the
  // findings are listed.
  [[nodiscard]] virtual std::vector<Findings::Line> of_source(std::size_t /*source*/) const {
    return {};
  }
  [[nodiscard]] virtual std::vector<Findings::Line> of_all() const { return {}; }
};

// Takes a sample of a row. `arrays`: in the order of the task's schema, in its types.
using SampleSink =
    std::function<void(std::span<const std::int32_t> token_ids, std::span<const ArrayView> arrays)>;

// Each thread has its own.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;
  // Makes the samples of a row that the finder has accepted: one, or several if it is folded.
  // Throws InputError (65), without the row's place, for one that only the tokens show to be wrong.
  virtual void make(Fields fields, const SampleSink& sink) = 0;
};

// Threads: any number of threads may use it at once.
class TaskData {
 public:
  virtual ~TaskData() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // of the task: "classify"
  [[nodiscard]] virtual std::vector<Field> fields() const = 0;
  [[nodiscard]] virtual SampleSchema schema() const = 0;
  // Returns whether the task reads files of a format of its own. Then open() opens them; otherwise
  // a file is a table or JSON lines, and open() is not called.
  [[nodiscard]] virtual bool has_own_format(const std::string& /*path*/) const { return false; }
  // Returns the files that a path stands for, if the task has its own answer; empty: the path is a
  // file, or a folder of files that bert_train finds.
  [[nodiscard]] virtual std::vector<std::string> files_of(const std::string& /*path*/) const {
    return {};
  }
  [[nodiscard]] virtual std::unique_ptr<RowReader> open(const std::string& path,
                                                        const PrepareOptions& options) const;
  // Returns the splits of the rows of a file with a format of the task, if the file says them.
  // Throws InputError as the reader of its rows does.
  [[nodiscard]] virtual FileSplit split_in(const std::string& /*path*/) const { return {}; }
  // Returns what decides the samples besides the options of all tasks.
  [[nodiscard]] virtual Fingerprint fingerprint() const { return {}; }
  // Returns whether rows have classes, which RowVerdict names.
  [[nodiscard]] virtual bool has_strata() const { return false; }
  // Returns whether a finder may leave rows out.
  [[nodiscard]] virtual bool leaves_out_rows() const { return false; }

  // The text of a row: the store keeps it, a vocabulary is trained on it, and rows with the same
  // text repeat each other. It is one of the fields, or made in `buffer`.
  [[nodiscard]] virtual std::string_view text(Fields fields, std::string& /*buffer*/) const {
    return fields.front();
  }

  // Returns what the names are, for the terminal: "labels bad, good"; empty if there are none.
  [[nodiscard]] virtual std::string describe(const std::vector<std::string>& /*names*/) const {
    return "";
  }

  // Returns why a model can learn nothing from rows with these names.
  [[nodiscard]] virtual Obstacle nothing_to_learn(const std::vector<std::string>& /*names*/) const {
    return {};
  }

  // Both arguments must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<RowFinder> make_finder(const Plan& plan,
                                                               Findings& found) const;
  // `names`: those of the finder.
  [[nodiscard]] virtual std::unique_ptr<SampleMaker> make_maker(
      const PrepareOptions& options,
      const std::vector<std::string>& names,
      Tokenizer tokenizer) const = 0;

  // Returns what completes each batch of samples with this vocabulary; null: nothing is missing.
  // `tokenizer`: see SampleStore. Throws InputError (65) if the vocabulary cannot be used.
  [[nodiscard]] virtual CompleteBatch completion(const std::vector<std::string>& /*vocabulary*/,
                                                 const std::string& /*tokenizer*/) const {
    return {};
  }
};

}  // namespace bp::trainer
