#include "trainer/tasks/text_columns.h"

namespace bp::trainer {

void TextColumns::add_options(OptionSet& set) {
  set.text({"text", "Column or JSON key of the text: a name, or a number from 1", "", "COLUMN"},
           first_)
      .others = {"text-column", "text-column-name", "text-column-names", "sentence1-key", "t"};
  set.text({"text2", "Column or JSON key of a second text, for a model of pairs", "none", "COLUMN"},
           second_)
      .others = {"sentence2-key", "text-pair"};
}

std::vector<Field> TextColumns::fields() const {
  std::vector<Field> fields = {{"text", first_}};
  if (pairs()) fields.push_back({"text2", second_});
  return fields;
}

void TextColumns::add_to(SampleSchema& schema) const {
  if (pairs()) schema.push_back({.name = std::string(kTokenTypes), .shape = Shape::per_token});
}

std::string_view TextColumns::text(Fields fields, std::string& buffer) const {
  if (!pairs()) return fields[0];
  buffer.assign(fields[0]).append("\n").append(fields[1]);
  return buffer;
}

void TextColumns::make(Fields fields,
                       std::span<const ArrayView> arrays,
                       TokenWindows& windows,
                       const SampleSink& sink) const {
  if (!pairs()) {
    windows.encode(fields[0]);
    while (windows.next()) sink(windows.sample(), arrays);
    return;
  }
  windows.encode_pair(fields[0], fields[1]);
  (void)windows.next();  // a pair is one sample
  std::vector<ArrayView> with_types(arrays.begin(), arrays.end());
  with_types.emplace_back(windows.token_types());
  sink(windows.sample(), with_types);
}

}  // namespace bp::trainer
