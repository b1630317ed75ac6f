#include "trainer/data/source_rows.h"

#include "trainer/data/stop_signals.h"

namespace bp::trainer {

SourceRows::SourceRows(const Plan& plan, const SourceFile& source)
    : plan_(plan), source_(source), rows_(open_source(source.path, source.layout)) {}

bool SourceRows::next() {
  if (plan_.options.limit > 0 && rows_.number() >= plan_.options.limit) return false;
  if (!rows_.next()) return false;
  throw_if_stopping("reading", source_.path);
  text_ = plan_.options.task->text(rows_.fields(), buffer_);
  return true;
}

}  // namespace bp::trainer
