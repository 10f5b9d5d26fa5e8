// The same functions from C++: arrays are vectors, and what does not fit is an exception.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "regression.h"

static std::vector<double> predicted(const std::vector<double> &x, const std::vector<double> &w) {
  std::vector<double> result(predict_tanh_count);
  predict_arguments given = {{x.data(), static_cast<int64_t>(x.size())},
                             {w.data(), static_cast<int64_t>(w.size())},
                             {result.data(), static_cast<int64_t>(result.size())}};
  ted_report report;
  if (int status = predict(&given, &report)) {
    std::string text(200, '\0');
    text.resize(ted_report_text(status, &report, &text[0], text.size()));
    throw std::runtime_error(text);
  }
  return result;
}

int main() {
  std::vector<double> x(predict_x_count, 0.5), w(predict_w_count, 1.0);
  std::printf("tanh(1.5) is %.12f\n", predicted(x, w)[7]);
  w.pop_back();
  try {
    predicted(x, w);
  } catch (const std::runtime_error &error) {
    std::printf("%s\n", error.what());
    return 0;
  }
  return 1;
}
