-- Schema metering after all migrations; written by `make db-dump`, read in reviews.

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

TABLE interval
  id text NOT NULL
  org text NOT NULL
  project text NOT NULL
  instance text NOT NULL
  member text NOT NULL
  offering text NOT NULL
  offering_version bigint NOT NULL
  price_version text NOT NULL
  per_hour_micro bigint NOT NULL
  currency text NOT NULL
  cards bigint NOT NULL
  gpue_micro bigint NOT NULL
  during tstzrange NOT NULL
  opened_by text NOT NULL
  closed_by text
  end_reason text
  CONSTRAINT interval_closed CHECK ((upper_inf(during) = (closed_by IS NULL)))
  CONSTRAINT interval_currency CHECK ((currency ~ '^[A-Z]{3}$'::text))
  CONSTRAINT interval_end_finite CHECK ((upper_inf(during) OR isfinite(upper(during))))
  CONSTRAINT interval_milliseconds CHECK (((((EXTRACT(microseconds FROM lower(during)))::bigint % (1000)::bigint) = 0) AND (upper_inf(during) OR (((EXTRACT(microseconds FROM upper(during)))::bigint % (1000)::bigint) = 0))))
  CONSTRAINT interval_no_overlap EXCLUDE USING gist (member WITH =, during WITH &&)
  CONSTRAINT interval_org CHECK ((org <> ''::text))
  CONSTRAINT interval_per_hour CHECK ((per_hour_micro >= 0))
  CONSTRAINT interval_pkey PRIMARY KEY (id)
  CONSTRAINT interval_shape CHECK (((NOT isempty(during)) AND lower_inc(during) AND (NOT upper_inc(during)) AND (NOT lower_inf(during)) AND isfinite(lower(during))))
  CONSTRAINT interval_size CHECK (((cards >= 0) AND (gpue_micro >= 0)))
  INDEX interval_instance ON metering."interval" USING btree (instance)
  UNIQUE INDEX interval_one_open ON metering."interval" USING btree (member) WHERE upper_inf(during)
  INDEX interval_org_during ON metering."interval" USING gist (org, during)
  TRIGGER interval_guard BEFORE INSERT OR DELETE OR UPDATE ON metering."interval" FOR EACH ROW EXECUTE FUNCTION interval_guard()
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE member_end
  member text NOT NULL
  org text NOT NULL
  instance text NOT NULL
  at timestamp with time zone NOT NULL
  item text NOT NULL
  reason text NOT NULL
  CONSTRAINT member_end_pkey PRIMARY KEY (member)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE org
  id text NOT NULL
  currency text NOT NULL
  time_zone text NOT NULL
  version bigint NOT NULL
  CONSTRAINT org_currency CHECK ((currency ~ '^[A-Z]{3}$'::text))
  CONSTRAINT org_pkey PRIMARY KEY (id)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((id = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((id = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
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

TABLE price_version
  id text NOT NULL
  offering text NOT NULL
  currency text NOT NULL
  per_hour_micro bigint NOT NULL
  effective_from timestamp with time zone NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT price_version_currency CHECK ((currency ~ '^[A-Z]{3}$'::text))
  CONSTRAINT price_version_offering CHECK ((offering <> ''::text))
  CONSTRAINT price_version_per_hour CHECK (((per_hour_micro >= 0) AND (per_hour_micro <= '1000000000000000'::bigint)))
  CONSTRAINT price_version_pkey PRIMARY KEY (id)
  CONSTRAINT price_version_start UNIQUE (offering, currency, effective_from)
  TRIGGER price_version_guard BEFORE DELETE OR UPDATE ON metering.price_version FOR EACH ROW EXECUTE FUNCTION price_version_guard()
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE progress
  one boolean NOT NULL DEFAULT true
  pos bigint NOT NULL DEFAULT 0
  as_of timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone
  CONSTRAINT progress_one CHECK (one)
  CONSTRAINT progress_pkey PRIMARY KEY (one)
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE refused_fact
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  item text NOT NULL
  member text NOT NULL
  code text NOT NULL
  detail text NOT NULL
  at timestamp with time zone NOT NULL
  CONSTRAINT refused_fact_pkey PRIMARY KEY (id)
  INDEX refused_fact_member USING btree (member)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

FUNCTION metering.interval_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
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
END $function$

FUNCTION metering.price_version_guard()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'a price version is never changed or removed' USING ERRCODE = 'check_violation', CONSTRAINT = 'price_version_immutable';
END $function$
