#include "trainer/data/json_visitor.h"

#include "base/text.h"
#include "base/utf8.h"
#include "trainer/data/json_field.h"

namespace bp::trainer {
namespace {

const char* const kOneObject =
    "each line must be one object; an object over several lines becomes one line with jq: jq -c . "
    "OLD > NEW";

}  // namespace

// nlohmann's text is "[...] parse error at line 1, column 9: syntax error while parsing value -
// invalid literal; last read: 'nul'". Its line is always 1.
std::string reason_of(const std::string& what) {
  constexpr std::size_t kLongest = 120;
  const std::size_t dash = what.find(" - ");
  const std::size_t begin = dash != std::string::npos ? dash + 3 : what.find("] ") + 2;
  const std::string reason = what.substr(begin);
  return reason.size() <= kLongest ? reason : valid_utf8(reason.substr(0, kLongest)) + "...";
}

void refuse_json_root(std::string_view kind) {
  throw BadJson(concat("is ", kind, ", not an object"),
                "each line must be an object such as {\"text\": \"fine\", \"label\": 1}");
}

void refuse_json_syntax(std::size_t position, const std::string& reason) {
  throw BadJson(concat("is not JSON at byte ", position, " of the line: ", reason), kOneObject);
}

}  // namespace bp::trainer
