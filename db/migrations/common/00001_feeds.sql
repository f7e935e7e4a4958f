-- +goose Up
-- A change and its outbox row are one transaction. seq is the order of writing (a row that
-- was written after waiting for another's lock comes after it); pos is the dense position
-- in its feed, given after the commit by the sequencing pass, and is what readers follow:
-- seq cannot be followed, because a lower one may commit later.
CREATE TABLE outbox (
  seq  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id   text NOT NULL,
  feed text NOT NULL,
  key  text NOT NULL,
  org  text NOT NULL DEFAULT '', -- '' for facts that belong to no org
  at   timestamptz NOT NULL,
  data json NOT NULL,            -- json, not jsonb: readers get the bytes that were written
  pos  bigint,
  -- Real time, for retention: "at" may be on the business clock, which can be moved.
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT outbox_pos_positive CHECK (pos > 0)
);
CREATE UNIQUE INDEX outbox_feed_pos ON outbox (feed, pos) WHERE pos IS NOT NULL;
CREATE INDEX outbox_waiting ON outbox (seq) WHERE pos IS NULL;
SELECT weir_tenant_table('outbox', 'org', 'SELECT, INSERT');

-- The last position of each feed.
CREATE TABLE feed_head (
  feed  text PRIMARY KEY,
  pos   bigint NOT NULL DEFAULT 0,
  CONSTRAINT feed_head_pos CHECK (pos >= 0)
);
SELECT weir_work_table('feed_head');

-- The incarnation of this schema's feeds: a restored backup gets a new one, so that
-- readers who saw more than the backup holds notice.
CREATE TABLE feed_source (
  one         boolean PRIMARY KEY DEFAULT true,
  incarnation text NOT NULL,
  CONSTRAINT feed_source_one CHECK (one)
);
INSERT INTO feed_source (incarnation) VALUES (replace(gen_random_uuid()::text, '-', ''));
SELECT weir_work_table('feed_source');

-- How far this service has applied another's feed.
CREATE TABLE feed_cursor (
  source      text NOT NULL,
  feed        text NOT NULL,
  incarnation text NOT NULL,
  pos         bigint NOT NULL,
  item        text NOT NULL,
  as_of       timestamptz NOT NULL,
  PRIMARY KEY (source, feed),
  CONSTRAINT feed_cursor_pos CHECK (pos >= 0)
);
SELECT weir_work_table('feed_cursor');

-- +goose Down
DROP TABLE feed_cursor, feed_source, feed_head, outbox;
