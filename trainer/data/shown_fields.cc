#include "trainer/data/shown_fields.h"

#include <cstddef>

namespace bp::trainer {
namespace {

std::string list(const std::string& before, const std::vector<Field>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += i == 0 ? "" : i + 1 == fields.size() ? " and " : ", ";
    text += before + fields[i].name;
  }
  return text;
}

}  // namespace

std::string options_of(const std::vector<Field>& fields) { return list("--", fields); }

std::string needed_text(const std::vector<Field>& fields) {
  return "it needs " + list("a ", fields) + " per row";
}

}  // namespace bp::trainer
