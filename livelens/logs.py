"""How log records are written: lines for people, or JSON objects for machines."""

import json
import logging
import sys
from datetime import UTC, datetime
from enum import StrEnum

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class LogFormat(StrEnum):
    """``text`` for a terminal, ``json`` for a collector."""

    TEXT = "text"
    JSON = "json"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).astimezone()
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{at:%H:%M:%S}.{int(record.msecs):03d} {record.levelname.lower():7} {record.getMessage()}{fields}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


def set_up_logging(level: str, form: LogFormat) -> None:
    """Send all records at or above ``level`` to standard error in ``form``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if form is LogFormat.JSON else _TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("uvicorn.error", "libav", "httpx2", "httpcore2", "alembic", "aiosqlite", "websockets"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
