-- Schema tenant after all migrations; written by `make db-dump`, read in reviews.

TABLE account
  id text NOT NULL
  email text NOT NULL
  name text NOT NULL
  password_hash text NOT NULL
  operator boolean NOT NULL DEFAULT false
  disabled_at timestamp with time zone
  created_at timestamp with time zone NOT NULL
  CONSTRAINT account_email UNIQUE (email)
  CONSTRAINT account_email_normal CHECK ((email = lower(email)))
  CONSTRAINT account_pkey PRIMARY KEY (id)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE api_key
  id text NOT NULL
  org text NOT NULL
  project text
  owner text NOT NULL
  name text NOT NULL
  role text NOT NULL
  hint text NOT NULL
  hash bytea NOT NULL
  disabled boolean NOT NULL DEFAULT false
  version bigint NOT NULL DEFAULT 1
  created_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone
  last_used_at timestamp with time zone
  revoked_at timestamp with time zone
  CONSTRAINT api_key_hash UNIQUE (hash)
  CONSTRAINT api_key_hash_length CHECK ((length(hash) = 32))
  CONSTRAINT api_key_org_fkey FOREIGN KEY (org) REFERENCES org(id)
  CONSTRAINT api_key_owner_fkey FOREIGN KEY (owner) REFERENCES account(id)
  CONSTRAINT api_key_pkey PRIMARY KEY (id)
  CONSTRAINT api_key_project FOREIGN KEY (org, project) REFERENCES project(org, id)
  CONSTRAINT api_key_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text])))
  INDEX api_key_org USING btree (org, id) WHERE (revoked_at IS NULL)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT INSERT, SELECT, UPDATE TO api
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

TABLE membership
  org text NOT NULL
  account text NOT NULL
  role text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT membership_account_fkey FOREIGN KEY (account) REFERENCES account(id)
  CONSTRAINT membership_one_org UNIQUE (account)
  CONSTRAINT membership_org_fkey FOREIGN KEY (org) REFERENCES org(id)
  CONSTRAINT membership_pkey PRIMARY KEY (org, account)
  CONSTRAINT membership_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'developer'::text, 'billing'::text, 'viewer'::text])))
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE org
  id text NOT NULL
  name text NOT NULL
  currency text NOT NULL
  time_zone text NOT NULL
  billing_mode text NOT NULL
  standing text NOT NULL
  approved boolean NOT NULL
  reason text
  version bigint NOT NULL DEFAULT 1
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT org_billing_mode CHECK ((billing_mode = ANY (ARRAY['prepaid'::text, 'postpaid'::text])))
  CONSTRAINT org_currency CHECK ((currency = ANY (ARRAY['CNY'::text, 'USD'::text])))
  CONSTRAINT org_pkey PRIMARY KEY (id)
  CONSTRAINT org_standing CHECK ((standing = ANY (ARRAY['good'::text, 'overdue'::text, 'suspended'::text])))
  CONSTRAINT org_version CHECK ((version > 0))
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((id = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((id = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT, UPDATE TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE org_limits
  org text NOT NULL
  gpue_micro bigint
  instances bigint
  queued_instances bigint
  vcpus_milli bigint
  ram_mib bigint
  version bigint NOT NULL DEFAULT 1
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT org_limits_not_negative CHECK ((LEAST(gpue_micro, instances, queued_instances, vcpus_milli, ram_mib) >= 0))
  CONSTRAINT org_limits_org_fkey FOREIGN KEY (org) REFERENCES org(id)
  CONSTRAINT org_limits_pkey PRIMARY KEY (org)
  CONSTRAINT org_limits_version CHECK ((version > 0))
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT, UPDATE TO api
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

TABLE project
  id text NOT NULL
  org text NOT NULL
  name text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT project_name UNIQUE (org, name)
  CONSTRAINT project_of_org UNIQUE (org, id)
  CONSTRAINT project_org_fkey FOREIGN KEY (org) REFERENCES org(id)
  CONSTRAINT project_pkey PRIMARY KEY (id)
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE refresh_token
  hash bytea NOT NULL
  session text NOT NULL
  issued_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone NOT NULL
  used_at timestamp with time zone
  CONSTRAINT refresh_token_hash CHECK ((length(hash) = 32))
  CONSTRAINT refresh_token_pkey PRIMARY KEY (hash)
  CONSTRAINT refresh_token_session_fkey FOREIGN KEY (session) REFERENCES session(id) ON DELETE CASCADE
  INDEX refresh_token_expires USING btree (expires_at)
  INDEX refresh_token_session USING btree (session)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE session
  id text NOT NULL
  account text NOT NULL
  org text
  created_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone NOT NULL
  ended_at timestamp with time zone
  end_reason text
  CONSTRAINT session_account_fkey FOREIGN KEY (account) REFERENCES account(id)
  CONSTRAINT session_ended CHECK (((ended_at IS NULL) = (end_reason IS NULL)))
  CONSTRAINT session_org CHECK ((org <> ''::text))
  CONSTRAINT session_org_fkey FOREIGN KEY (org) REFERENCES org(id)
  CONSTRAINT session_pkey PRIMARY KEY (id)
  INDEX session_account USING btree (account) WHERE (ended_at IS NULL)
  INDEX session_over USING btree (LEAST(expires_at, ended_at))
  ROW LEVEL SECURITY FORCED
  POLICY weir_api TO api USING ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text)) WITH CHECK ((org = ( SELECT NULLIF(current_setting('weir.org'::text, true), ''::text) AS "nullif")) OR (( SELECT current_setting('weir.operator'::text, true) AS current_setting) = 'on'::text))
  POLICY weir_work TO owner, work USING true WITH CHECK true
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work
