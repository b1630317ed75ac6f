#include "trainer/data/source_rows.h"

#include "trainer/data/row_source.h"
#include "trainer/data/stop_signals.h"

namespace bp::trainer {
namespace {

std::unique_ptr<RowReader> open_rows(const Plan& plan, const SourceFile& source) {
  if (source.layout) return std::make_unique<RowSource>(source.path, *source.layout);
  return plan.options.task->open(source.path, plan.options);
}

}  // namespace

SourceRows::SourceRows(const Plan& plan, const SourceFile& source)
    : plan_(plan), source_(source), rows_(open_rows(plan, source)) {}

bool SourceRows::next() {
  if (plan_.options.limit > 0 && rows_->number() >= plan_.options.limit) return false;
  if (!rows_->next()) return false;
  throw_if_stopping("reading", source_.path);
  text_ = plan_.options.task->text(rows_->fields(), buffer_);
  return true;
}

}  // namespace bp::trainer
