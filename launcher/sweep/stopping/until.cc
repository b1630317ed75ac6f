#include "launcher/sweep/stopping/until.h"

#include <cmath>

#include "base/refuse.h"
#include "base/text.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

Until parse_until(const std::string& text) {
  const std::size_t sign = text.find_first_of("<>");
  const auto fail = [&] {
    refuse(concat("--until ", text), "write METRIC<NUMBER or METRIC>NUMBER, such as 'loss<0.5'");
  };
  if (sign == std::string::npos || sign == 0) fail();
  std::string number = text.substr(sign + 1);
  if (number.starts_with('=')) number.erase(0, 1);
  const Value value = Value::of_scalar(number);
  if (!value.is_number()) fail();
  return {text.substr(0, sign), text[sign] == '<', value.number()};
}

bool is_reached(const Until& until, double value) {
  return until.below ? value <= until.value : value >= until.value;
}

}  // namespace bp::launcher::sweep
