-- +goose Up
-- What a tenant rents. Its state is derived from its members and kept for reading.
CREATE TABLE instance (
  id               text PRIMARY KEY,
  org              text NOT NULL,
  project          text,
  name             text NOT NULL,
  state            text NOT NULL,
  state_reason     text,
  state_detail     text,
  exit_code        integer,
  offering         text NOT NULL,
  offering_version bigint NOT NULL,
  kind             text NOT NULL,
  count            integer NOT NULL, -- cards per member
  nodes            integer NOT NULL, -- members
  vcpus_milli      bigint NOT NULL,  -- of one member
  ram_mib          bigint NOT NULL,  -- of one member
  image            text,
  command          jsonb,
  env_sealed       bytea, -- encrypted; never leaves but to the node
  labels           jsonb NOT NULL,
  price_version    text NOT NULL,
  per_hour_micro   bigint NOT NULL, -- of the whole instance
  currency         text NOT NULL,
  term             text NOT NULL,
  created_by_kind  text NOT NULL,
  created_by       text NOT NULL,
  created_at       timestamptz NOT NULL,
  running_at       timestamptz,
  stopped_at       timestamptz,
  delete_asked_at  timestamptz,
  deleted_at       timestamptz,
  CONSTRAINT instance_org UNIQUE (id, org),
  CONSTRAINT instance_offering FOREIGN KEY (offering, offering_version) REFERENCES offering (id, version),
  CONSTRAINT instance_state CHECK (state IN ('queued', 'assigned', 'preparing', 'running', 'unreachable', 'stopping', 'stopped', 'failed', 'lost')),
  CONSTRAINT instance_shape CHECK (count BETWEEN 1 AND 64 AND nodes BETWEEN 1 AND 1024 AND vcpus_milli >= 0 AND ram_mib >= 0 AND per_hour_micro >= 0),
  CONSTRAINT instance_term CHECK (term IN ('on_demand', 'monthly', 'yearly')),
  CONSTRAINT instance_deleted CHECK (deleted_at IS NULL OR (delete_asked_at IS NOT NULL AND state IN ('stopped', 'failed', 'lost'))),
  CONSTRAINT instance_labels CHECK (jsonb_typeof(labels) = 'object')
);
CREATE INDEX instance_by_org ON instance (org, created_at DESC, id DESC);
CREATE INDEX instance_by_time ON instance (created_at DESC, id DESC);
CREATE INDEX instance_live ON instance (id) WHERE state NOT IN ('stopped', 'failed', 'lost');
SELECT weir_tenant_table('instance', 'org', 'SELECT');

-- One container on one node, from one admission. Its end is final: a start makes a new one.
CREATE TABLE member (
  id               text PRIMARY KEY,
  org              text NOT NULL,
  instance         text NOT NULL,
  ordinal          integer NOT NULL,
  node             text NOT NULL,
  state            text NOT NULL,
  reason           text,
  detail           text,
  exit_code        integer,
  offering         text NOT NULL,
  offering_version bigint NOT NULL,
  cards            integer NOT NULL,
  gpue_micro       bigint NOT NULL,
  vcpus_milli      bigint NOT NULL,
  ram_mib          bigint NOT NULL,
  price_version    text NOT NULL,
  per_hour_micro   bigint NOT NULL,
  currency         text NOT NULL,
  assigned_at      timestamptz NOT NULL,
  prepare_by       timestamptz NOT NULL, -- on the real clock
  running_at       timestamptz,
  boot             text,                 -- under which its agent acknowledged it
  meter_from       timestamptz,          -- the open interval's beginning
  meter_until      timestamptz,          -- the last closed interval's end
  stop_cause       text,
  stop_asked_at    timestamptz,
  ended_at         timestamptz,
  counted          boolean NOT NULL,     -- its use of the org's limits is in limit_usage
  released_at      timestamptz,          -- its last seat and its vCPU and RAM on the node are free
  ghost            boolean NOT NULL DEFAULT false, -- fenced, and its node has not yet proven that it is gone
  CONSTRAINT member_org UNIQUE (id, org),
  CONSTRAINT member_instance FOREIGN KEY (instance, org) REFERENCES instance (id, org),
  CONSTRAINT member_offering FOREIGN KEY (offering, offering_version) REFERENCES offering (id, version),
  CONSTRAINT member_state CHECK (state IN ('assigned', 'preparing', 'running', 'unreachable', 'stopping', 'stopped', 'failed', 'lost')),
  CONSTRAINT member_end CHECK ((ended_at IS NOT NULL) = (state IN ('stopped', 'failed', 'lost'))),
  CONSTRAINT member_ended CHECK (ended_at IS NULL OR (NOT counted AND meter_from IS NULL)),
  CONSTRAINT member_meter CHECK (meter_from IS NULL OR meter_until IS NULL OR meter_from >= meter_until),
  CONSTRAINT member_released CHECK (released_at IS NULL OR ended_at IS NOT NULL),
  CONSTRAINT member_ghost CHECK (NOT ghost OR released_at IS NOT NULL),
  CONSTRAINT member_stop CHECK ((stop_cause IS NULL) = (stop_asked_at IS NULL)),
  CONSTRAINT member_shape CHECK (cards >= 0 AND gpue_micro >= 0 AND vcpus_milli >= 0 AND ram_mib >= 0 AND per_hour_micro >= 0)
);
CREATE INDEX member_by_instance ON member (instance, ordinal, assigned_at);
CREATE INDEX member_held ON member (node) WHERE released_at IS NULL OR ghost;
CREATE INDEX member_counted ON member (org) WHERE counted;
SELECT weir_tenant_table('member', 'org', 'SELECT');

-- +goose StatementBegin
CREATE FUNCTION member_end_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.ended_at IS NOT NULL AND (NEW.ended_at IS DISTINCT FROM OLD.ended_at OR NEW.state <> OLD.state) THEN
    RAISE EXCEPTION 'member % has ended', OLD.id USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'member_end_final';
  END IF;
  IF (NEW.id, NEW.org, NEW.instance, NEW.node, NEW.offering, NEW.offering_version, NEW.price_version, NEW.per_hour_micro, NEW.currency, NEW.gpue_micro, NEW.vcpus_milli, NEW.ram_mib, NEW.assigned_at)
    IS DISTINCT FROM (OLD.id, OLD.org, OLD.instance, OLD.node, OLD.offering, OLD.offering_version, OLD.price_version, OLD.per_hour_micro, OLD.currency, OLD.gpue_micro, OLD.vcpus_milli, OLD.ram_mib, OLD.assigned_at) THEN
    RAISE EXCEPTION 'what member % was admitted with never changes', OLD.id USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'member_admission_fixed';
  END IF;
  RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER member_end_final BEFORE UPDATE ON member FOR EACH ROW EXECUTE FUNCTION member_end_is_final();

-- The history that the user sees and the invoice cites.
CREATE TABLE transition (
  seq            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id             text NOT NULL,
  org            text NOT NULL,
  instance       text NOT NULL,
  member         text,
  at             timestamptz NOT NULL,
  state          text NOT NULL,
  reason         text,
  detail         text,
  actor_kind     text NOT NULL,
  actor          text NOT NULL,
  billable_from  timestamptz,
  billable_until timestamptz,
  CONSTRAINT transition_id UNIQUE (id),
  CONSTRAINT transition_instance FOREIGN KEY (instance, org) REFERENCES instance (id, org)
);
CREATE INDEX transition_by_instance ON transition (instance, seq);
SELECT weir_tenant_table('transition', 'org', 'SELECT');

-- +goose Down
DROP TABLE transition, member, instance;
DROP FUNCTION member_end_is_final();
