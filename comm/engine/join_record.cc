#include "comm/engine/join_record.h"

#include <algorithm>

namespace bp {

JoinRecord join_record_of(const Operation& operation) {
  JoinRecord record;
  const ConstView whole = operation.whole();
  record.kind = operation.kind;
  record.reduce = operation.reduce;
  record.type = whole.type;
  record.count = whole.count;
  record.prescale = operation.prescale;
  record.postscale = operation.postscale;
  record.name_bytes = static_cast<std::uint8_t>(operation.name.size());
  std::ranges::copy(operation.name, record.name.begin());
  return record;
}

Operation operation_of(const JoinRecord& record) {
  Operation operation;
  operation.kind = record.kind;
  operation.reduce = record.reduce;
  operation.prescale = record.prescale;
  operation.postscale = record.postscale;
  operation.name.assign(record.name.data(), record.name_bytes);
  operation.output = {nullptr, record.count, record.type};
  return operation;
}

}  // namespace bp
