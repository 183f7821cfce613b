"""Cameras, and the turns of conversations about them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_row_number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "cameras",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("username", sa.Text(), nullable=True),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("transport", sa.Text(), nullable=False),
        sa.Column("loop", sa.Boolean(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.Column("created_us", sa.BigInteger(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("last_t_us", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_cameras"),
    )
    op.create_table(
        "turns",
        sa.Column("id", _row_number, nullable=False, autoincrement=True),
        sa.Column("conversation", sa.Text(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("span_start_us", sa.BigInteger(), nullable=True),
        sa.Column("span_end_us", sa.BigInteger(), nullable=True),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("asked_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_turns"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_turns_conversation_id", "turns", ["conversation", "id"])
    op.create_index("ix_turns_asked_us", "turns", ["asked_us"])
    op.create_table(
        "turn_cameras",
        sa.Column("turn_id", _row_number, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("camera_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["turn_id"], ["turns.id"], name="fk_turn_cameras_turn_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["camera_id"], ["cameras.id"], name="fk_turn_cameras_camera_id"),
        sa.PrimaryKeyConstraint("turn_id", "position", name="pk_turn_cameras"),
    )
    op.create_index("ix_turn_cameras_camera_id", "turn_cameras", ["camera_id"])


def downgrade() -> None:
    op.drop_table("turn_cameras")
    op.drop_table("turns")
    op.drop_table("cameras")
