-- +goose Up
-- What metering needs to know of an org, from the tenant service's feed.
CREATE TABLE org (
  id        text PRIMARY KEY,
  currency  text NOT NULL,
  time_zone text NOT NULL,
  version   bigint NOT NULL,
  CONSTRAINT org_currency CHECK (currency ~ '^[A-Z]{3}$')
);
SELECT weir_tenant_table('org', 'id', 'SELECT');

-- +goose Down
DROP TABLE org;
