-- Schema allocator after all migrations; written by `make db-dump`, read in reviews.

TABLE card_usage
  gpu text NOT NULL
  memory_capacity bigint NOT NULL
  share_used integer NOT NULL DEFAULT 0
  memory_used bigint NOT NULL DEFAULT 0
  CONSTRAINT card_usage_memory CHECK (((memory_used >= 0) AND (memory_used <= memory_capacity)))
  CONSTRAINT card_usage_pkey PRIMARY KEY (gpu)
  CONSTRAINT card_usage_share CHECK (((share_used >= 0) AND (share_used <= 1000)))
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE feed_cursor
  source text NOT NULL
  feed text NOT NULL
  incarnation text NOT NULL
  pos bigint NOT NULL
  item text NOT NULL
  as_of timestamp with time zone NOT NULL
  CONSTRAINT feed_cursor_pkey PRIMARY KEY (source, feed)
  CONSTRAINT feed_cursor_pos CHECK ((pos >= 0))
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE feed_head
  feed text NOT NULL
  pos bigint NOT NULL DEFAULT 0
  CONSTRAINT feed_head_pkey PRIMARY KEY (feed)
  CONSTRAINT feed_head_pos CHECK ((pos >= 0))
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE feed_source
  one boolean NOT NULL DEFAULT true
  incarnation text NOT NULL
  CONSTRAINT feed_source_one CHECK (one)
  CONSTRAINT feed_source_pkey PRIMARY KEY (one)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE idempotency
  org text NOT NULL
  principal text NOT NULL
  operation text NOT NULL
  path text NOT NULL
  key text NOT NULL
  body bytea NOT NULL
  status integer
  answer json
  at timestamp with time zone NOT NULL DEFAULT now()
  CONSTRAINT idempotency_body CHECK ((length(body) = 32))
  CONSTRAINT idempotency_org CHECK ((org <> ''::text))
  CONSTRAINT idempotency_pkey PRIMARY KEY (org, principal, operation, path, key)
  INDEX idempotency_at USING btree (at)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT DELETE, INSERT, SELECT, UPDATE TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE instance
  id text NOT NULL
  org text NOT NULL
  project text
  name text NOT NULL
  state text NOT NULL
  state_reason text
  state_detail text
  exit_code integer
  offering text NOT NULL
  offering_version bigint NOT NULL
  kind text NOT NULL
  count integer NOT NULL
  nodes integer NOT NULL
  vcpus_milli bigint NOT NULL
  ram_mib bigint NOT NULL
  image text
  command jsonb
  env_sealed bytea
  labels jsonb NOT NULL
  price_version text NOT NULL
  per_hour_micro bigint NOT NULL
  currency text NOT NULL
  term text NOT NULL
  created_by_kind text NOT NULL
  created_by text NOT NULL
  created_at timestamp with time zone NOT NULL
  running_at timestamp with time zone
  stopped_at timestamp with time zone
  delete_asked_at timestamp with time zone
  deleted_at timestamp with time zone
  CONSTRAINT instance_deleted CHECK (((deleted_at IS NULL) OR ((delete_asked_at IS NOT NULL) AND (state = ANY (ARRAY['stopped'::text, 'failed'::text, 'lost'::text])))))
  CONSTRAINT instance_labels CHECK ((jsonb_typeof(labels) = 'object'::text))
  CONSTRAINT instance_offering FOREIGN KEY (offering, offering_version) REFERENCES offering(id, version)
  CONSTRAINT instance_org UNIQUE (id, org)
  CONSTRAINT instance_pkey PRIMARY KEY (id)
  CONSTRAINT instance_shape CHECK ((((count >= 1) AND (count <= 64)) AND ((nodes >= 1) AND (nodes <= 1024)) AND (vcpus_milli >= 0) AND (ram_mib >= 0) AND (per_hour_micro >= 0)))
  CONSTRAINT instance_state CHECK ((state = ANY (ARRAY['queued'::text, 'assigned'::text, 'preparing'::text, 'running'::text, 'unreachable'::text, 'stopping'::text, 'stopped'::text, 'failed'::text, 'lost'::text])))
  CONSTRAINT instance_term CHECK ((term = ANY (ARRAY['on_demand'::text, 'monthly'::text, 'yearly'::text])))
  INDEX instance_by_org USING btree (org, created_at DESC, id DESC)
  INDEX instance_by_time USING btree (created_at DESC, id DESC)
  INDEX instance_live USING btree (id) WHERE (state <> ALL (ARRAY['stopped'::text, 'failed'::text, 'lost'::text]))
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE lease
  one boolean NOT NULL DEFAULT true
  epoch bigint NOT NULL DEFAULT 0
  backend_pid integer
  renewed_at timestamp with time zone
  address text
  CONSTRAINT lease_epoch CHECK ((epoch >= 0))
  CONSTRAINT lease_one CHECK (one)
  CONSTRAINT lease_pkey PRIMARY KEY (one)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE limit_copy
  org text NOT NULL
  gpue_micro bigint
  instances bigint
  queued_instances bigint
  vcpus_milli bigint
  ram_mib bigint
  version bigint NOT NULL
  CONSTRAINT limit_copy_pkey PRIMARY KEY (org)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE limit_usage
  org text NOT NULL
  gpue_micro bigint NOT NULL DEFAULT 0
  instances bigint NOT NULL DEFAULT 0
  queued_instances bigint NOT NULL DEFAULT 0
  vcpus_milli bigint NOT NULL DEFAULT 0
  ram_mib bigint NOT NULL DEFAULT 0
  CONSTRAINT limit_usage_pkey PRIMARY KEY (org)
  CONSTRAINT limit_usage_positive CHECK (((gpue_micro >= 0) AND (instances >= 0) AND (queued_instances >= 0) AND (vcpus_milli >= 0) AND (ram_mib >= 0)))
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE member
  id text NOT NULL
  org text NOT NULL
  instance text NOT NULL
  ordinal integer NOT NULL
  node text NOT NULL
  state text NOT NULL
  reason text
  detail text
  exit_code integer
  offering text NOT NULL
  offering_version bigint NOT NULL
  cards integer NOT NULL
  gpue_micro bigint NOT NULL
  vcpus_milli bigint NOT NULL
  ram_mib bigint NOT NULL
  price_version text NOT NULL
  per_hour_micro bigint NOT NULL
  currency text NOT NULL
  assigned_at timestamp with time zone NOT NULL
  prepare_by timestamp with time zone NOT NULL
  running_at timestamp with time zone
  boot text
  meter_from timestamp with time zone
  meter_until timestamp with time zone
  stop_cause text
  stop_asked_at timestamp with time zone
  ended_at timestamp with time zone
  counted boolean NOT NULL
  released_at timestamp with time zone
  ghost boolean NOT NULL DEFAULT false
  CONSTRAINT member_end CHECK (((ended_at IS NOT NULL) = (state = ANY (ARRAY['stopped'::text, 'failed'::text, 'lost'::text]))))
  CONSTRAINT member_ended CHECK (((ended_at IS NULL) OR ((NOT counted) AND (meter_from IS NULL))))
  CONSTRAINT member_ghost CHECK (((NOT ghost) OR (released_at IS NOT NULL)))
  CONSTRAINT member_instance FOREIGN KEY (instance, org) REFERENCES instance(id, org)
  CONSTRAINT member_meter CHECK (((meter_from IS NULL) OR (meter_until IS NULL) OR (meter_from >= meter_until)))
  CONSTRAINT member_offering FOREIGN KEY (offering, offering_version) REFERENCES offering(id, version)
  CONSTRAINT member_org UNIQUE (id, org)
  CONSTRAINT member_pkey PRIMARY KEY (id)
  CONSTRAINT member_released CHECK (((released_at IS NULL) OR (ended_at IS NOT NULL)))
  CONSTRAINT member_shape CHECK (((cards >= 0) AND (gpue_micro >= 0) AND (vcpus_milli >= 0) AND (ram_mib >= 0) AND (per_hour_micro >= 0)))
  CONSTRAINT member_state CHECK ((state = ANY (ARRAY['assigned'::text, 'preparing'::text, 'running'::text, 'unreachable'::text, 'stopping'::text, 'stopped'::text, 'failed'::text, 'lost'::text])))
  CONSTRAINT member_stop CHECK (((stop_cause IS NULL) = (stop_asked_at IS NULL)))
  INDEX member_by_instance USING btree (instance, ordinal, assigned_at)
  INDEX member_counted USING btree (org) WHERE counted
  INDEX member_held USING btree (node) WHERE ((released_at IS NULL) OR ghost)
  TRIGGER member_end_final BEFORE UPDATE ON allocator.member FOR EACH ROW EXECUTE FUNCTION member_end_is_final()
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_boot
  node text NOT NULL
  boot text NOT NULL
  ended_at timestamp with time zone NOT NULL
  CONSTRAINT node_boot_pkey PRIMARY KEY (node, boot)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_copy
  node text NOT NULL
  name text NOT NULL
  doc jsonb NOT NULL
  version bigint NOT NULL
  CONSTRAINT node_copy_pkey PRIMARY KEY (node)
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_desired
  node text NOT NULL
  generation bigint NOT NULL
  CONSTRAINT node_desired_generation CHECK ((generation > 0))
  CONSTRAINT node_desired_pkey PRIMARY KEY (node)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_session
  node text NOT NULL
  boot text NOT NULL
  seq bigint NOT NULL
  proof_at timestamp with time zone NOT NULL
  incarnation text
  CONSTRAINT node_session_pkey PRIMARY KEY (node)
  CONSTRAINT node_session_seq CHECK ((seq >= 0))
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_usage
  node text NOT NULL
  vcpus_used bigint NOT NULL
  vcpus_reported bigint NOT NULL
  vcpus_capacity bigint NOT NULL
  ram_used bigint NOT NULL
  ram_reported bigint NOT NULL
  ram_capacity bigint NOT NULL
  shrunk boolean NOT NULL
  CONSTRAINT node_usage_capacity CHECK (((vcpus_capacity >= vcpus_reported) AND (ram_capacity >= ram_reported)))
  CONSTRAINT node_usage_pkey PRIMARY KEY (node)
  CONSTRAINT node_usage_ram CHECK (((ram_used >= 0) AND (ram_used <= ram_capacity)))
  CONSTRAINT node_usage_shrunk CHECK ((shrunk = ((vcpus_used > vcpus_reported) OR (ram_used > ram_reported))))
  CONSTRAINT node_usage_vcpus CHECK (((vcpus_used >= 0) AND (vcpus_used <= vcpus_capacity)))
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE offering
  id text NOT NULL
  version bigint NOT NULL
  region text NOT NULL
  model text NOT NULL
  kind text NOT NULL
  profile text
  gpue_micro bigint NOT NULL
  memory_mib bigint NOT NULL
  sms integer NOT NULL
  card_sms integer NOT NULL
  vcpus_milli bigint NOT NULL
  ram_mib bigint NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT offering_kind CHECK ((kind = ANY (ARRAY['whole'::text, 'mig'::text, 'shared'::text])))
  CONSTRAINT offering_pkey PRIMARY KEY (id, version)
  CONSTRAINT offering_profile CHECK (((kind = 'mig'::text) = (profile IS NOT NULL)))
  CONSTRAINT offering_sizes CHECK (((version > 0) AND (gpue_micro > 0) AND (memory_mib > 0) AND (sms >= 0) AND (card_sms >= sms) AND (vcpus_milli >= 0) AND (ram_mib >= 0)))
  TRIGGER offering_immutable BEFORE DELETE OR UPDATE ON allocator.offering FOR EACH ROW EXECUTE FUNCTION offering_is_immutable()
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE org_copy
  org text NOT NULL
  name text NOT NULL
  currency text NOT NULL
  time_zone text NOT NULL
  billing_mode text NOT NULL
  standing text NOT NULL
  approved boolean NOT NULL
  project text
  version bigint NOT NULL
  CONSTRAINT org_copy_pkey PRIMARY KEY (org)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE orphan
  id text NOT NULL
  node text NOT NULL
  gpu_uuid text NOT NULL
  member text NOT NULL
  boot text NOT NULL
  kind text NOT NULL
  profile text
  start integer
  size integer
  found_at timestamp with time zone NOT NULL
  released_at timestamp with time zone
  CONSTRAINT orphan_pkey PRIMARY KEY (id)
  UNIQUE INDEX orphan_once USING btree (node, gpu_uuid, member, COALESCE(start, '-1'::integer)) WHERE (released_at IS NULL)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE outbox
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  id text NOT NULL
  feed text NOT NULL
  key text NOT NULL
  org text NOT NULL DEFAULT ''::text
  at timestamp with time zone NOT NULL
  data json NOT NULL
  pos bigint
  written_at timestamp with time zone NOT NULL DEFAULT clock_timestamp()
  CONSTRAINT outbox_pkey PRIMARY KEY (seq)
  CONSTRAINT outbox_pos_positive CHECK ((pos > 0))
  UNIQUE INDEX outbox_feed_pos USING btree (feed, pos) WHERE (pos IS NOT NULL)
  INDEX outbox_waiting USING btree (seq) WHERE (pos IS NULL)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT INSERT, SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE price_copy
  version_id text NOT NULL
  offering text NOT NULL
  currency text NOT NULL
  per_hour_micro bigint NOT NULL
  effective_from timestamp with time zone NOT NULL
  CONSTRAINT price_copy_amount CHECK ((per_hour_micro >= 0))
  CONSTRAINT price_copy_pkey PRIMARY KEY (offering, currency, version_id)
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE seat
  id text NOT NULL
  org text NOT NULL
  member text NOT NULL
  gpu text NOT NULL
  kind text NOT NULL
  span int4range
  profile text
  start integer
  size integer
  cross_org boolean NOT NULL DEFAULT false
  share integer NOT NULL
  memory_mib bigint NOT NULL
  assigned_at timestamp with time zone NOT NULL
  boot text
  released_at timestamp with time zone
  cleaning text
  released_by text
  CONSTRAINT seat_cleaning CHECK ((cleaning = ANY (ARRAY['gi_destroyed'::text, 'gpu_reset'::text, 'processes_gone'::text, 'none'::text])))
  CONSTRAINT seat_kind CHECK ((kind = ANY (ARRAY['whole'::text, 'mig'::text, 'shared'::text])))
  CONSTRAINT seat_member FOREIGN KEY (member, org) REFERENCES member(id, org)
  CONSTRAINT seat_mig CHECK (((kind <> 'mig'::text) OR ((profile IS NOT NULL) AND (start >= 0) AND (size > 0) AND (span = int4range(start, (start + size))))))
  CONSTRAINT seat_not_null CHECK (((kind <> 'mig'::text) OR ((start IS NOT NULL) AND (size IS NOT NULL) AND (span IS NOT NULL))))
  CONSTRAINT seat_one_kind EXCLUDE USING gist (gpu WITH =, kind WITH <>) WHERE ((released_at IS NULL))
  CONSTRAINT seat_overlap EXCLUDE USING gist (gpu WITH =, span WITH &&) WHERE ((released_at IS NULL))
  CONSTRAINT seat_pkey PRIMARY KEY (id)
  CONSTRAINT seat_release CHECK ((((released_at IS NULL) = (cleaning IS NULL)) AND ((released_at IS NULL) = (released_by IS NULL))))
  CONSTRAINT seat_released_by CHECK ((released_by = ANY (ARRAY['agent'::text, 'fence'::text, 'new_boot'::text])))
  CONSTRAINT seat_share CHECK ((((share >= 1) AND (share <= 1000)) AND (memory_mib > 0)))
  CONSTRAINT seat_shared CHECK (((kind <> 'shared'::text) OR ((span IS NULL) AND (profile IS NULL) AND (start IS NULL) AND (size IS NULL))))
  CONSTRAINT seat_shared_one_org EXCLUDE USING gist (gpu WITH =, org WITH <>) WHERE (((released_at IS NULL) AND (kind = 'shared'::text) AND (NOT cross_org)))
  CONSTRAINT seat_shared_one_rule EXCLUDE USING gist (gpu WITH =, ((cross_org)::integer) WITH <>) WHERE (((released_at IS NULL) AND (kind = 'shared'::text)))
  CONSTRAINT seat_whole CHECK (((kind <> 'whole'::text) OR ((span = '(,)'::int4range) AND (profile IS NULL) AND (start IS NULL) AND (size IS NULL) AND (share = 1000))))
  INDEX seat_by_member USING btree (member)
  INDEX seat_held USING btree (gpu) WHERE (released_at IS NULL)
  TRIGGER seat_immutable BEFORE DELETE OR UPDATE ON allocator.seat FOR EACH ROW EXECUTE FUNCTION seat_is_immutable()
  TRIGGER seat_share_given AFTER UPDATE ON allocator.seat FOR EACH ROW WHEN (((new.kind = 'shared'::text) AND (old.released_at IS NULL) AND (new.released_at IS NOT NULL))) EXECUTE FUNCTION seat_counts_its_share()
  TRIGGER seat_share_taken AFTER INSERT ON allocator.seat FOR EACH ROW WHEN (((new.kind = 'shared'::text) AND (new.released_at IS NULL))) EXECUTE FUNCTION seat_counts_its_share()
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE seat_live
  seat text NOT NULL
  org text NOT NULL
  device_uuid text NOT NULL
  gi integer
  ci integer
  sms integer
  memory_mib bigint
  at timestamp with time zone NOT NULL
  CONSTRAINT seat_live_pkey PRIMARY KEY (seat)
  CONSTRAINT seat_live_seat_fkey FOREIGN KEY (seat) REFERENCES seat(id)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE transition
  seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  id text NOT NULL
  org text NOT NULL
  instance text NOT NULL
  member text
  at timestamp with time zone NOT NULL
  state text NOT NULL
  reason text
  detail text
  actor_kind text NOT NULL
  actor text NOT NULL
  billable_from timestamp with time zone
  billable_until timestamp with time zone
  CONSTRAINT transition_id UNIQUE (id)
  CONSTRAINT transition_instance FOREIGN KEY (instance, org) REFERENCES instance(id, org)
  CONSTRAINT transition_pkey PRIMARY KEY (seq)
  INDEX transition_by_instance USING btree (instance, seq)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE writer_mark
  one boolean NOT NULL DEFAULT true
  epoch bigint NOT NULL DEFAULT 0
  batch bigint NOT NULL DEFAULT 0
  CONSTRAINT writer_mark_one CHECK (one)
  CONSTRAINT writer_mark_pkey PRIMARY KEY (one)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

FUNCTION allocator.member_end_is_final()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF OLD.ended_at IS NOT NULL AND (NEW.ended_at IS DISTINCT FROM OLD.ended_at OR NEW.state <> OLD.state) THEN
    RAISE EXCEPTION 'member % has ended', OLD.id USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'member_end_final';
  END IF;
  IF (NEW.id, NEW.org, NEW.instance, NEW.node, NEW.offering, NEW.offering_version, NEW.price_version, NEW.per_hour_micro, NEW.currency, NEW.gpue_micro, NEW.vcpus_milli, NEW.ram_mib, NEW.assigned_at)
    IS DISTINCT FROM (OLD.id, OLD.org, OLD.instance, OLD.node, OLD.offering, OLD.offering_version, OLD.price_version, OLD.per_hour_micro, OLD.currency, OLD.gpue_micro, OLD.vcpus_milli, OLD.ram_mib, OLD.assigned_at) THEN
    RAISE EXCEPTION 'what member % was admitted with never changes', OLD.id USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'member_admission_fixed';
  END IF;
  RETURN NEW;
END $function$

FUNCTION allocator.offering_is_immutable()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'an offering version never changes' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'offering_immutable';
END $function$

FUNCTION allocator.seat_counts_its_share()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE sign integer := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  UPDATE card_usage SET share_used = share_used + sign * NEW.share, memory_used = memory_used + sign * NEW.memory_mib WHERE gpu = NEW.gpu;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'card % is not open for shares', NEW.gpu USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'card_usage_known';
  END IF;
  RETURN NULL;
END $function$

FUNCTION allocator.seat_is_immutable()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$
