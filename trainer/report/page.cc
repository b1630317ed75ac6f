#include "trainer/report/page.h"

#include "base/text.h"
#include "trainer/report/embedded.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {

std::string page(const std::string& title, const std::string& body) {
  // The policy makes browsers refuse anything from other sources, which this page never requests.
  return concat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>",
      html(title), "</title>\n<style>\n", page_style(), "</style>\n</head>\n<body>\n<main>\n", body,
      "</main>\n<script>\n", page_script(), "</script>\n</body>\n</html>\n");
}

}  // namespace bp::trainer
