"""Durable state: which cameras there are, how far their time has come, what was asked and answered.

It keeps rows in SQLite (one file, its owner's only) or PostgreSQL and brings older schemas up to date when it
is opened. It leaves to others what runs a camera (the root) and what a conversation means (qa); frames and
features never come here.

    await Store.open("livelens.db") -> Store
    Camera -> store.cameras.add(), list() -> the root restores them
    t_us -> store.cameras.mark() ... last_t_us() -> stream time goes on after a restart
    lives of deleted cameras -> store.deletions, until their traces elsewhere are gone
    StoredTurn -> store.conversations.append() ... last() -> the follow-up's history
"""

from store.cameras import Cameras
from store.conversations import Conversations, StoredTurn
from store.deletions import Deletions
from store.errors import (
    CameraExists,
    CameraNotRegistered,
    StoreBusy,
    StoreDamaged,
    StoreRefused,
    StoreTooNew,
    StoreUnavailable,
    UnknownConversation,
)
from store.settings import Settings
from store.store import Store

__all__ = [
    "CameraExists",
    "CameraNotRegistered",
    "Cameras",
    "Conversations",
    "Deletions",
    "Settings",
    "Store",
    "StoreBusy",
    "StoreDamaged",
    "StoreRefused",
    "StoreTooNew",
    "StoreUnavailable",
    "StoredTurn",
    "UnknownConversation",
]
