// Where `bert_train predict` writes its rows: a file, or standard output.
#pragma once

#include <optional>
#include <string>

#include "trainer/data/whole_file.h"

namespace bp::trainer {

class PredictionOutput {
 public:
  // `file`: empty for standard output. A file appears with finish(), complete. Throws io, as every
  // function here does.
  explicit PredictionOutput(const std::string& file);

  void put(const std::string& text);
  // Lets the reader of standard output have what was added.
  void flush();
  void finish();

 private:
  std::optional<PartFile> file_;
};

}  // namespace bp::trainer
