#include "trainer/prepare/source_rows.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/common/stop_signals.h"
#include "trainer/input/row_source.h"

namespace bp::trainer {
namespace {

RowSequence open_rows(const Plan& plan, const SourceFiles& source) {
  std::vector<RowSequence::Open> files;
  for (const DataFile& file : source.files) {
    files.emplace_back([&plan, &file]() -> std::unique_ptr<RowReader> {
      if (file.layout) return std::make_unique<RowSource>(file.path, *file.layout);
      return plan.options.task->open(file.path, plan.options);
    });
  }
  return RowSequence(std::move(files), plan.options.limit);
}

}  // namespace

SourceRows::SourceRows(const Plan& plan, const SourceFiles& source)
    : plan_(plan), source_(source), rows_(open_rows(plan, source)) {}

bool SourceRows::next() {
  if (!rows_.next()) return false;
  throw_if_stopping("reading", source_.files[rows_.file()].path);
  text_ = plan_.options.task->text(rows_.fields(), buffer_);
  return true;
}

std::string place_of(const Plan& plan, const SourceFiles& source, std::int64_t number) {
  const std::string brief = concat(source.name, ", row ", number);
  if (source.files.size() == 1) return brief;
  for (SourceRows rows(plan, source); rows.next();) {
    if (rows.number() == number) return rows.place();
  }
  return brief;  // the files have changed since
}

}  // namespace bp::trainer
