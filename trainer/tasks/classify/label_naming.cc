#include "trainer/tasks/classify/label_naming.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/common/text_list.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void require_given(const LabelMap& map, const std::vector<std::string>& labels) {
  for (const std::string& name : map.classes()) {
    if (has(labels, name)) continue;
    throw InputError(65, concat(map.place_of(name), ": class '", name, "' is none of --labels"),
                     did_you_mean(name, labels, concat("these are: ", shown_labels(labels))));
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
                     did_you_mean(name, known, concat("these are: ", shown_labels(known))));
  }
}

}  // namespace

std::optional<std::string> formed_label(std::string_view label, const LabelForm& form) {
  if (form.trim || form.round) {
    label = without_blanks(label);
  }
  if (!form.round || label.empty()) {
    return std::string(label);
  }
  const auto number = written_number(label);
  constexpr double kLargest = 9e15;  // whole numbers below this are exact
  if (!number || std::abs(*number) > kLargest) {
    return std::nullopt;
  }
  return std::to_string(std::llround(*number));
}

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
  std::optional<std::string> formed = formed_label(label, form_);
  if (!formed || formed->empty()) return formed;
  return map_.class_of(*formed);
}

bool RowLabels::read(std::string_view written) {
  names_.clear();
  if (!options_.multi_label) return add(written);
  for (bool more = true; more;) {
    const std::size_t end = written.find(options_.label_separator);
    more = end != std::string_view::npos;
    if (!add(without_blanks(written.substr(0, end)))) return false;
    if (more) written.remove_prefix(end + 1);
  }
  std::ranges::sort(names_);
  const auto repeated = std::ranges::unique(names_);
  names_.erase(repeated.begin(), repeated.end());
  return true;
}

bool RowLabels::add(std::string_view label) {
  std::optional<std::string> name = naming_.name_of(label);
  if (!name) refused_ = label;
  if (name && !name->empty()) names_.push_back(std::move(*name));
  return name.has_value();
}

std::string_view RowLabels::stratum() {
  if (names_.size() == 1) return names_.front();
  stratum_ = list_of(names_, {&options_.label_separator, 1});
  return stratum_;
}

}  // namespace bp::trainer
