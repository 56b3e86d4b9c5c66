"""Measurements that are run by hand: what rewriting does to ranking, and what it costs."""
