"""The first version of the store.

A published version is never edited: a change of the tables is a new file here, which names this one as the one before.
"""

import sqlalchemy as sa
from alembic import op

revision = "001"
down_revision = None
branch_labels = None
depends_on = None

NAME = sa.String(200)
UUID = sa.String(32)
JSON = sa.Text
TIME = sa.DateTime(timezone=True)


def _profile() -> sa.Column:
    owner = sa.ForeignKey("profiles.id", ondelete="CASCADE")
    return sa.Column("profile", NAME, owner, primary_key=True)


def upgrade() -> None:
    op.create_table("profiles", sa.Column("id", NAME, primary_key=True))
    op.create_table(
        "answers",
        _profile(),
        sa.Column("id", UUID, primary_key=True),
        sa.Column("question", NAME, nullable=False),
        sa.Column("card", NAME, nullable=False),
        sa.Column("given", JSON, nullable=False),
        sa.Column("right", sa.Boolean, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("mode", NAME, nullable=False),
        sa.Column("seed", sa.BigInteger),
        sa.Column("pitfalls", JSON, nullable=False),
        sa.Column("topic", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("level", sa.Integer, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("rating", sa.Integer, nullable=False),
        sa.Column("rated_at", TIME, nullable=False),
    )
    op.create_index("answers_by_time", "answers", ["profile", "at", "id"])
    op.create_index("answers_by_card", "answers", ["profile", "card", "at", "id"])
    op.create_index("answers_by_question", "answers", ["profile", "question", "at", "id"])
    op.create_table(
        "cards",
        _profile(),
        sa.Column("card", NAME, primary_key=True),
        sa.Column("due", TIME, nullable=False),
        sa.Column("state", sa.Integer, nullable=False),
        sa.Column("step", sa.Integer),
        sa.Column("stability", sa.Double),
        sa.Column("difficulty", sa.Double),
        sa.Column("last_review", TIME),
        sa.Column("reps", sa.Integer, nullable=False),
        sa.Column("lapses", sa.Integer, nullable=False),
        sa.Column("made_due", TIME),
    )
    op.create_index("cards_by_due", "cards", ["profile", "due"])
    op.create_table(
        "submissions",
        _profile(),
        sa.Column("id", UUID, primary_key=True),
        sa.Column("problem", NAME, nullable=False),
        sa.Column("passed", sa.Boolean, nullable=False),
        sa.Column("pitfalls", JSON, nullable=False),
        sa.Column("mode", NAME, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("seconds", sa.Double),
        sa.Column("source", JSON, nullable=False),
        sa.Column("verdict", JSON, nullable=False),
    )
    op.create_index("submissions_by_problem", "submissions", ["profile", "problem", "at", "id"])
    op.create_table(
        "drafts",
        _profile(),
        sa.Column("key", NAME, primary_key=True),
        sa.Column("text", JSON, nullable=False),
        sa.Column("at", TIME, nullable=False),
    )
    op.create_table(
        "settings",
        _profile(),
        sa.Column("key", NAME, primary_key=True),
        sa.Column("value", JSON, nullable=False),
        sa.Column("at", TIME, nullable=False),
    )


def downgrade() -> None:
    for table in ("settings", "drafts", "submissions", "cards", "answers", "profiles"):
        op.drop_table(table)
