#include "trainer/report/predictions.h"

#include <cstdio>

#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

std::string probability_text(float probability) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", static_cast<double>(probability));
  return text;
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') {
      out += '"';
    }
  }
  return out + '"';
}

PredictionsWriter::PredictionsWriter(const std::string& path,
                                     const std::vector<std::string>& labels)
    : file_(path), line_("sample_id,text_id,label,prediction") {
  for (const std::string& label : labels) {
    labels_.push_back(csv_field(label));
    line_ += ',' + csv_field("p_" + label);
  }
  file_.write(line_ + '\n');
}

void PredictionsWriter::add(const Prediction& prediction) {
  if (prediction.sample_id <= last_id_) {
    throw Error(ErrorCode::invalid_argument,
                concat("prediction of sample ", prediction.sample_id, " after that of sample ",
                       last_id_, ": each sample must be added once, in order"));
  }
  if (prediction.probabilities.size() != labels_.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        concat("prediction of sample ", prediction.sample_id, " has ",
               prediction.probabilities.size(), " probabilities for ", labels_.size(), " labels"));
  }
  last_id_ = prediction.sample_id;
  line_ = std::to_string(prediction.sample_id);
  line_ += ',' + std::to_string(prediction.text_id) + ',';
  if (prediction.label >= 0) {
    line_ += labels_.at(static_cast<std::size_t>(prediction.label));
  }
  line_ += ',' + labels_.at(static_cast<std::size_t>(prediction.prediction));
  for (const float probability : prediction.probabilities) {
    line_ += ',' + probability_text(probability);
  }
  file_.write(line_ += '\n');
}

void PredictionsWriter::finish() { file_.keep(); }

}  // namespace bp::trainer
