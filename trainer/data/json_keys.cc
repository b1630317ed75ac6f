#include "trainer/data/json_keys.h"

#include <string>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/json_object.h"
#include "trainer/data/shown_names.h"

namespace bp::trainer {
namespace {

[[noreturn]] void refuse_key(const std::string& path,
                             const std::string& key,
                             const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(key, names);
  const bool wrapped = names.size() == 1 && names.front().ends_with("[]");
  throw InputError(2,
                   concat(path, " has no key '", key, "': its first row has ",
                          names.empty() ? "none" : shown_names(names)),
                   wrapped ? concat("if it holds the rows, make one line of each: jq -c '.",
                                    names.front(), "' OLD > NEW")
                   : nearest.empty()
                       ? "name the keys with --text and --label; a dot names a key inside an "
                         "object: --text review.body"
                       : concat("did you mean '", nearest, "'?"));
}

}  // namespace

JsonKeys find_json_keys(const TableQuestion& question) {
  constexpr int kEnough = 1000;
  JsonKeys keys{question.text_column, question.label_column};
  if (keys.text == keys.label) {
    throw InputError(2, concat("text and label are both key '", keys.text, "' of ", question.path),
                     "name two keys with --text and --label");
  }
  JsonLinesReader reader(question.path, keys, question.encoding);
  std::vector<std::string> names;
  bool has_text = false;
  bool has_label = !question.needs_label;
  while (reader.row() < kEnough && !(has_text && has_label) && reader.next()) {
    if (reader.row() == 1) names = names_in_object(reader.line());
    has_text = has_text || reader.has_text();
    has_label = has_label || reader.has_label();
  }
  if (reader.row() == 0) {
    throw InputError(65, concat(question.path, " is empty"), "it needs a text and a label per row");
  }
  if (!has_text) refuse_key(question.path, keys.text, names);
  if (!has_label) refuse_key(question.path, keys.label, names);
  return keys;
}

}  // namespace bp::trainer
