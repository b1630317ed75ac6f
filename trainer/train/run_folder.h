// RUN/: what a run leaves behind. Rank 0 alone writes it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainer/train/options.h"

namespace bp::trainer {

// runs/reviews for examples/reviews.csv.
[[nodiscard]] std::string default_run(const std::string& data);

class RunFolder {
 public:
  // Throws InputError (2, naming --run) when something of that name is there, io when it can't be
  // made.
  static RunFolder create(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Removes it again if nothing was written: a run that could not begin is in nobody's way.
  void remove_if_empty() const;

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// config.yaml: keys are the long options, comments say where each value comes from.
[[nodiscard]] std::string settings_yaml(const std::vector<Setting>& settings);
// Throws InputError (65) naming the file and the line.
[[nodiscard]] std::vector<Setting> read_settings(const std::string& path);

// The options on data that an evaluation takes over from `source` when that is a run's folder:
// all of them for the run's own data; for another file only how to read it, with the model's
// vocabulary, all of it in one split. For a model's folder: its vocabulary.
[[nodiscard]] std::vector<std::string> inherited_arguments(const std::string& source,
                                                           const std::string& data);

// What a run was trained on. Throws InputError (2) when `source` is no run's folder.
[[nodiscard]] std::string data_of_run(const std::string& source);

// The model's folder of a run's or model's folder. Throws InputError (66) when there is none.
[[nodiscard]] std::string model_folder(const std::string& source);

}  // namespace bp::trainer
