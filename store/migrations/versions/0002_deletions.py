"""Lives of cameras whose traces elsewhere still have to go."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "deletions",
        sa.Column("camera_id", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("camera_id", "incarnation", name="pk_deletions"),
    )


def downgrade() -> None:
    op.drop_table("deletions")
