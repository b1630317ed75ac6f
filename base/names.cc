// The names of the public enumerators.
#include "bp/error.h"
#include "bp/types.h"

namespace bp {

std::string_view name_of(DataType type) {
  switch (type) {
    case DataType::u8:
      return "u8";
    case DataType::i8:
      return "i8";
    case DataType::i32:
      return "i32";
    case DataType::i64:
      return "i64";
    case DataType::f16:
      return "f16";
    case DataType::bf16:
      return "bf16";
    case DataType::f32:
      return "f32";
    case DataType::f64:
      return "f64";
  }
  return "unknown type";
}

std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::average:
      return "average";
    case ReduceOp::min:
      return "min";
    case ReduceOp::max:
      return "max";
    case ReduceOp::product:
      return "product";
  }
  return "unknown reduction";
}

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::peer_lost:
      return "peer_lost";
    case ErrorCode::io:
      return "io";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::unavailable:
      return "unavailable";
  }
  return "unknown error";
}

}  // namespace bp
