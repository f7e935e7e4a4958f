-- +goose Up
-- A join token's public half and the SHA-256 of its secret; the secret is nowhere. Used and
-- dead ones stay for a while so that the operator can see what became of them.
CREATE TABLE join_token (
  id         text PRIMARY KEY,
  hash       bytea NOT NULL,
  pool       text NOT NULL REFERENCES pool (name),
  node_name  text,                 -- NULL: any name that no living node has
  created_by text NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at    timestamptz,
  used_by    text REFERENCES node (id),
  CONSTRAINT join_token_hash UNIQUE (hash),
  CONSTRAINT join_token_hash_length CHECK (length(hash) = 32),
  CONSTRAINT join_token_life CHECK (expires_at > created_at AND expires_at <= created_at + interval '1 hour'),
  CONSTRAINT join_token_used CHECK ((used_at IS NULL) = (used_by IS NULL))
);
CREATE INDEX join_token_expires_at ON join_token (expires_at);
SELECT weir_work_table('join_token');

-- The certificates given to nodes: one that is revoked or has run out renews nothing.
CREATE TABLE certificate (
  serial     text PRIMARY KEY,     -- lower-case hexadecimal
  node       text NOT NULL REFERENCES node (id),
  not_before timestamptz NOT NULL,
  not_after  timestamptz NOT NULL,
  revoked_at timestamptz,
  CONSTRAINT certificate_life CHECK (not_after > not_before AND not_after <= not_before + interval '24 hours')
);
CREATE INDEX certificate_node ON certificate (node, not_after);
CREATE INDEX certificate_not_after ON certificate (not_after);
SELECT weir_work_table('certificate');

-- +goose Down
DROP TABLE certificate, join_token;
