"""Readers: one module a format, each of which finds the blocks of a text."""
