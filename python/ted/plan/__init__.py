"""How a program is computed, decided on equations: values, which the stages below them obey."""
