"""Dragoman inside other frameworks, and theirs inside Dragoman; one file a framework."""
