"""Hamlet."""
