// A --config file of bert_train. Its options must be the same after a run writes them to
// config.yaml and reads them again, except for values that are not UTF-8, which YAML cannot hold.
#include <cstdlib>
#include <variant>

#include "base/utf8.h"
#include "fuzz.h"
#include "input_file.h"
#include "trainer/commands/command_line.h"
#include "trainer/run/run_settings.h"

namespace {

using namespace bp::trainer;

std::vector<bp::Setting> settings_of(const std::string& path) {
  return std::get<TrainOptions>(parse_command_line({"data.csv", "--config", path}).options)
      .settings;
}

}  // namespace

FUZZ_TARGET(config_file) {
  static const bp::test::InputFile file(".yaml");
  static const bp::test::InputFile written(".yaml");
  const std::string& path = file.write(bp::test::text_of(data, size));
  bp::test::read_input([&] {
    const std::vector<bp::Setting> settings = settings_of(path);
    const auto again =
        bp::test::read_own([&] { return read_settings(written.write(settings_yaml(settings))); });
    if (again.size() != settings.size()) std::abort();
    for (std::size_t i = 0; i < again.size(); ++i) {
      const bool same = again[i].value == settings[i].value;
      const bool text = bp::find_invalid_utf8(settings[i].value) == std::string::npos;
      if (again[i].key != settings[i].key || (text && !same)) std::abort();
    }
  });
  return 0;
}
