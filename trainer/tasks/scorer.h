// Makes rows for people of what a model puts out, and scores it on a split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/report/section.h"
#include "trainer/batches/batch.h"
#include "trainer/report/evaluation_summary.h"
#include "trainer/report/pr_curve.h"
#include "trainer/report/predictions.h"
#include "trainer/store/sample_store.h"

namespace at {
class Tensor;
}

namespace bp::trainer {

// A file with results, in the run's folder.
struct ResultFile {
  std::string name = {};  // "classes.csv"
  std::string content = {};
  bool mentioned = false;  // the terminal names the file, because it does not show its content
};

// The samples that are scored. Without a store, a scorer only makes rows of predictions.
struct StoredSplit {
  const SampleStore* store = nullptr;
  Split split = Split::test;
};

// Adds up the results of one split on one rank. After evaluate(), which adds up the ranks', each
// rank's object has the results of the whole split.
class Scorer {
 public:
  // The store must outlive it.
  explicit Scorer(const StoredSplit& scored = {}) : scored_(scored) {}
  virtual ~Scorer() = default;

  // The columns of a row, behind those of its ids.
  [[nodiscard]] virtual std::vector<PredictionColumn> columns() const = 0;
  // Appends the numbers that the rows of a block's samples are made of. `outputs`: the head's.
  virtual void keep(const Batch& block,
                    const at::Tensor& outputs,
                    std::vector<float>& kept) const = 0;
  // Returns how many numbers are kept of this sample.
  [[nodiscard]] virtual std::size_t kept_of(const Sample& sample) const = 0;
  // Whether the samples of a text have one row, of the means of what was kept of each; then as much
  // is kept of each.
  [[nodiscard]] virtual bool joins_samples() const { return false; }
  // Returns the first sample of each row of samples with these texts, see starts_of_texts(); and
  // the numbers of the rows, from what was kept of all samples.
  [[nodiscard]] std::vector<std::size_t> starts_of_rows(
      std::span<const std::int64_t> text_ids) const;
  [[nodiscard]] std::vector<float> kept_of_rows(std::span<const float> kept,
                                                std::span<const std::size_t> starts) const;
  // Sets the fields of a row, one for each column, from what was kept of the sample, or of those of
  // its text, of which it is the first.
  virtual void set_fields(const Sample& sample,
                          std::span<const float> kept,
                          std::vector<std::string>& fields) const = 0;
  // Returns a line of the file that the task's competition takes, from what was kept of a sample,
  // and the first line of that file; "" for a task without one.
  [[nodiscard]] virtual std::string competition_line(const Sample& /*sample*/,
                                                     std::span<const float> /*kept*/) const {
    return "";
  }
  [[nodiscard]] virtual std::string competition_header() const { return ""; }

  // Adds a block of samples with the head's outputs for it. Called once for each block of this
  // rank's share of the split, in the store's order.
  void add(const Batch& block, const at::Tensor& outputs);
  // The counts that ranks sum in place. They are integers, so that the result is the same for any
  // number and order of ranks.
  [[nodiscard]] virtual std::span<std::int64_t> counts() { return {}; }
  // What is kept of each sample, in the store's order. evaluate() replaces it by that of all ranks.
  [[nodiscard]] std::vector<float>& kept() { return kept_; }
  [[nodiscard]] const std::vector<float>& kept() const { return kept_; }

  // Writes predictions.csv: every row of the split once, in the store's order. Throws io.
  void write_predictions(const std::string& path) const;
  // Of the whole split. All scores are NaN if no sample had a true answer to compare with.
  [[nodiscard]] virtual EvaluationSummary summary() const = 0;
  // Returns the lines for the terminal. `name`: what was scored, as the terminal calls it ("test");
  // `predictions`: the file that holds them, or empty.
  [[nodiscard]] virtual std::vector<std::string> lines(const std::string& name,
                                                       const std::string& predictions) const = 0;
  // Return the sections of report.html, and the files besides predictions.csv; nothing if no sample
  // had a true answer.
  [[nodiscard]] virtual Sections sections() const { return {}; }
  [[nodiscard]] virtual std::vector<ResultFile> files() const { return {}; }
  // Returns the PR curve of each class, for tasks and results that have classes.
  [[nodiscard]] virtual std::vector<PrCurve> pr_curves() const { return {}; }

 protected:
  [[nodiscard]] const SampleStore& store() const { return *scored_.store; }
  [[nodiscard]] Split split() const { return scored_.split; }
  [[nodiscard]] std::vector<std::size_t> starts_of_rows(Split of) const;
  // Returns "test: no labels to compare with, 12 samples; predictions in FILE" for `what`
  // "test: no labels".
  [[nodiscard]] std::vector<std::string> unscored(const std::string& what,
                                                  const std::string& predictions) const;

 private:
  // Counts a block of which these numbers were kept.
  virtual void count(const Batch& /*block*/,
                     const at::Tensor& /*outputs*/,
                     std::span<const float> /*kept*/) {}

  StoredSplit scored_;
  std::vector<float> kept_;
};

}  // namespace bp::trainer
