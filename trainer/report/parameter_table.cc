#include "trainer/report/parameter_table.h"

#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
ModelPart sum_of(const std::vector<ModelPart>& parts) {
  ModelPart sum{.name = "all"};
  for (const ModelPart& part : parts) {
    sum.parameters += part.parameters;
    sum.trained += part.trained;
  }
  return sum;
}

Section parameters_section(const std::vector<ModelPart>& parts) {
  const ModelPart all = sum_of(parts);
  Section section{.title = "Parameters",
                  .note = concat(with_commas(all.parameters), " parameters, of which ",
                                 with_commas(all.trained), " are trained."),
                  .table = table_of({"part", "parameters", "trained", "frozen", "rate factor"}),
                  .open = 0,
                  .fold = "of each part"};
  const auto add = [&](const ModelPart& part, const std::string& rate, Table::Row::Kind kind) {
    section.table.add({part.name, with_commas(part.parameters), with_commas(part.trained),
                       with_commas(part.parameters - part.trained), rate},
                      kind);
  };
  for (const ModelPart& part : parts) {
    add(part, part.trained == 0 ? "-" : brief(part.rate), Table::Row::Kind::body);
  }
  if (!parts.empty()) add(all, "", Table::Row::Kind::foot);
  return section;
}

}  // namespace bp::trainer
