-- Sessions and their events: the log is the truth, everything else is derived from it.

CREATE TABLE sessions (
    id         TEXT    NOT NULL PRIMARY KEY,
    cwd        TEXT    NOT NULL,
    -- The header as JSON.
    header     TEXT    NOT NULL,
    -- Milliseconds of Unix time.
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- From 0 without gaps; the key refuses a second writer's event of the same number.
    seq        INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    -- The entry as JSON, unknown kinds word for word.
    what       TEXT    NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT;

CREATE INDEX sessions_by_age ON sessions (updated_at DESC);
