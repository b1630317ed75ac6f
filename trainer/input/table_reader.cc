#include "trainer/input/table_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/input/open_input.h"
#include "trainer/input/separator.h"

namespace bp::trainer {
namespace {

// Returns the first offset in [at, end) of one of three bytes. It searches eight bytes at a time.
std::size_t find_any(const char* data,
                     std::size_t at,
                     std::size_t end,
                     std::array<char, 3> wanted) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHighs = 0x8080808080808080U;
  if constexpr (std::endian::native == std::endian::little) {
    std::array<std::uint64_t, 3> patterns{};
    for (std::size_t i = 0; i < 3; ++i) {
      patterns[i] = kOnes * static_cast<unsigned char>(wanted[i]);
    }
    for (; at + 8 <= end; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + at, sizeof(word));
      std::uint64_t found = 0;
      for (const std::uint64_t pattern : patterns) {
        const std::uint64_t zero_where_equal = word ^ pattern;
        found |= (zero_where_equal - kOnes) & ~zero_where_equal & kHighs;
      }
      if (found != 0) {  // exact for the lowest byte only
        return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
      }
    }
  }
  while (at < end && data[at] != wanted[0] && data[at] != wanted[1] && data[at] != wanted[2]) {
    ++at;
  }
  return at;
}

}  // namespace

TableReader::TableReader(std::string path, const Dialect& dialect, const std::string& encoding)
    : path_(std::move(path)), dialect_(dialect), in_(open_input(path_, encoding)) {
  row_ = dialect_.header ? -1 : 0;
  refill();
  skip_byte_order_mark();
  skip_separator_line();
}

bool TableReader::next() {
  for (;;) {
    begin_ = next_;
    line_ = next_line_;
    const Scan result = scan();
    if (result == Scan::need_more) {
      refill();
      continue;
    }
    if (result == Scan::end_of_file) {
      return false;
    }
    if (spans_.size() == 1 && spans_[0].begin == begin_ && spans_[0].end == begin_) {
      continue;  // a blank line
    }
    ++row_;
    make_fields();
    return true;
  }
}

std::string TableReader::place() const {
  return row_ == 0 ? concat(path_, ", header (line ", line_, ")")
                   : concat(path_, ", row ", row_, " (line ", line_, ")");
}

TableReader::Scan TableReader::scan() {
  spans_.clear();
  std::size_t at = begin_;
  if (at == in_.size()) {
    return in_.at_end() ? Scan::end_of_file : Scan::need_more;
  }
  for (;;) {
    if (!scan_field(at)) {
      return Scan::need_more;
    }
    if (at == in_.size() || in_.data()[at] != dialect_.separator) {
      break;
    }
    ++at;
  }
  const std::size_t end = at;
  if (!scan_line_end(at)) {
    return Scan::need_more;
  }
  check_encoding(end);
  next_ = at;
  ++next_line_;
  return Scan::record;
}

bool TableReader::scan_field(std::size_t& at) {
  if (dialect_.quotes && at < in_.size() && in_.data()[at] == '"') {
    return scan_quoted(at);
  }
  const std::size_t begin = at;
  at = find_field_end(at);
  if (at == in_.size() && !in_.at_end()) {
    return false;
  }
  std::size_t end = at;
  const bool line_end = at == in_.size() || in_.data()[at] == '\n';
  if (!dialect_.quotes && line_end && end > begin && in_.data()[end - 1] == '\r') {
    --end;
  }
  spans_.push_back({begin, end, false});
  return true;
}

std::size_t TableReader::find_field_end(std::size_t at) const {
  // In a TSV, a lone CR is part of the text.
  const char carriage_return = dialect_.quotes ? '\r' : '\n';
  return find_any(in_.data(), at, in_.size(), {dialect_.separator, '\n', carriage_return});
}

bool TableReader::scan_quoted(std::size_t& at) {
  const std::size_t begin = ++at;
  bool escapes = false;
  for (;;) {
    const void* quote = std::memchr(in_.data() + at, '"', in_.size() - at);
    if (quote == nullptr) {
      if (!in_.at_end()) {
        return false;
      }
      ++row_;
      throw InputError(65, concat(place(), ": a quote is opened and never closed"),
                       "a quote inside a quoted field is written twice: \"\"");
    }
    at = static_cast<std::size_t>(static_cast<const char*>(quote) - in_.data());
    if (dialect_.backslash && backslashes_before(begin, at) % 2 == 1) {
      escapes = true;
      ++at;
      continue;
    }
    if (at + 1 == in_.size() && !in_.at_end()) {
      return false;
    }
    if (at + 1 == in_.size() || in_.data()[at + 1] != '"') {
      break;
    }
    escapes = true;
    at += 2;
  }
  escapes |= dialect_.backslash && std::memchr(in_.data() + begin, '\\', at - begin) != nullptr;
  spans_.push_back({begin, at, escapes});
  const bool is_escaped = backslashes_before(begin, at) % 2 == 1;
  ++at;
  if (at < in_.size() && in_.data()[at] != dialect_.separator && in_.data()[at] != '\n' &&
      in_.data()[at] != '\r') {
    ++row_;
    throw InputError(
        65, concat(place(), ": field ", spans_.size(), " continues after its closing quote"),
        is_escaped
            ? "if \\\" is a quote inside a quoted field of this file, say so: --quote-escape "
              "backslash"
            : "a quote inside a quoted field is written twice: \"\"");
  }
  return true;
}

std::size_t TableReader::backslashes_before(std::size_t begin, std::size_t at) const {
  std::size_t count = 0;
  while (at - count > begin && in_.data()[at - count - 1] == '\\') ++count;
  return count;
}

bool TableReader::scan_line_end(std::size_t& at) {
  if (at == in_.size()) {
    return true;
  }
  const bool carriage_return = in_.data()[at] == '\r';
  if (carriage_return && at + 1 == in_.size() && !in_.at_end()) {
    return false;
  }
  ++at;
  if (carriage_return && at < in_.size() && in_.data()[at] == '\n') {
    ++at;
  }
  return true;
}

void TableReader::refill() {
  try {
    if (!in_.refill(next_)) {
      ++row_;
      throw InputError(65,
                       concat(place(), ": is longer than ", InputBuffer::kLongestRow >> 20, " MiB"),
                       "look for a quote that is opened there and never closed");
    }
  } catch (const BrokenInput& broken) {
    const bool in_record = in_.size() > 0;
    row_ += in_record ? 1 : 0;
    throw InputError(broken.exit_code(), concat(in_record ? place() : path_, ": ", broken.what()),
                     broken.hint());
  }
  next_ = 0;
}

void TableReader::check_encoding(std::size_t end) {
  const std::size_t bad = find_invalid_utf8({in_.data() + begin_, end - begin_});
  if (bad == std::string_view::npos) {
    return;
  }
  ++row_;
  throw in_.not_utf8(place(), begin_ + bad);
}

void TableReader::skip_byte_order_mark() {
  if (std::string_view(in_.data(), in_.size()).starts_with(kByteOrderMark)) {
    next_ = kByteOrderMark.size();
  }
}

void TableReader::skip_separator_line() {
  const std::string_view rest(in_.data() + next_, in_.size() - next_);
  const SeparatorLine line = find_separator_line(rest);
  if (dialect_.quotes && line.length > 0) {
    announced_separator_ = line.separator;
    next_ += line.length;
    ++next_line_;
  }
}

void TableReader::make_fields() {
  fields_.clear();
  for (const Span& span : spans_) {
    char* begin = in_.data() + span.begin;
    char* end = in_.data() + span.end;
    if (dialect_.quotes && span.begin > 0 && begin[-1] == '"') {
      next_line_ += std::count(begin, end, '\n');
    }
    if (span.escapes) {
      char* to = begin;
      for (const char* from = begin; from < end; ++from) {
        const bool is_backslash = dialect_.backslash && *from == '\\' && from + 1 < end &&
                                  (from[1] == '"' || from[1] == '\\');
        from += is_backslash ? 1 : 0;
        *to++ = *from;
        from += !is_backslash && *from == '"' ? 1 : 0;
      }
      end = to;
    }
    fields_.emplace_back(begin, static_cast<std::size_t>(end - begin));
  }
  if (columns_ == 0) {
    columns_ = fields_.size();
  }
  if (dialect_.same_size && fields_.size() != columns_) {
    throw InputError(
        65, concat(place(), ": has ", fields_.size(), " fields, the first line has ", columns_),
        fields_.size() == columns_ + 1 && fields_.back().empty()
            ? concat("the row ends with a ", separator_name(dialect_.separator),
                     ", which makes an empty field: end the first line with one too, or remove it")
        : dialect_.quotes ? concat("a text with a ", separator_name(dialect_.separator),
                                   " or a line break must be in quotes; --separator names another "
                                   "separator")
                          : "a tab or a line break inside a text must be replaced by a space");
  }
}

}  // namespace bp::trainer
