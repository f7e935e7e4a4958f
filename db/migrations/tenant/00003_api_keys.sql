-- +goose Up
-- hash is SHA-256 of the whole key; hint is what the list shows of it.
CREATE TABLE api_key (
  id           text PRIMARY KEY,
  org          text NOT NULL REFERENCES org (id),
  project      text,
  owner        text NOT NULL REFERENCES account (id),
  name         text NOT NULL,
  role         text NOT NULL,
  hint         text NOT NULL,
  hash         bytea NOT NULL,
  disabled     boolean NOT NULL DEFAULT false,
  version      bigint NOT NULL DEFAULT 1,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  CONSTRAINT api_key_hash UNIQUE (hash),
  CONSTRAINT api_key_hash_length CHECK (length(hash) = 32),
  CONSTRAINT api_key_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer')),
  CONSTRAINT api_key_project FOREIGN KEY (org, project) REFERENCES project (org, id)
);
CREATE INDEX api_key_org ON api_key (org, id) WHERE revoked_at IS NULL;
SELECT weir_tenant_table('api_key', 'org', 'SELECT, INSERT, UPDATE');

-- +goose Down
DROP TABLE api_key;
