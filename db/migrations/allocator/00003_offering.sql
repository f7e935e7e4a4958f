-- +goose Up
-- Every version of everything that was ever rentable. A version never changes: instances
-- point at it.
CREATE TABLE offering (
  id          text NOT NULL,
  version     bigint NOT NULL,
  region      text NOT NULL,
  model       text NOT NULL,
  kind        text NOT NULL,
  profile     text,
  gpue_micro  bigint NOT NULL, -- of one card or slice
  memory_mib  bigint NOT NULL,
  sms         integer NOT NULL,
  card_sms    integer NOT NULL,
  vcpus_milli bigint NOT NULL,
  ram_mib     bigint NOT NULL,
  created_at  timestamptz NOT NULL,
  PRIMARY KEY (id, version),
  CONSTRAINT offering_kind CHECK (kind IN ('whole', 'mig', 'shared')),
  CONSTRAINT offering_profile CHECK ((kind = 'mig') = (profile IS NOT NULL)),
  CONSTRAINT offering_sizes CHECK (version > 0 AND gpue_micro > 0 AND memory_mib > 0 AND sms >= 0 AND card_sms >= sms AND vcpus_milli >= 0 AND ram_mib >= 0)
);
SELECT weir_shared_table('offering');

-- +goose StatementBegin
CREATE FUNCTION offering_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an offering version never changes' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'offering_immutable';
END $$;
-- +goose StatementEnd
CREATE TRIGGER offering_immutable BEFORE UPDATE OR DELETE ON offering FOR EACH ROW EXECUTE FUNCTION offering_is_immutable();

-- +goose Down
DROP TABLE offering;
DROP FUNCTION offering_is_immutable();
