-- +goose Up
-- The answer to each write that carried an Idempotency-Key, written in the transaction of
-- its effect. org is the caller's org, or signup:<sha256 of the e-mail> before there is one.
-- status and answer are NULL only inside the transaction that is making the effect.
CREATE TABLE idempotency (
  org       text NOT NULL,
  principal text NOT NULL,
  operation text NOT NULL,
  path      text NOT NULL,
  key       text NOT NULL,
  body      bytea NOT NULL, -- SHA-256 of the request's body
  status    integer,
  answer    json,           -- without secrets
  at        timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (org, principal, operation, path, key),
  CONSTRAINT idempotency_org CHECK (org <> ''),
  CONSTRAINT idempotency_body CHECK (length(body) = 32)
);
CREATE INDEX idempotency_at ON idempotency (at);
SELECT weir_tenant_table('idempotency', 'org');

-- +goose Down
DROP TABLE idempotency;
