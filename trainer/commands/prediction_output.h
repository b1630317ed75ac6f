// Where `bert_train predict` writes its rows: a file, or standard output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/data/whole_file.h"
#include "trainer/report/predictions.h"

namespace bp::trainer {

class PredictionOutput {
 public:
  // `file`: empty for standard output. A file appears with finish(), complete. Throws io, as every
  // function here does.
  PredictionOutput(const std::string& file,
                   PredictionFormat format,
                   std::vector<PredictionColumn> columns);

  void add(const PredictionRow& row) { put(lines_.line(row)); }
  // Lets the reader of standard output have what was added.
  void flush();
  void finish();

 private:
  void put(const std::string& text);

  PredictionLines lines_;
  std::optional<PartFile> file_;
};

}  // namespace bp::trainer
