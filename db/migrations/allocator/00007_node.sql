-- +goose Up
-- What was last heard from a node's agent.
CREATE TABLE node_session (
  node        text PRIMARY KEY,
  boot        text NOT NULL,
  seq         bigint NOT NULL,
  proof_at    timestamptz NOT NULL, -- the last report received: proof of life
  incarnation text,                 -- of this schema, under which its full report was merged
  CONSTRAINT node_session_seq CHECK (seq >= 0)
);
SELECT weir_work_table('node_session');

-- Boots a node has left behind: a report of one is a replay.
CREATE TABLE node_boot (
  node     text NOT NULL,
  boot     text NOT NULL,
  ended_at timestamptz NOT NULL,
  PRIMARY KEY (node, boot)
);
SELECT weir_work_table('node_boot');

-- Bumped with every change of what the node is asked to do.
CREATE TABLE node_desired (
  node       text PRIMARY KEY,
  generation bigint NOT NULL,
  CONSTRAINT node_desired_generation CHECK (generation > 0)
);
SELECT weir_work_table('node_desired');

-- Work on a card that no live member here explains. Its card sells nothing until it is gone.
CREATE TABLE orphan (
  id          text PRIMARY KEY,
  node        text NOT NULL,
  gpu_uuid    text NOT NULL, -- '' when the agent did not say
  member      text NOT NULL, -- as reported
  boot        text NOT NULL,
  kind        text NOT NULL,
  profile     text,
  start       integer,
  size        integer,
  found_at    timestamptz NOT NULL,
  released_at timestamptz
);
CREATE UNIQUE INDEX orphan_once ON orphan (node, gpu_uuid, member, coalesce(start, -1)) WHERE released_at IS NULL;
SELECT weir_work_table('orphan');

-- +goose Down
DROP TABLE orphan, node_desired, node_boot, node_session;
