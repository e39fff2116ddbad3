-- Sessions and their events, what is too large for a log, who may write, and what is searched.
--
-- Everything stands in a schema of its own, `placard`. What a program does is one call of a function below, and so one
-- transaction and one round trip; nobody holds a lock while a client thinks.
--
-- JSON is kept as text: `jsonb` reorders fields and takes no U+0000. As JSON writes that character as \u0000, the text
-- holds none itself.

CREATE TABLE sessions (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    -- Another one for a session that was deleted and begun again under its old name.
    generation bigint           NOT NULL GENERATED ALWAYS AS IDENTITY,
    cwd        text COLLATE "C" NOT NULL,
    -- JSON.
    header     text             NOT NULL,
    -- A JSON string.
    title      text,
    archived   boolean          NOT NULL DEFAULT false,
    -- A JSON object.
    config     text             NOT NULL DEFAULT '{}',
    -- Milliseconds of Unix time.
    updated_at bigint           NOT NULL,
    -- How many there are: the number of the next one.
    events     bigint           NOT NULL CHECK (events > 0)
);

CREATE TABLE events (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- From 0 without gaps.
    seq        bigint           NOT NULL,
    at         bigint           NOT NULL,
    -- The entry as JSON, unknown kinds word for word.
    what       text             NOT NULL,
    PRIMARY KEY (session_id, seq)
);

-- The bytes of terminal cards and pictures, once for all sessions, named by their content.
CREATE TABLE blobs (
    id    text COLLATE "C" NOT NULL PRIMARY KEY,
    bytes bytea            NOT NULL
);

CREATE TABLE blob_refs (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    blob_id    text COLLATE "C" NOT NULL REFERENCES blobs (id),
    PRIMARY KEY (session_id, blob_id)
);

CREATE INDEX blob_refs_by_blob ON blob_refs (blob_id);

-- Who may write to a session, also to one that is not begun. The token is compared under the row's lock by every append, so
-- an owner that was replaced while it was away stores nothing. Times are the server's.
CREATE TABLE leases (
    session_id text COLLATE "C" NOT NULL PRIMARY KEY,
    token      text COLLATE "C" NOT NULL,
    expires_at timestamptz      NOT NULL
);

CREATE INDEX leases_by_token ON leases (token);

-- How many events of a session are in the index of words.
CREATE TABLE search_marks (
    session_id text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    indexed    bigint           NOT NULL
);

-- The words of a text, as the program reads them, in pieces that fit a tsvector.
CREATE TABLE search_pieces (
    session_id text COLLATE "C" NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        bigint           NOT NULL,
    -- Which of the event's texts.
    place      bigint           NOT NULL,
    piece      bigint           NOT NULL,
    words      tsvector         NOT NULL,
    PRIMARY KEY (session_id, seq, place, piece)
);

CREATE INDEX search_pieces_by_word ON search_pieces USING gin (words);

-- Lists come from these, newest first, a page at a time.
CREATE INDEX sessions_by_age ON sessions (updated_at DESC, id DESC);
CREATE INDEX sessions_by_age_open ON sessions (updated_at DESC, id DESC) WHERE NOT archived;
-- A folder's path may be longer than an index takes.
CREATE INDEX sessions_by_folder ON sessions (hashtextextended(cwd, 0), updated_at DESC, id DESC);

-- Whether a list can show a session.
CREATE FUNCTION is_summary(id text, header text, title text, config text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(header::json ->> 'id' = id, false)
        AND coalesce(json_typeof(header::json -> 'cwd') = 'string', false)
        AND coalesce(json_typeof(header::json -> 'created_at') = 'number', false)
        AND (title IS NULL OR json_typeof(title::json) = 'string')
        AND json_typeof(config::json) = 'object';
EXCEPTION WHEN data_exception THEN
    RETURN false;
END
$$;

-- Empty, unless somebody else wrote into the table.
CREATE INDEX sessions_damaged ON sessions (id) WHERE NOT is_summary(id, header, title, config);

-- Takes the right to write for so many milliseconds. The same token may be asked for again: an answer can be lost.
-- `taken`, or for how long somebody else has it still.
CREATE FUNCTION take_lease(session text, its_token text, milliseconds bigint, OUT taken boolean, OUT remaining bigint)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO leases AS lease (session_id, token, expires_at)
    VALUES (session, its_token, clock_timestamp() + milliseconds * interval '1 millisecond')
    ON CONFLICT (session_id) DO UPDATE
        SET token = excluded.token,
            expires_at = clock_timestamp() + milliseconds * interval '1 millisecond'
        WHERE lease.expires_at <= clock_timestamp() OR lease.token = excluded.token;
    taken := FOUND;
    IF NOT taken THEN
        SELECT ceil(extract(epoch FROM expires_at - clock_timestamp()) * 1000) INTO remaining
        FROM leases WHERE session_id = session;
    END IF;
    remaining := greatest(coalesce(remaining, 0), 0);
END
$$;

-- Lengthens the leases with these tokens. One that an append has locked is passed over: the append lengthens it itself.
CREATE FUNCTION renew_leases(tokens text[], milliseconds bigint) RETURNS void
LANGUAGE sql AS $$
    UPDATE leases SET expires_at = clock_timestamp() + milliseconds * interval '1 millisecond'
    WHERE session_id IN (SELECT session_id FROM leases WHERE token = ANY (tokens) FOR UPDATE SKIP LOCKED)
$$;

-- Appends events and the titles that they set, and what they refer to.
-- `stored`, `taken-over`, or `out-of-order` with the number of the first event that does not fit.
CREATE FUNCTION append_events(
    session text, its_token text, milliseconds bigint,
    its_cwd text, its_header text, begun_at bigint,
    seqs bigint[], ats bigint[], whats text[], titles text[],
    blob_ids text[], blob_bytes bytea[],
    OUT outcome text, OUT wrong bigint
)
LANGUAGE plpgsql AS $$
DECLARE
    next   bigint;
    fresh  bigint;
    newest bigint;
    named  text;
BEGIN
    UPDATE leases SET expires_at = clock_timestamp() + milliseconds * interval '1 millisecond'
    WHERE session_id = session AND token = its_token;
    IF NOT FOUND THEN
        outcome := 'taken-over';
        RETURN;
    END IF;

    -- The lock is held from here on, so this is what there is.
    SELECT events INTO next FROM sessions WHERE id = session;
    next := coalesce(next, 0);
    SELECT min(place) INTO fresh FROM unnest(seqs) WITH ORDINALITY AS given (seq, place) WHERE seq >= next;
    fresh := coalesce(fresh, cardinality(seqs) + 1);

    -- What is there already counts as stored, since the answer to an append can be lost; the rest follows it.
    SELECT given.seq INTO wrong
    FROM unnest(seqs, ats, whats) WITH ORDINALITY AS given (seq, at, what, place)
    LEFT JOIN events AS stored ON place < fresh AND stored.session_id = session AND stored.seq = given.seq
    WHERE CASE
        WHEN place < fresh THEN (stored.at, stored.what) IS DISTINCT FROM (given.at, given.what)
        ELSE given.seq <> next + place - fresh
    END
    ORDER BY place LIMIT 1;
    IF wrong IS NOT NULL THEN
        outcome := 'out-of-order';
        RETURN;
    END IF;

    outcome := 'stored';
    IF fresh > cardinality(seqs) THEN
        RETURN;
    END IF;
    SELECT max(at), (array_agg(title ORDER BY place DESC) FILTER (WHERE title IS NOT NULL))[1]
    INTO newest, named
    FROM unnest(ats, titles) WITH ORDINALITY AS given (at, title, place) WHERE place >= fresh;

    INSERT INTO sessions AS known (id, cwd, header, title, updated_at, events)
    VALUES (session, its_cwd, its_header, named, greatest(begun_at, newest), seqs[cardinality(seqs)] + 1)
    ON CONFLICT (id) DO UPDATE
        SET title = coalesce(excluded.title, known.title),
            updated_at = greatest(known.updated_at, newest),
            events = excluded.events;
    INSERT INTO events (session_id, seq, at, what)
    SELECT session, seq, at, what
    FROM unnest(seqs, ats, whats) WITH ORDINALITY AS given (seq, at, what, place) WHERE place >= fresh;
    INSERT INTO blobs (id, bytes)
    SELECT id, bytes FROM unnest(blob_ids, blob_bytes) AS given (id, bytes)
    ON CONFLICT DO NOTHING;
    INSERT INTO blob_refs (session_id, blob_id)
    SELECT session, id FROM unnest(blob_ids) AS given (id)
    ON CONFLICT DO NOTHING;
END
$$;

-- Copies a session. `again` when an answer was lost: the copy may be there.
-- `stored`, `missing`, `exists`, or `damaged` when the log has gaps.
CREATE FUNCTION fork_session(
    original text, copy text, its_cwd text, its_header text, begun_at bigint, again boolean
) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    old   sessions;
    there bigint;
BEGIN
    -- Keeps it from being deleted meanwhile, and hinders no append.
    SELECT * INTO old FROM sessions WHERE id = original FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN 'missing';
    END IF;
    SELECT count(*) INTO there FROM events WHERE session_id = original AND seq < old.events;
    IF there <> old.events THEN
        RETURN 'damaged';
    END IF;
    INSERT INTO sessions (id, cwd, header, title, archived, config, updated_at, events)
    VALUES (copy, its_cwd, its_header, old.title, old.archived, old.config, greatest(old.updated_at, begun_at), old.events)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN CASE
            WHEN again AND EXISTS (SELECT FROM sessions WHERE id = copy AND header = its_header) THEN 'stored'
            ELSE 'exists'
        END;
    END IF;
    INSERT INTO events (session_id, seq, at, what)
    SELECT copy, seq, at, what FROM events WHERE session_id = original AND seq < old.events;
    INSERT INTO blob_refs (session_id, blob_id)
    SELECT copy, blob_id FROM blob_refs WHERE session_id = original;
    RETURN 'stored';
END
$$;

-- Deletes a session, what only it refers to, and the right to write to it, which must be the caller's.
CREATE FUNCTION delete_session(session text, its_token text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    referred text[];
    was_there boolean;
BEGIN
    -- One at a time: two that delete the last two references to a blob would each leave it to the other.
    PERFORM pg_advisory_xact_lock(hashtextextended('placard.delete_session', 0));
    PERFORM FROM leases WHERE session_id = session AND token = its_token FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(blob_id) INTO referred FROM blob_refs WHERE session_id = session;
    DELETE FROM sessions WHERE id = session;
    was_there := FOUND;
    DELETE FROM blobs
    WHERE id = ANY (referred) AND NOT EXISTS (SELECT FROM blob_refs WHERE blob_id = blobs.id);
    DELETE FROM leases WHERE session_id = session;
    RETURN was_there;
END
$$;

-- Puts the words of a session's events from number `its_from` up to `upto` into the index, unless somebody else did so. Gives
-- how far the session is in the index now; none when it is another one by now, or gone.
CREATE FUNCTION index_words(
    session text, its_generation bigint, its_from bigint, upto bigint,
    seqs bigint[], places bigint[], pieces bigint[], vectors text[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    known bigint;
BEGIN
    PERFORM FROM sessions WHERE id = session AND generation = its_generation FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    INSERT INTO search_marks VALUES (session, 0) ON CONFLICT DO NOTHING;
    SELECT indexed INTO known FROM search_marks WHERE session_id = session FOR UPDATE;
    IF known <> its_from THEN
        RETURN known;
    END IF;
    INSERT INTO search_pieces (session_id, seq, place, piece, words)
    SELECT session, given.seq, given.place, given.piece, given.vector::tsvector
    FROM unnest(seqs, places, pieces, vectors) AS given (seq, place, piece, vector);
    UPDATE search_marks SET indexed = upto WHERE session_id = session;
    RETURN upto;
END
$$;
