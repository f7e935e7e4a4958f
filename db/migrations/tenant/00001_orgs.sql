-- +goose Up
CREATE TABLE org (
  id           text PRIMARY KEY,
  name         text NOT NULL,
  currency     text NOT NULL,
  time_zone    text NOT NULL,
  billing_mode text NOT NULL,
  standing     text NOT NULL,
  approved     boolean NOT NULL,
  reason       text,              -- why the operator last changed the org
  version      bigint NOT NULL DEFAULT 1,
  created_at   timestamptz NOT NULL,
  updated_at   timestamptz NOT NULL,
  CONSTRAINT org_currency CHECK (currency IN ('CNY', 'USD')),
  CONSTRAINT org_billing_mode CHECK (billing_mode IN ('prepaid', 'postpaid')),
  CONSTRAINT org_standing CHECK (standing IN ('good', 'overdue', 'suspended')),
  CONSTRAINT org_version CHECK (version > 0)
);
SELECT weir_tenant_table('org', 'id', 'SELECT, UPDATE');

CREATE TABLE project (
  id         text PRIMARY KEY,
  org        text NOT NULL REFERENCES org (id),
  name       text NOT NULL,
  created_at timestamptz NOT NULL,
  CONSTRAINT project_name UNIQUE (org, name),
  CONSTRAINT project_of_org UNIQUE (org, id)
);
SELECT weir_tenant_table('project', 'org', 'SELECT');

-- What an org may use at once: policy, consumed by the allocator. NULL = unlimited.
CREATE TABLE org_limits (
  org              text PRIMARY KEY REFERENCES org (id),
  gpue_micro       bigint,
  instances        bigint,
  queued_instances bigint,
  vcpus_milli      bigint,
  ram_mib          bigint,
  version          bigint NOT NULL DEFAULT 1,
  updated_at       timestamptz NOT NULL,
  CONSTRAINT org_limits_not_negative CHECK (LEAST(gpue_micro, instances, queued_instances, vcpus_milli, ram_mib) >= 0),
  CONSTRAINT org_limits_version CHECK (version > 0)
);
SELECT weir_tenant_table('org_limits', 'org', 'SELECT, UPDATE');

-- +goose Down
DROP TABLE org_limits, project, org;
