#include "trainer/model/files/pickle_machine.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/files/byte_source.h"

namespace bp::trainer {
namespace {

using Id = std::uint32_t;

// The bytes of the pickle, and the position in them. Reads numbers and names, never beyond the end.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  // Throws `text` with the position of the current operation.
  [[noreturn]] void refuse(const std::string& text) const {
    throw Error(ErrorCode::invalid_argument, concat("the pickle's byte ", begin_, ": ", text));
  }
  unsigned next_operation() {
    begin_ = at_;
    return number<std::uint8_t>();
  }
  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) {
      refuse(concat(count, " bytes are needed, but ", bytes_.size() - at_, " are left"));
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  template <class T>
  T number() {
    return little_endian<T>(take(sizeof(T)).data());
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("a name does not end");
    const std::string_view text = take(end - at_);
    ++at_;
    return text;
  }
  // Reads a number of up to 8 bytes, in two's complement.
  std::int64_t long_number() {
    const std::size_t count = number<std::uint8_t>();
    if (count > 8) refuse(concat("a number of ", count, " bytes"));
    const std::string_view bytes = take(count);
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
    std::string wide(8, negative ? '\xff' : '\0');
    std::copy(bytes.begin(), bytes.end(), wide.begin());
    return little_endian<std::int64_t>(wide.data());
  }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
};

constexpr Id kNothing = 0xffffffff;

constexpr std::string_view kOrderedDict = "collections OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils _rebuild_parameter";
constexpr std::array<std::string_view, 13> kGlobals = {
    kOrderedDict,        kRebuildTensor,          kRebuildParameter,     "torch FloatStorage",
    "torch HalfStorage", "torch BFloat16Storage", "torch DoubleStorage", "torch LongStorage",
    "torch IntStorage",  "torch ShortStorage",    "torch CharStorage",   "torch ByteStorage",
    "torch BoolStorage"};

// Limits on the number of items, which are copied: ("storage", type, name, device, elements), and
// (storage, offset, shape, strides, requires_grad, hooks), to which later versions add one more.
constexpr std::size_t kStorageItems = 5;
constexpr std::size_t kMinTensorItems = 6;
constexpr std::size_t kMaxTensorItems = 7;

std::string hexadecimal(unsigned value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return {'0', 'x', kDigits[value >> 4 & 15], kDigits[value & 15]};
}

class Machine {
 public:
  explicit Machine(std::string_view pickle) : reader_(pickle) {}

  PickleValues run() {
    for (unsigned operation; (operation = reader_.next_operation()) != kStop;) {
      if (push_constant(operation) || build(operation) || use_memo(operation) ||
          use_global(operation)) {
        continue;
      }
      reader_.refuse(concat("operation ", hexadecimal(operation),
                            ", which torch.save never writes for a state_dict"));
    }
    if (stack_.size() != 1 || !marks_.empty()) reader_.refuse("it ends with values left over");
    if (!reader_.at_end()) reader_.refuse("something follows its end");
    values_.root = stack_.front();
    return std::move(values_);
  }

 private:
  static constexpr unsigned kStop = '.';

  // Handle the operations, with their names in Python's pickletools. Each returns false if the
  // operation is not one of its own.
  bool push_constant(unsigned operation) {
    switch (operation) {
      case 0x80:  // PROTO
        check_protocol();
        return true;
      case 'N':  // NONE
        push({});
        return true;
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        push({PickleKind::boolean, operation == 0x88, {}, {}});
        return true;
      case 'J':  // BININT
        push_number(reader_.number<std::int32_t>());
        return true;
      case 'K':  // BININT1
        push_number(reader_.number<std::uint8_t>());
        return true;
      case 'M':  // BININT2
        push_number(reader_.number<std::uint16_t>());
        return true;
      case 0x8a:  // LONG1
        push_number(reader_.long_number());
        return true;
      case 'X':  // BINUNICODE
        push({PickleKind::text, 0, std::string(reader_.take(reader_.number<std::uint32_t>())), {}});
        return true;
      default:
        return false;
    }
  }

  bool build(unsigned operation) {
    switch (operation) {
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case ')':  // EMPTY_TUPLE
        push({PickleKind::tuple, 0, {}, {}});
        return true;
      case 't':  // TUPLE
        push({PickleKind::tuple, 0, {}, pop_mark()});
        return true;
      case 0x85:  // TUPLE1
      case 0x86:  // TUPLE2
      case 0x87:  // TUPLE3
        push({PickleKind::tuple, 0, {}, pop(operation - 0x84)});
        return true;
      case '}':  // EMPTY_DICT
        push({PickleKind::dictionary, 0, {}, {}});
        return true;
      case 's':  // SETITEM
        set_items(pop(2));
        return true;
      case 'u':  // SETITEMS
        set_items(pop_mark());
        return true;
      default:
        return false;
    }
  }

  bool use_memo(unsigned operation) {
    switch (operation) {
      case 'q':  // BINPUT
        remember(reader_.number<std::uint8_t>());
        return true;
      case 'r':  // LONG_BINPUT
        remember(reader_.number<std::uint32_t>());
        return true;
      case 'h':  // BINGET
        recall(reader_.number<std::uint8_t>());
        return true;
      case 'j':  // LONG_BINGET
        recall(reader_.number<std::uint32_t>());
        return true;
      default:
        return false;
    }
  }

  bool use_global(unsigned operation) {
    switch (operation) {
      case 'c':  // GLOBAL
        push_global();
        return true;
      case 'Q':  // BINPERSID
        push_persistent();
        return true;
      case 'R':  // REDUCE
        call();
        return true;
      case 'b':  // BUILD
        drop_state();
        return true;
      default:
        return false;
    }
  }

  void check_protocol() {
    const unsigned protocol = reader_.number<std::uint8_t>();
    if (protocol != 2) reader_.refuse(concat("protocol ", protocol, "; torch.save writes 2"));
  }

  void push(PickleValue value) {
    if (values_.all.size() >= kMaxPickleValues) {
      reader_.refuse(concat("more than ", kMaxPickleValues, " values"));
    }
    values_.all.push_back(std::move(value));
    stack_.push_back(static_cast<Id>(values_.all.size() - 1));
  }
  void push_number(std::int64_t number) { push({PickleKind::integer, number, {}, {}}); }

  // An operation may only take the values above the last mark.
  [[nodiscard]] std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  std::vector<Id> pop(std::size_t count) {
    if (stack_.size() - floor() < count) reader_.refuse("the stack has too few values");
    std::vector<Id> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return items;
  }
  std::vector<Id> pop_mark() {
    if (marks_.empty()) reader_.refuse("the stack has no mark");
    std::vector<Id> items = pop(stack_.size() - floor());
    marks_.pop_back();
    return items;
  }
  PickleValue& top() {
    if (stack_.size() == floor()) reader_.refuse("the stack has too few values");
    return values_.all[stack_.back()];
  }

  void set_items(const std::vector<Id>& items) {
    PickleValue& target = top();
    if (target.kind != PickleKind::dictionary) {
      reader_.refuse(concat("items are put into a ", name_of(target.kind)));
    }
    if (items.size() % 2 != 0) reader_.refuse("a key without a value");
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void remember(std::size_t place) {
    (void)top();
    if (place >= kMaxPickleValues) reader_.refuse(concat("memo ", place, " is too large"));
    if (place >= memo_.size()) memo_.resize(place + 1, kNothing);
    memo_[place] = stack_.back();
  }
  void recall(std::size_t place) {
    if (place >= memo_.size() || memo_[place] == kNothing) {
      reader_.refuse(concat("memo ", place, " was never set"));
    }
    stack_.push_back(memo_[place]);
  }

  void push_global() {
    const std::string_view module = reader_.line();
    const std::string name = concat(module, ' ', reader_.line());
    if (std::find(kGlobals.begin(), kGlobals.end(), name) == kGlobals.end()) {
      reader_.refuse(concat("it asks for ", in_quotes(name), ", which no file of weights needs"));
    }
    push({PickleKind::global, 0, name, {}});
  }

  void push_persistent() {
    const Id id = pop(1).front();
    if (values_[id].kind != PickleKind::tuple || values_[id].items.size() != kStorageItems) {
      reader_.refuse(concat("a storage is named by a ", name_of(values_[id].kind), ", not by ",
                            kStorageItems, " values"));
    }
    push({PickleKind::persistent, 0, {}, std::vector(values_[id].items)});
  }

  void call() {
    const std::vector<Id> pair = pop(2);
    const PickleValue& function = values_[pair[0]];
    const PickleValue& arguments = values_[pair[1]];
    if (function.kind != PickleKind::global || arguments.kind != PickleKind::tuple) {
      reader_.refuse(
          concat("a ", name_of(function.kind), " is called with a ", name_of(arguments.kind)));
    }
    if (function.text == kOrderedDict && arguments.items.empty()) {
      push({PickleKind::dictionary, 0, {}, {}});
    } else if (function.text == kRebuildTensor && arguments.items.size() >= kMinTensorItems &&
               arguments.items.size() <= kMaxTensorItems) {
      push({PickleKind::tensor, 0, {}, std::vector(arguments.items)});
    } else if (function.text == kRebuildParameter && !arguments.items.empty() &&
               values_[arguments.items[0]].kind == PickleKind::tensor) {
      stack_.push_back(arguments.items[0]);
    } else {
      reader_.refuse(concat(in_quotes(function.text), " is called with ", arguments.items.size(),
                            " arguments that it does not take"));
    }
  }

  // Drops a state_dict's attributes: {"_metadata": ...}.
  void drop_state() {
    (void)pop(1);
    if (top().kind != PickleKind::dictionary) {
      reader_.refuse(concat("attributes are given to a ", name_of(top().kind)));
    }
  }

  PickleReader reader_;
  PickleValues values_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::vector<Id> memo_;
};

}  // namespace

std::string_view name_of(PickleKind kind) {
  switch (kind) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return "boolean";
    case PickleKind::integer:
      return "number";
    case PickleKind::text:
      return "text";
    case PickleKind::tuple:
      return "tuple";
    case PickleKind::dictionary:
      return "dictionary";
    case PickleKind::global:
      return "global";
    case PickleKind::persistent:
      return "storage";
    case PickleKind::tensor:
      return "tensor";
  }
  return "";
}

PickleValues run_pickle(const std::string& pickle) {
  if (pickle.size() > kMaxPickle) {
    throw Error(
        ErrorCode::invalid_argument,
        concat("its pickle has ", pickle.size(), " bytes; the most that bp reads is ", kMaxPickle));
  }
  return Machine(pickle).run();
}

}  // namespace bp::trainer
