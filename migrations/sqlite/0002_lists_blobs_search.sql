-- What a list shows stands beside the log; what is large stands outside of it; what is searched is derived from both.

ALTER TABLE sessions ADD COLUMN title TEXT;
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
-- Options by name, a JSON object.
ALTER TABLE sessions ADD COLUMN config TEXT NOT NULL DEFAULT '{}';
-- How many events there are, so that no list counts them.
ALTER TABLE sessions ADD COLUMN events INTEGER NOT NULL DEFAULT 0;

UPDATE sessions
SET events = (SELECT COALESCE(MAX(seq) + 1, 0) FROM events WHERE session_id = sessions.id);

-- A program of schema 1 that still runs appends without counting.
CREATE TRIGGER events_are_counted AFTER INSERT ON events
WHEN NEW.seq >= (SELECT events FROM sessions WHERE id = NEW.session_id)
BEGIN
    UPDATE sessions SET events = NEW.seq + 1 WHERE id = NEW.session_id;
END;

DROP INDEX sessions_by_age;
CREATE INDEX sessions_by_age ON sessions (updated_at, id);
CREATE INDEX sessions_by_folder ON sessions (cwd, updated_at, id);
-- Those that no list can show, found without looking at the others.
CREATE INDEX sessions_unreadable ON sessions (id) WHERE json_valid(header) = 0;

CREATE TABLE blobs (
    number INTEGER NOT NULL PRIMARY KEY,
    -- `sha256:` and the digits.
    name   TEXT    NOT NULL UNIQUE,
    bytes  BLOB    NOT NULL
) STRICT;

-- Which session keeps which blob; a blob goes with the last of them.
CREATE TABLE kept_blobs (
    session_id TEXT    NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    blob       INTEGER NOT NULL REFERENCES blobs (number),
    PRIMARY KEY (session_id, blob)
) STRICT, WITHOUT ROWID;

CREATE INDEX kept_blobs_by_blob ON kept_blobs (blob);

-- How far the search index has read each log. It is an observer: nothing else depends on these tables.
CREATE TABLE indexed_sessions (
    number     INTEGER NOT NULL PRIMARY KEY,
    -- Null once the session is deleted and its words are still to be removed.
    session_id TEXT    UNIQUE,
    -- The number of the first event that is not looked at yet.
    next       INTEGER NOT NULL
) STRICT;

-- A text that can be found. `text` is its row in `words`: the time of the event (milliseconds) times 2^21, plus a number. So the
-- newest have the largest, and a search reads from the newest on.
CREATE TABLE indexed_texts (
    text    INTEGER NOT NULL PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES indexed_sessions (number) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    -- Which of the event's texts.
    nth     INTEGER NOT NULL
) STRICT;

CREATE INDEX indexed_texts_by_session ON indexed_texts (session);

-- Where the pieces of a large output begin, in its bytes and as a line of its text; none for a text in one piece.
CREATE TABLE indexed_pieces (
    text      INTEGER NOT NULL REFERENCES indexed_texts (text) ON DELETE CASCADE,
    piece     INTEGER NOT NULL,
    source_at INTEGER NOT NULL,
    line      INTEGER NOT NULL,
    PRIMARY KEY (text, piece)
) STRICT, WITHOUT ROWID;

-- The words come lower-case and divided by spaces (`store::search::words`): beyond ASCII every character is part of a word. A
-- column for each piece of a text: all words of a query must be in the row, those of a phrase in one column.
CREATE VIRTUAL TABLE words USING fts5 (
    piece_0, piece_1, piece_2, piece_3, piece_4, piece_5, piece_6, piece_7,
    piece_8, piece_9, piece_10, piece_11, piece_12, piece_13, piece_14, piece_15,
    piece_16, piece_17, piece_18, piece_19, piece_20, piece_21, piece_22, piece_23,
    piece_24, piece_25, piece_26, piece_27, piece_28, piece_29, piece_30, piece_31,
    content = '',
    contentless_delete = 1,
    tokenize = "ascii tokenchars '_'"
);

PRAGMA user_version = 2;
