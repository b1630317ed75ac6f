#include "trainer/data/source_rows.h"

#include <optional>
#include <utility>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/label_form.h"
#include "trainer/data/stop_signals.h"

namespace bp::trainer {

SourceRows::SourceRows(const Plan& plan, const SourceFile& source)
    : plan_(plan), source_(source), rows_(open_source(source.path, source.layout)) {}

bool SourceRows::next() {
  if (plan_.options.limit > 0 && row_.number >= plan_.options.limit) return false;
  if (!rows_.next()) return false;
  throw_if_stopping("reading", source_.path);
  std::optional<std::string> label = formed_label(rows_.label(), plan_.options.label_form);
  if (!label) {
    throw InputError(65, concat(rows_.place(), ": label '", rows_.label(), "' is not a number"),
                     "--round-labels is for labels that are numbers; leave it out, or "
                     "remove the row");
  }
  label_ = std::move(*label);
  row_ = {rows_.number(), rows_.text(), label_};
  return true;
}

}  // namespace bp::trainer
