/* Fits a model of ted in C: its loss, gradient and prediction are functions of `regression.h`. */
#include <math.h>
#include <stdio.h>

#include "regression.h"

enum { SAMPLES = predict_tanh_count, FEATURES = predict_w_count, STEPS = 300 };

static int failed(int status, const struct ted_report *report) {
  char text[200];
  ted_report_text(status, report, text, sizeof text);
  fprintf(stderr, "%s\n", text);
  return 1;
}

int main(void) {
  static double x[SAMPLES * FEATURES], y[SAMPLES], guess[SAMPLES];
  const double truth[FEATURES] = {0.5, -1.0, 0.25};
  for (int i = 0; i < SAMPLES; i++) {
    double sum = 0;
    for (int k = 0; k < FEATURES; k++) {
      x[i * FEATURES + k] = sin(1.0 + i * (k + 1.7));
      sum += x[i * FEATURES + k] * truth[k];
    }
    y[i] = tanh(sum);
  }

  double w[FEATURES] = {0}, gradient[FEATURES], loss = 0;
  struct loss_and_gradient_arguments step = {
      {x, SAMPLES * FEATURES}, {y, SAMPLES}, {w, FEATURES}, {&loss, 1}, {gradient, FEATURES}};
  struct ted_report report;
  for (int n = 0; n < STEPS; n++) {
    int status = loss_and_gradient(&step, &report);
    if (status != TED_OK)
      return failed(status, &report);
    if (n % 100 == 0)
      printf("step %3d  loss %.10f\n", n, loss);
    for (int k = 0; k < FEATURES; k++)
      w[k] -= gradient[k];
  }

  struct predict_arguments last = {{x, SAMPLES * FEATURES}, {w, FEATURES}, {guess, SAMPLES}};
  int status = predict(&last, &report);
  if (status != TED_OK)
    return failed(status, &report);
  double worst = 0;
  for (int i = 0; i < SAMPLES; i++)
    worst = fmax(worst, fabs(guess[i] - y[i]));
  printf("weights %.6f %.6f %.6f  worst error %.1e\n", w[0], w[1], w[2], worst);
  return worst < 1e-4 ? 0 : 1;
}
