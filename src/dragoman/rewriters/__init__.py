"""Rewriters: one technique a file. A chain runs them in order."""
