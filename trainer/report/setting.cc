#include "trainer/report/setting.h"

namespace bp::trainer {

std::string value_of(const std::vector<Setting>& settings, const std::string& key) {
  for (const Setting& setting : settings) {
    if (setting.key == key) {
      return setting.value;
    }
  }
  return "";
}

}  // namespace bp::trainer
