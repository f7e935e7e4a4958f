-- +goose Up
-- Nothing here belongs to an org: requests (all of them the operator's or a node's) read
-- pools, nodes and cards, and every write goes through the work role's narrow methods.
CREATE TABLE pool (
  id                  text PRIMARY KEY,
  name                text NOT NULL,
  region              text NOT NULL,
  authority           text NOT NULL,
  share_across_orgs   boolean NOT NULL DEFAULT false,
  default_card_policy text NOT NULL,
  created_at          timestamptz NOT NULL,
  CONSTRAINT pool_name UNIQUE (name),
  CONSTRAINT pool_authority CHECK (authority IN ('agent')),
  CONSTRAINT pool_default_card_policy CHECK (default_card_policy IN ('auto', 'whole', 'mig'))
);
SELECT weir_shared_table('pool');
INSERT INTO pool (id, name, region, authority, default_card_policy, created_at)
VALUES ('poo_00000000000000000000000001', 'default', 'local', 'agent', 'auto', now());

CREATE TABLE node (
  id            text PRIMARY KEY,
  name          text NOT NULL,
  pool          text NOT NULL REFERENCES pool (name),
  state         text NOT NULL,
  state_reason  text NOT NULL,
  cordoned      boolean NOT NULL DEFAULT false,
  quarantined   boolean NOT NULL DEFAULT false, -- two machines hold this identity
  simulated     boolean NOT NULL DEFAULT false,
  boot_id       text NOT NULL DEFAULT '',       -- '' until the first status
  hostname      text NOT NULL DEFAULT '',
  agent_version text NOT NULL DEFAULT '',
  runtime       jsonb,
  refusing_work text NOT NULL DEFAULT '',
  vcpus_milli   bigint NOT NULL DEFAULT 0,
  ram_mib       bigint NOT NULL DEFAULT 0,
  disk_mib      bigint NOT NULL DEFAULT 0,
  rack          text,
  zone          text,
  labels        jsonb NOT NULL DEFAULT '{}',
  version       bigint NOT NULL DEFAULT 1,
  created_at    timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  retired_at    timestamptz,
  CONSTRAINT node_state CHECK (state IN ('ready', 'not_ready', 'retired')),
  CONSTRAINT node_retired CHECK ((state = 'retired') = (retired_at IS NOT NULL)),
  CONSTRAINT node_not_negative CHECK (LEAST(vcpus_milli, ram_mib, disk_mib) >= 0),
  CONSTRAINT node_version CHECK (version > 0)
);
CREATE UNIQUE INDEX node_name ON node (name) WHERE state <> 'retired';
SELECT weir_shared_table('node');

-- What changes with every status, apart from the node itself so that a heartbeat is one
-- small update: the newest (boot, seq), and what the cards looked like then.
CREATE TABLE node_seen (
  node       text PRIMARY KEY REFERENCES node (id),
  boot_id    text NOT NULL,
  seq        bigint NOT NULL,
  digest     bytea NOT NULL,            -- SHA-256 of the status, to tell a replay from a second holder
  facts      bytea NOT NULL,            -- SHA-256 of the facts in it: the same facts need no merge
  at         timestamptz NOT NULL,      -- the server's clock
  cards      jsonb NOT NULL,            -- by card UUID: layout, temperature, power
  counters   jsonb NOT NULL DEFAULT '{}',
  ignored    bigint NOT NULL DEFAULT 0, -- stale statuses so far
  strikes    integer NOT NULL DEFAULT 0,
  CONSTRAINT node_seen_seq CHECK (seq > 0)
) WITH (fillfactor = 50);
SELECT weir_shared_table('node_seen');

-- The boots a node had before: one that goes on after it was superseded is a second holder
-- of the node's identity.
CREATE TABLE node_boot (
  node          text NOT NULL REFERENCES node (id),
  boot_id       text NOT NULL,
  seq           bigint NOT NULL,
  strikes       integer NOT NULL DEFAULT 0,
  superseded_at timestamptz NOT NULL,
  PRIMARY KEY (node, boot_id)
);
CREATE INDEX node_boot_superseded_at ON node_boot (superseded_at);
SELECT weir_work_table('node_boot');

CREATE TABLE gpu (
  id              text PRIMARY KEY,
  node            text NOT NULL REFERENCES node (id),
  uuid            text NOT NULL,
  idx             integer NOT NULL,
  serial          text NOT NULL,
  board           text NOT NULL,
  product         text NOT NULL,
  model           text NOT NULL,
  arch            text NOT NULL,
  memory_mib      bigint NOT NULL,
  sms             integer NOT NULL,
  units           integer NOT NULL,
  mig_mode        text NOT NULL,
  reset_to_toggle boolean NOT NULL,
  profiles        jsonb NOT NULL,
  policy          text NOT NULL,
  state           text NOT NULL,
  cordoned        boolean NOT NULL DEFAULT false,
  version         bigint NOT NULL DEFAULT 1,
  first_seen_at   timestamptz NOT NULL,
  updated_at      timestamptz NOT NULL,
  CONSTRAINT gpu_uuid UNIQUE (uuid),
  CONSTRAINT gpu_policy CHECK (policy IN ('auto', 'whole', 'mig')),
  CONSTRAINT gpu_mig_mode CHECK (mig_mode IN ('on', 'off', 'pending')),
  CONSTRAINT gpu_state CHECK (state IN ('ok', 'quarantined', 'lost', 'retired')),
  CONSTRAINT gpu_not_negative CHECK (LEAST(idx, memory_mib, sms, units) >= 0),
  CONSTRAINT gpu_version CHECK (version > 0)
);
CREATE INDEX gpu_node ON gpu (node, idx, id);
SELECT weir_shared_table('gpu');

-- +goose Down
DROP TABLE gpu, node_boot, node_seen, node, pool;
