-- +goose Up
-- What a member holds of a card: Contract 1. The database refuses a second owner by itself,
-- whatever the writer believes.
CREATE TABLE seat (
  id          text PRIMARY KEY,
  org         text NOT NULL,
  member      text NOT NULL,
  gpu         text NOT NULL,
  kind        text NOT NULL,
  span        int4range,         -- in the card's own placement units; whole: unbounded; shared: NULL, shares are fungible
  profile     text,
  start       integer,
  size        integer,
  cross_org   boolean NOT NULL DEFAULT false,
  share       integer NOT NULL,  -- thousandths
  memory_mib  bigint NOT NULL,
  assigned_at timestamptz NOT NULL,
  boot        text,              -- under which its agent acknowledged it
  released_at timestamptz,
  cleaning    text,              -- what was done to the card, and no more than that
  released_by text,
  CONSTRAINT seat_member FOREIGN KEY (member, org) REFERENCES member (id, org),
  CONSTRAINT seat_kind CHECK (kind IN ('whole', 'mig', 'shared')),
  CONSTRAINT seat_whole CHECK (kind <> 'whole' OR (span = '(,)'::int4range AND profile IS NULL AND start IS NULL AND size IS NULL AND share = 1000)),
  CONSTRAINT seat_mig CHECK (kind <> 'mig' OR (profile IS NOT NULL AND start >= 0 AND size > 0 AND span = int4range(start, start + size))),
  CONSTRAINT seat_shared CHECK (kind <> 'shared' OR (span IS NULL AND profile IS NULL AND start IS NULL AND size IS NULL)),
  CONSTRAINT seat_not_null CHECK (kind <> 'mig' OR (start IS NOT NULL AND size IS NOT NULL AND span IS NOT NULL)),
  CONSTRAINT seat_share CHECK (share BETWEEN 1 AND 1000 AND memory_mib > 0),
  CONSTRAINT seat_release CHECK ((released_at IS NULL) = (cleaning IS NULL) AND (released_at IS NULL) = (released_by IS NULL)),
  CONSTRAINT seat_cleaning CHECK (cleaning IN ('gi_destroyed', 'gpu_reset', 'processes_gone', 'none')),
  CONSTRAINT seat_released_by CHECK (released_by IN ('agent', 'fence', 'new_boot')),
  CONSTRAINT seat_overlap EXCLUDE USING gist (gpu WITH =, span WITH &&) WHERE (released_at IS NULL),
  CONSTRAINT seat_one_kind EXCLUDE USING gist (gpu WITH =, kind WITH <>) WHERE (released_at IS NULL),
  CONSTRAINT seat_shared_one_org EXCLUDE USING gist (gpu WITH =, org WITH <>) WHERE (released_at IS NULL AND kind = 'shared' AND NOT cross_org),
  CONSTRAINT seat_shared_one_rule EXCLUDE USING gist (gpu WITH =, (cross_org::int) WITH <>) WHERE (released_at IS NULL AND kind = 'shared')
);
CREATE INDEX seat_by_member ON seat (member);
CREATE INDEX seat_held ON seat (gpu) WHERE released_at IS NULL;
SELECT weir_tenant_table('seat', 'org', 'SELECT');

-- +goose StatementBegin
CREATE FUNCTION seat_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'seat % is history', OLD.id USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'seat_immutable';
  END IF;
  IF (NEW.id, NEW.org, NEW.member, NEW.gpu, NEW.kind, NEW.span, NEW.profile, NEW.start, NEW.size, NEW.cross_org, NEW.share, NEW.memory_mib, NEW.assigned_at)
      IS DISTINCT FROM (OLD.id, OLD.org, OLD.member, OLD.gpu, OLD.kind, OLD.span, OLD.profile, OLD.start, OLD.size, OLD.cross_org, OLD.share, OLD.memory_mib, OLD.assigned_at)
    OR (OLD.boot IS NOT NULL AND NEW.boot IS DISTINCT FROM OLD.boot)
    OR (OLD.released_at IS NOT NULL AND (NEW.released_at, NEW.cleaning, NEW.released_by) IS DISTINCT FROM (OLD.released_at, OLD.cleaning, OLD.released_by)) THEN
    RAISE EXCEPTION 'seat % may only be acknowledged and released, once each', OLD.id USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'seat_immutable';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER seat_immutable BEFORE UPDATE OR DELETE ON seat FOR EACH ROW EXECUTE FUNCTION seat_is_immutable();

-- What is used of a shared card. Shares have no span, so a sum guards them.
CREATE TABLE card_usage (
  gpu             text PRIMARY KEY,
  memory_capacity bigint NOT NULL,
  share_used      integer NOT NULL DEFAULT 0,
  memory_used     bigint NOT NULL DEFAULT 0,
  CONSTRAINT card_usage_share CHECK (share_used BETWEEN 0 AND 1000),
  CONSTRAINT card_usage_memory CHECK (memory_used BETWEEN 0 AND memory_capacity)
);
SELECT weir_work_table('card_usage');

-- +goose StatementBegin
CREATE FUNCTION seat_counts_its_share() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE sign integer := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  UPDATE card_usage SET share_used = share_used + sign * NEW.share, memory_used = memory_used + sign * NEW.memory_mib WHERE gpu = NEW.gpu;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'card % is not open for shares', NEW.gpu USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'card_usage_known';
  END IF;
  RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER seat_share_taken AFTER INSERT ON seat FOR EACH ROW WHEN (NEW.kind = 'shared' AND NEW.released_at IS NULL) EXECUTE FUNCTION seat_counts_its_share();
CREATE TRIGGER seat_share_given AFTER UPDATE ON seat FOR EACH ROW WHEN (NEW.kind = 'shared' AND OLD.released_at IS NULL AND NEW.released_at IS NOT NULL) EXECUTE FUNCTION seat_counts_its_share();

-- What the agent made of a seat: identities that the driver reuses, so nothing is keyed by them.
CREATE TABLE seat_live (
  seat        text PRIMARY KEY REFERENCES seat (id),
  org         text NOT NULL,
  device_uuid text NOT NULL,
  gi          integer,
  ci          integer,
  sms         integer,
  memory_mib  bigint,
  at          timestamptz NOT NULL
);
SELECT weir_tenant_table('seat_live', 'org', 'SELECT');

-- +goose Down
DROP TABLE seat_live, seat, card_usage;
DROP FUNCTION seat_counts_its_share();
DROP FUNCTION seat_is_immutable();
