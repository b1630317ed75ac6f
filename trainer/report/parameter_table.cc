#include "trainer/report/parameter_table.h"

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

std::string row_of(const ModelPart& part, const std::string& rate) {
  return concat("<tr><th scope=\"row\">", html(part.name), "</th><td>",
                with_commas(part.parameters), "</td><td>", with_commas(part.trained), "</td><td>",
                with_commas(part.parameters - part.trained), "</td><td>", rate, "</td></tr>\n");
}

}  // namespace

ModelPart sum_of(const std::vector<ModelPart>& parts) {
  ModelPart sum{.name = "all"};
  for (const ModelPart& part : parts) {
    sum.parameters += part.parameters;
    sum.trained += part.trained;
  }
  return sum;
}

std::string parameters_section(const std::vector<ModelPart>& parts) {
  if (parts.empty()) return "";
  std::string rows;
  for (const ModelPart& part : parts) {
    rows += row_of(part, part.trained == 0 ? "&ndash;" : brief(part.rate));
  }
  const ModelPart all = sum_of(parts);
  return concat("<section class=\"card\"><h2>Parameters</h2>\n<p class=\"quiet\">",
                with_commas(all.parameters), " parameters, of which ", with_commas(all.trained),
                " are trained.</p>\n<details><summary>of each part</summary><div class=\"scroll\" "
                "tabindex=\"0\"><table><thead><tr><th scope=\"col\">part</th><th "
                "scope=\"col\">parameters</th>"
                "<th scope=\"col\">trained</th><th scope=\"col\">frozen</th>"
                "<th scope=\"col\">rate factor</th></tr></thead>\n<tbody>\n",
                rows, "</tbody>\n<tfoot>\n", row_of(all, ""),
                "</tfoot></table></div></details></section>\n");
}

}  // namespace bp::trainer
