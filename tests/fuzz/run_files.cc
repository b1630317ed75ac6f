// The files of a run that later commands read: config.yaml and metrics.jsonl. An accepted file must
// be the same after it is written and read again.
#include <cstdlib>

#include "fuzz.h"
#include "input_file.h"
#include "trainer/report/metrics.h"
#include "trainer/run/run_settings.h"

namespace {

using namespace bp::trainer;

// Reads the settings and returns them as bp writes them.
std::string settings_at(const std::string& path) { return settings_yaml(read_settings(path)); }

std::string metrics_at(const std::string& path) {
  const Metrics metrics = read_metrics(path);
  std::string text;
  for (const StepRecord& step : metrics.steps) text += to_json_line(step);
  for (const EvaluationRecord& evaluation : metrics.evaluations) text += to_json_line(evaluation);
  return text;
}

}  // namespace

FUZZ_TARGET(run_files) {
  static const bp::test::InputFile file("");
  if (size == 0) return 0;
  const std::string& path = file.write(bp::test::text_of(data + 1, size - 1));
  bp::test::read_input([&] {
    const auto read = (data[0] & 1U) != 0 ? settings_at : metrics_at;
    const std::string once = read(path);
    if (bp::test::read_own([&] { return read(file.write(once)); }) != once) std::abort();
  });
  return 0;
}
