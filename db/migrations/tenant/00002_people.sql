-- +goose Up
-- A person or an operator. An account belongs to no org, so requests made for an org
-- cannot read it: only the narrow paths of the work role do.
CREATE TABLE account (
  id            text PRIMARY KEY,
  email         text NOT NULL,     -- normalised: ASCII, lower case
  name          text NOT NULL,
  password_hash text NOT NULL,     -- argon2id
  operator      boolean NOT NULL DEFAULT false,
  disabled_at   timestamptz,
  created_at    timestamptz NOT NULL,
  CONSTRAINT account_email UNIQUE (email),
  CONSTRAINT account_email_normal CHECK (email = lower(email))
);
SELECT weir_work_table('account');

CREATE TABLE membership (
  org        text NOT NULL REFERENCES org (id),
  account    text NOT NULL REFERENCES account (id),
  role       text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (org, account),
  CONSTRAINT membership_role CHECK (role IN ('owner', 'admin', 'developer', 'billing', 'viewer')),
  CONSTRAINT membership_one_org UNIQUE (account) -- until people may switch between orgs
);
SELECT weir_tenant_table('membership', 'org', 'SELECT');

-- A login. org is NULL for an operator, who acts in no org.
CREATE TABLE session (
  id         text PRIMARY KEY,
  account    text NOT NULL REFERENCES account (id),
  org        text REFERENCES org (id),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ended_at   timestamptz,
  end_reason text,
  CONSTRAINT session_org CHECK (org <> ''),
  CONSTRAINT session_ended CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);
CREATE INDEX session_account ON session (account) WHERE ended_at IS NULL;
CREATE INDEX session_over ON session (LEAST(expires_at, ended_at));
SELECT weir_tenant_table('session', 'org', 'SELECT');

-- One refresh token of a login's family. hash is SHA-256 of the token.
CREATE TABLE refresh_token (
  hash       bytea PRIMARY KEY,
  session    text NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  issued_at  timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  used_at    timestamptz,
  CONSTRAINT refresh_token_hash CHECK (length(hash) = 32)
);
CREATE INDEX refresh_token_session ON refresh_token (session);
CREATE INDEX refresh_token_expires ON refresh_token (expires_at);
SELECT weir_work_table('refresh_token');

-- +goose Down
DROP TABLE refresh_token, session, membership, account;
