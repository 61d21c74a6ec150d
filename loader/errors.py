"""Errors that a person reads: what, why, and a line to paste."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can mend. str() is the message; detail and hint may be empty."""

    def __init__(self, message: str, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.detail = detail
        self.hint = hint
