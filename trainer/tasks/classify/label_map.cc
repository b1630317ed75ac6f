#include "trainer/tasks/classify/label_map.h"

#include <iterator>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/input/table_format.h"
#include "trainer/input/table_reader.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr const char* kShape = "each line has a label, a tab or comma, and the name of its class";

TableReader open_map(const std::string& path, const std::string& encoding) {
  const auto two_columns = [](const std::vector<std::string>& row) { return row.size() == 2; };
  TableFormat format;
  try {
    format = find_table_format({.path = path, .encoding = encoding, .holds_columns = two_columns});
  } catch (const InputError& error) {
    constexpr int kSeparator = 2;  // several fit; --separator is for the data files alone
    if (error.exit_code() != kSeparator) throw;
    throw InputError(65, error.what(), kShape);
  }
  if (format.text == TextFormat::jsonl) {
    throw InputError(65, concat(path, " has JSON objects and cannot map labels"), kShape);
  }
  Dialect dialect = format.dialect(false);
  dialect.same_size = false;  // checked here
  return {path, dialect, encoding};
}

}  // namespace

FileHash hash_label_map(const std::string& path) {
  try {
    return hash_file(path);
  } catch (const InputError& error) {
    throw InputError(error.exit_code(), concat("--label-map: ", error.what()),
                     "name the file with --label-map; eval needs the one of its run too");
  }
}

LabelMap::LabelMap(const std::string& path, const std::string& encoding) {
  TableReader rows = open_map(path, encoding);
  while (rows.next()) {
    if (rows.fields().size() != 2) {
      throw InputError(
          65,
          concat(rows.place(), ": has ", counted(std::ssize(rows.fields()), "field"), ", not 2"),
          kShape);
    }
    add(rows.fields()[0], rows.fields()[1], rows.place());
  }
  if (targets_.empty()) throw InputError(65, concat(path, " maps no label"), kShape);
}

void LabelMap::add(std::string_view label, std::string_view name, const std::string& place) {
  if (label.empty() || name.empty()) {
    throw InputError(65, concat(place, ": the ", label.empty() ? "label" : "class", " is empty"),
                     kShape);
  }
  const auto [entry, is_new] =
      targets_.try_emplace(std::string(label), Target{std::string(name), place});
  if (!is_new) {
    throw InputError(65, concat(place, ": the label '", label, "' occurs a second time"),
                     concat("the first is in ", entry->second.place, "; remove one of them"));
  }
  if (places_.try_emplace(std::string(name), place).second) classes_.emplace_back(name);
}

std::string LabelMap::class_of(std::string_view label) const {
  const auto found = targets_.find(label);
  return found == targets_.end() ? std::string(label) : found->second.name;
}

const std::string& LabelMap::place_of(const std::string& name) const { return places_.at(name); }

}  // namespace bp::trainer
