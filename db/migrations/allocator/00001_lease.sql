-- +goose Up
-- Who is the admission writer. Every commit of the writer holds this row FOR SHARE and reads
-- the epoch; a takeover locks it FOR UPDATE, so it waits for a commit in flight and fences
-- all later ones. renewed_at is the database's clock, the only one both parties see.
CREATE TABLE lease (
  one         boolean PRIMARY KEY DEFAULT true,
  epoch       bigint NOT NULL DEFAULT 0,
  backend_pid integer,     -- of the session that holds the advisory lock
  renewed_at  timestamptz,
  address     text,        -- where the leader is asked
  CONSTRAINT lease_one CHECK (one),
  CONSTRAINT lease_epoch CHECK (epoch >= 0)
);
INSERT INTO lease DEFAULT VALUES;
SELECT weir_work_table('lease');

-- The last batch that committed: how a writer whose connection broke at COMMIT learns,
-- with the lease row locked, whether that batch is in.
CREATE TABLE writer_mark (
  one   boolean PRIMARY KEY DEFAULT true,
  epoch bigint NOT NULL DEFAULT 0,
  batch bigint NOT NULL DEFAULT 0,
  CONSTRAINT writer_mark_one CHECK (one)
);
INSERT INTO writer_mark DEFAULT VALUES;
SELECT weir_work_table('writer_mark');

-- +goose Down
DROP TABLE writer_mark, lease;
