#include "comm/engine/join_record.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

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

std::string problem_of(const JoinRecord& record) {
  using Kind = Operation::Kind;
  if (record.kind > Kind::join || record.kind == Kind::message) {
    return concat("it asks for operation number ", static_cast<int>(record.kind),
                  record.kind > Kind::join ? ", which does not exist" : ", which is no collective");
  }
  if (std::ranges::find(kReduceOps, record.reduce) == kReduceOps.end()) {
    return concat("it asks for reduction number ", static_cast<int>(record.reduce),
                  ", which does not exist");
  }
  const std::size_t element = size_of(record.type);
  if (element == 0) {
    return concat("it has elements of type number ", static_cast<int>(record.type),
                  ", which does not exist");
  }
  if (record.kind == Kind::all_reduce && !can_reduce(record.reduce, record.type)) {
    return concat("it asks for the reduction ", name_of(record.reduce), " of ",
                  name_of(record.type), " elements, which is not defined");
  }
  if (record.count > std::numeric_limits<std::ptrdiff_t>::max() / element) {
    return concat("it has ", record.count, " ", name_of(record.type),
                  " elements, more bytes than there are addresses");
  }
  if (record.name_bytes > record.name.size()) {
    return concat("its name has ", static_cast<int>(record.name_bytes),
                  " bytes, and the longest has ", record.name.size());
  }
  return "";
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
