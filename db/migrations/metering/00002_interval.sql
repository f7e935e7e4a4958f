-- +goose Up
-- When a member's meter ran, with all that its cost depends on pinned. Half-open, whole
-- milliseconds; an open one has no upper bound. Closed ones are never changed: the database
-- refuses a second charge for the same time by itself.
CREATE TABLE interval (
  id               text PRIMARY KEY,
  org              text NOT NULL,
  project          text NOT NULL, -- '' = none
  instance         text NOT NULL,
  member           text NOT NULL,
  offering         text NOT NULL,
  offering_version bigint NOT NULL,
  price_version    text NOT NULL,
  per_hour_micro   bigint NOT NULL, -- of the whole member
  currency         text NOT NULL,
  cards            bigint NOT NULL, -- cards or slices of the member
  gpue_micro       bigint NOT NULL, -- GPU equivalents of the whole member
  during           tstzrange NOT NULL,
  opened_by        text NOT NULL,   -- the feed's item
  closed_by        text,
  end_reason       text,
  CONSTRAINT interval_org CHECK (org <> ''),
  CONSTRAINT interval_per_hour CHECK (per_hour_micro >= 0),
  CONSTRAINT interval_currency CHECK (currency ~ '^[A-Z]{3}$'),
  CONSTRAINT interval_size CHECK (cards >= 0 AND gpue_micro >= 0),
  CONSTRAINT interval_shape CHECK (NOT isempty(during) AND lower_inc(during) AND NOT upper_inc(during) AND NOT lower_inf(during) AND isfinite(lower(during))),
  CONSTRAINT interval_end_finite CHECK (upper_inf(during) OR isfinite(upper(during))),
  CONSTRAINT interval_milliseconds CHECK ((extract(microseconds FROM lower(during)))::bigint % 1000 = 0
    AND (upper_inf(during) OR (extract(microseconds FROM upper(during)))::bigint % 1000 = 0)),
  CONSTRAINT interval_closed CHECK (upper_inf(during) = (closed_by IS NULL)),
  CONSTRAINT interval_no_overlap EXCLUDE USING gist (member WITH =, during WITH &&)
);
CREATE UNIQUE INDEX interval_one_open ON interval (member) WHERE upper_inf(during);
CREATE INDEX interval_org_during ON interval USING gist (org, during);
CREATE INDEX interval_instance ON interval (instance);
SELECT weir_tenant_table('interval', 'org', 'SELECT');

-- The end of a member is final: nothing opens after it.
CREATE TABLE member_end (
  member   text PRIMARY KEY,
  org      text NOT NULL,
  instance text NOT NULL,
  at       timestamptz NOT NULL,
  item     text NOT NULL, -- the feed's item
  reason   text NOT NULL
);
SELECT weir_tenant_table('member_end', 'org', 'SELECT');

-- +goose StatementBegin
CREATE FUNCTION interval_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF EXISTS (SELECT FROM member_end e WHERE e.member = NEW.member) THEN
      RAISE EXCEPTION 'member % has ended: nothing opens after that', NEW.member USING ERRCODE = 'check_violation', CONSTRAINT = 'interval_after_end';
    END IF;
    RETURN NEW;
  END IF;
  IF NOT upper_inf(OLD.during) THEN
    RAISE EXCEPTION 'interval % is closed and never changes', OLD.id USING ERRCODE = 'check_violation', CONSTRAINT = 'interval_immutable';
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD; -- it turned out empty
  END IF;
  IF upper_inf(NEW.during) OR lower(NEW.during) <> lower(OLD.during)
    OR (NEW.id, NEW.org, NEW.project, NEW.instance, NEW.member, NEW.offering, NEW.offering_version, NEW.price_version, NEW.per_hour_micro, NEW.currency, NEW.cards, NEW.gpue_micro, NEW.opened_by)
    IS DISTINCT FROM (OLD.id, OLD.org, OLD.project, OLD.instance, OLD.member, OLD.offering, OLD.offering_version, OLD.price_version, OLD.per_hour_micro, OLD.currency, OLD.cards, OLD.gpue_micro, OLD.opened_by) THEN
    RAISE EXCEPTION 'interval % may only be closed', OLD.id USING ERRCODE = 'check_violation', CONSTRAINT = 'interval_immutable';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER interval_guard BEFORE INSERT OR UPDATE OR DELETE ON interval FOR EACH ROW EXECUTE FUNCTION interval_guard();

-- How far the instances feed has been applied, in the transaction of its effect. as_of is
-- how late it is there: open intervals count up to it.
CREATE TABLE progress (
  one   boolean PRIMARY KEY DEFAULT true,
  pos   bigint NOT NULL DEFAULT 0,
  as_of timestamptz NOT NULL DEFAULT '-infinity',
  CONSTRAINT progress_one CHECK (one)
);
INSERT INTO progress DEFAULT VALUES;
SELECT weir_shared_table('progress');

-- Facts of the feed that could not be billed as they were said, for a person to look at.
CREATE TABLE refused_fact (
  id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  item   text NOT NULL,
  member text NOT NULL,
  code   text NOT NULL,
  detail text NOT NULL,
  at     timestamptz NOT NULL
);
CREATE INDEX refused_fact_member ON refused_fact (member);
SELECT weir_work_table('refused_fact');

-- +goose Down
DROP TABLE refused_fact, progress, interval, member_end;
DROP FUNCTION interval_guard();
