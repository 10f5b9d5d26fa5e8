"""Schedules: how loops are cut, ordered and turned into vector code, per class of operation."""
