// The files of a run that later commands read: config.yaml and metrics.jsonl.
#include "fuzz.h"
#include "input_file.h"
#include "trainer/report/metrics.h"
#include "trainer/train/run_folder.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bp::trainer;
  static const bp::test::InputFile file("");
  if (size == 0) return 0;
  const std::string& path = file.write(bp::test::text_of(data + 1, size - 1));
  bp::test::read_input([&] {
    if ((data[0] & 1U) != 0) {
      (void)settings_yaml(read_settings(path));
    } else {
      (void)read_metrics(path);
    }
  });
  return 0;
}
