-- +goose Up
-- What other services own and publish, as last applied here.
CREATE TABLE org_copy (
  org          text PRIMARY KEY,
  name         text NOT NULL,
  currency     text NOT NULL,
  time_zone    text NOT NULL,
  billing_mode text NOT NULL,
  standing     text NOT NULL,
  approved     boolean NOT NULL,
  project      text, -- the default one, when published
  version      bigint NOT NULL
);
SELECT weir_tenant_table('org_copy', 'org', 'SELECT');

-- NULL is no limit.
CREATE TABLE limit_copy (
  org              text PRIMARY KEY,
  gpue_micro       bigint,
  instances        bigint,
  queued_instances bigint,
  vcpus_milli      bigint,
  ram_mib          bigint,
  version          bigint NOT NULL
);
SELECT weir_tenant_table('limit_copy', 'org', 'SELECT');

CREATE TABLE node_copy (
  node    text PRIMARY KEY,
  name    text NOT NULL,
  doc     jsonb NOT NULL, -- the item as published
  version bigint NOT NULL
);
SELECT weir_shared_table('node_copy');

CREATE TABLE price_copy (
  version_id     text NOT NULL,
  offering       text NOT NULL,
  currency       text NOT NULL,
  per_hour_micro bigint NOT NULL,
  effective_from timestamptz NOT NULL,
  PRIMARY KEY (offering, currency, version_id),
  CONSTRAINT price_copy_amount CHECK (per_hour_micro >= 0)
);
SELECT weir_shared_table('price_copy');

-- +goose Down
DROP TABLE price_copy, node_copy, limit_copy, org_copy;
