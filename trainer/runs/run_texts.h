// The texts of a run's samples, from the store on which it was trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "trainer/data/sample_store.h"

namespace bp::trainer {

// A store that does not exist here, is damaged, or is for another task has no texts: a report is
// useful without them.
class RunTexts {
 public:
  // `settings`: the run's. Names of files that are not absolute are those of the current folder.
  RunTexts(const std::vector<Setting>& settings, Split split);

  // Returns the text, or "" if the store does not have this sample of this text, because it was
  // made again from other data.
  [[nodiscard]] std::string of(std::int64_t sample_id, std::int64_t text_id) const;

 private:
  std::optional<SampleStore> store_;
  Split split_;
};

}  // namespace bp::trainer
