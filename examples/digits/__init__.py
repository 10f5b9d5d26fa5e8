"""A convolutional classifier of handwritten digits: its model, its data and what the demo shows."""
