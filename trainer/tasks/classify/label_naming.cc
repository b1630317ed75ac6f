#include "trainer/tasks/classify/label_naming.h"

#include <algorithm>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::string nearest_hint(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? concat("these are: ", shown_labels(names))
                         : concat("did you mean '", nearest, "'?");
}

void require_given(const LabelMap& map, const std::vector<std::string>& labels) {
  for (const std::string& name : map.classes()) {
    if (has(labels, name)) continue;
    throw InputError(65, concat(map.place_of(name), ": class '", name, "' is none of --labels"),
                     nearest_hint(name, labels));
  }
}

void require_two(const std::vector<std::string>& classes, const std::string& option) {
  if (classes.size() != 1) return;
  throw InputError(2, concat(option, " gives only one class, '", classes.front(), "'"),
                   "a model learns to tell two or more classes apart");
}

void require_known(const std::vector<std::string>& given, const std::vector<std::string>& known) {
  for (const std::string& name : given) {
    if (has(known, name)) continue;
    throw InputError(2, concat("class '", name, "' is none of the model's labels"),
                     nearest_hint(name, known));
  }
}

}  // namespace

LabelNaming::LabelNaming(const ClassOptions& options, const std::string& encoding)
    : form_(options.label_form), classes_(options.labels), origin_("of --labels") {
  if (!options.multi_label) require_two(classes_, "--labels");
  if (!options.label_map.empty()) {
    map_ = LabelMap(options.label_map, encoding);
    if (classes_.empty()) {
      classes_ = map_.classes();
      origin_ = concat("in ", options.label_map);
      if (!options.multi_label) require_two(classes_, options.label_map);
    }
    require_given(map_, classes_);
  }
  if (!options.known_labels.empty()) {
    require_known(classes_, options.known_labels);
    classes_ = options.known_labels;
    origin_ = "of the model";
  }
}

std::optional<std::string> LabelNaming::name_of(std::string_view label) const {
  const std::optional<std::string> formed = formed_label(label, form_);
  if (!formed || formed->empty()) return formed;
  return map_.class_of(*formed);
}

}  // namespace bp::trainer
