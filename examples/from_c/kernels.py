"""A model and its gradient for programs in C: `loss_and_gradient` and `predict` become functions.

ted-translate kernels.py --to static --name regression -o build
"""

import ted

SAMPLES, FEATURES = 200, 3

x = ted.placeholder((SAMPLES, FEATURES), "float64", name="x")
y = ted.placeholder((SAMPLES,), "float64", name="y")
w = ted.placeholder((FEATURES,), "float64", name="w")

predicted = ted.tanh(x @ w)
loss = ted.mean((predicted - y) ** 2)
(gradient,) = ted.differentiate(loss, [w])

predict = ted.compile([x, w], predicted, name="predict")
loss_and_gradient = ted.compile([x, y, w], [loss, gradient], name="loss_and_gradient")
