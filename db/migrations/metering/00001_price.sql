-- +goose Up
-- What one card or slice of an offering costs per hour, from an instant on. A version is
-- never changed: intervals and invoices point at it. A new price is a new version.
CREATE TABLE price_version (
  id             text PRIMARY KEY,
  offering       text NOT NULL,
  currency       text NOT NULL,
  per_hour_micro bigint NOT NULL, -- millionths of the major unit
  effective_from timestamptz NOT NULL,
  created_at     timestamptz NOT NULL,
  CONSTRAINT price_version_offering CHECK (offering <> ''),
  CONSTRAINT price_version_currency CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT price_version_per_hour CHECK (per_hour_micro BETWEEN 0 AND 1000000000000000),
  CONSTRAINT price_version_start UNIQUE (offering, currency, effective_from)
);
SELECT weir_shared_table('price_version');

-- +goose StatementBegin
CREATE FUNCTION price_version_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a price version is never changed or removed' USING ERRCODE = 'check_violation', CONSTRAINT = 'price_version_immutable';
END $$;
-- +goose StatementEnd
CREATE TRIGGER price_version_guard BEFORE UPDATE OR DELETE ON price_version FOR EACH ROW EXECUTE FUNCTION price_version_guard();

-- +goose Down
DROP TABLE price_version;
DROP FUNCTION price_version_guard();
