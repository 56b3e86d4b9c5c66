"""The SDKs' own debug logs hold whole requests, a person's question in them; not for calls made here.

Who wants to see them says so as the SDK has it: ANTHROPIC_LOG or OPENAI_LOG.
"""

from __future__ import annotations

import logging
import os
from contextvars import ContextVar

_ours: ContextVar[bool] = ContextVar("dragoman_hush", default=False)


def hush(sdk: str) -> None:
    """Keep the SDK's debug lines on calls of this task, and of tasks begun in it, out of every log."""
    if os.environ.get(f"{sdk.upper()}_LOG"):
        return
    _ours.set(True)
    logger = logging.getLogger(f"{sdk}._base_client")
    if _quiet not in logger.filters:
        logger.addFilter(_quiet)


def _quiet(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG or not _ours.get()
