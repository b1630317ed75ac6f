#include "trainer/commands/prediction_rows.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "trainer/common/look_up.h"
#include "trainer/common/stop_signals.h"
#include "trainer/input/byte_input.h"
#include "trainer/input/json_lines_reader.h"
#include "trainer/input/line_reader.h"
#include "trainer/input/row_reader.h"
#include "trainer/input/row_source.h"
#include "trainer/input/shown_names.h"
#include "trainer/prepare/data_files.h"

namespace bp::trainer {
namespace {

constexpr const char* kName = "standard input";

// Returns whether a read would not wait: bytes, the end or an error are there.
bool is_ready(int descriptor, int milliseconds) {
  struct pollfd place = {descriptor, POLLIN, 0};
  return ::poll(&place, 1, milliseconds) > 0;
}

// The bytes of a pipe, a terminal or a socket, as they come.
class StreamInput final : public ByteInput {
 public:
  // `descriptor` stays the caller's, and must stay open. `name`: for messages. Calls
  // `before_waiting` each time when no byte is there yet.
  StreamInput(int descriptor, std::string name, std::function<void()> before_waiting)
      : descriptor_(descriptor),
        name_(std::move(name)),
        before_waiting_(std::move(before_waiting)) {}

  [[nodiscard]] const char* content_name() const override { return "the input"; }
  [[nodiscard]] const char* encoding_hint() const override {
    return "convert it first, for instance with iconv -f windows-1252 -t utf-8";
  }

 private:
  // Throws Interrupted if this process is asked to stop while it waits.
  std::size_t read_next(std::span<char> room) override {
    for (;;) {
      if (!is_ready(descriptor_, 0)) wait();
      const ssize_t count = ::read(descriptor_, room.data(), room.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR && errno != EAGAIN) {
        throw BrokenInput(66, concat("it cannot be read: ", error_text(errno)),
                          "is the program that writes it still there?");
      }
    }
  }
  void wait() {
    constexpr int kBetweenLooks = 200;  // milliseconds
    before_waiting_();
    while (!is_ready(descriptor_, kBetweenLooks)) throw_if_stopping("reading", name_);
  }

  int descriptor_;
  std::string name_;
  std::function<void()> before_waiting_;
};

// Each line is the text of a row.
class LineRows : public RowReader {
 public:
  LineRows(std::unique_ptr<ByteInput> input, std::size_t fields)
      : lines_(kName, std::move(input)), fields_(fields) {}

  bool next() override {
    if (!lines_.next()) return false;
    fields_[0] = lines_.line();
    return true;
  }
  [[nodiscard]] Fields fields() const override { return fields_; }
  [[nodiscard]] std::int64_t number() const override { return lines_.number(); }
  [[nodiscard]] std::string place() const override { return lines_.place(); }

 private:
  LineReader lines_;
  std::vector<std::string_view> fields_;  // the text, and the answers, which are empty
};

class JsonRows : public RowReader {
 public:
  JsonRows(std::unique_ptr<ByteInput> input, const std::vector<Field>& fields)
      : reader_(kName, keys_of(fields), std::move(input)),
        fields_(fields),
        values_(fields.size()),
        seen_(fields.size()) {
    for (std::size_t i = 0; i < fields.size(); ++i) reader_.read_arrays(i, fields[i].arrays);
  }

  bool next() override {
    if (!reader_.next()) {
      require_keys();
      return false;
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      seen_[i] = seen_[i] || reader_.found(i) || fields_[i].answer;
      values_[i] = reader_.value(i);
    }
    require_any_key();
    if (reader_.row() == kRowsWithKey) require_keys();
    return true;
  }
  [[nodiscard]] Fields fields() const override { return values_; }
  [[nodiscard]] std::int64_t number() const override { return reader_.row(); }
  [[nodiscard]] std::string place() const override { return reader_.place(); }

 private:
  static std::vector<std::string> keys_of(const std::vector<Field>& fields) {
    std::vector<std::string> keys;
    for (const Field& field : fields) keys.push_back(field.column);
    return keys;
  }
  // A file is read twice to find a wrong name; a stream cannot be. A row may lack a key, as in a
  // file, but the first one has none of them only if the names are wrong.
  void require_any_key() const {
    const Field* missing = nullptr;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].answer) continue;
      if (seen_[i]) return;
      if (missing == nullptr) missing = &fields_[i];
    }
    if (missing != nullptr) refuse(place(), *missing);
  }
  void require_keys() const {
    for (std::size_t i = 0; i < fields_.size() && reader_.row() > 0; ++i) {
      if (!seen_[i] && !fields_[i].answer) refuse(concat("each row up to ", place()), fields_[i]);
    }
  }
  [[noreturn]] static void refuse(const std::string& where, const Field& field) {
    throw InputError(65, concat(where, ": has no key '", field.column, "'"),
                     concat("name the key with --", field.name));
  }

  static constexpr std::int64_t kRowsWithKey = 1000;  // one of which must have the key

  JsonLinesReader reader_;
  std::vector<Field> fields_;
  std::vector<std::string_view> values_;
  std::vector<bool> seen_;  // keys that a row has had
};

std::unique_ptr<RowReader> open_standard_input(const PrepareOptions& options,
                                               std::unique_ptr<ByteInput> input) {
  const std::vector<Field> fields = options.task->fields();
  if (options.format == TextFormat::jsonl) {
    return std::make_unique<JsonRows>(std::move(input), fields);
  }
  if (options.format != TextFormat::automatic) {
    throw InputError(2, "a table cannot be read from standard input",
                     "write it to a file first; or give one text a line, or --format jsonl");
  }
  const auto texts =
      std::ranges::count_if(fields, [](const Field& field) { return !field.answer; });
  if (texts != 1) {
    throw InputError(2, concat("a line of standard input has no place for ", texts, " fields"),
                     "give JSON lines, with --format jsonl");
  }
  return std::make_unique<LineRows>(std::move(input), fields.size());
}

std::unique_ptr<RowReader> open_file(const std::string& path, const PrepareOptions& options) {
  if (options.task->has_own_format(path)) return options.task->open(path, options);
  const TableLayout layout =
      inspect_table({path, options.format, options.header, options.task->fields(),
                     options.separator, options.backslash, options.encoding, Answers::optional});
  return std::make_unique<RowSource>(path, layout);
}

}  // namespace

std::unique_ptr<RowReader> open_prediction_rows(const std::string& source,
                                                const PrepareOptions& options,
                                                const std::function<void()>& before_waiting) {
  if (source == "-") {
    if (!options.more_sources.empty()) {
      throw InputError(2, "--also adds the rows of files to a file, not to standard input",
                       "give one of the files as DATA");
    }
    const auto open = [&] {
      return open_standard_input(
          options, std::make_unique<StreamInput>(STDIN_FILENO, kName, before_waiting));
    };
    return std::make_unique<RowSequence>(std::vector<RowSequence::Open>{open}, options.limit);
  }
  if (source.find(' ') != std::string::npos && !path_exists(source)) {
    throw InputError(66, concat("cannot read ", source, ": there is no such file"),
                     concat("a text comes by standard input: echo ", quote_shell_word(source),
                            " | bert_train predict RUN -"));
  }
  std::vector<RowSequence::Open> files;
  for (const std::string& file : data_files(source, options.more_sources, options)) {
    files.emplace_back([file, &options] { return open_file(file, options); });
  }
  return std::make_unique<RowSequence>(std::move(files), options.limit);
}

}  // namespace bp::trainer
