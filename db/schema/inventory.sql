-- Schema inventory after all migrations; written by `make db-dump`, read in reviews.

TABLE certificate
  serial text NOT NULL
  node text NOT NULL
  not_before timestamp with time zone NOT NULL
  not_after timestamp with time zone NOT NULL
  revoked_at timestamp with time zone
  CONSTRAINT certificate_life CHECK (((not_after > not_before) AND (not_after <= (not_before + '24:00:00'::interval))))
  CONSTRAINT certificate_node_fkey FOREIGN KEY (node) REFERENCES node(id)
  CONSTRAINT certificate_pkey PRIMARY KEY (serial)
  INDEX certificate_node USING btree (node, not_after)
  INDEX certificate_not_after USING btree (not_after)
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

TABLE gpu
  id text NOT NULL
  node text NOT NULL
  uuid text NOT NULL
  idx integer NOT NULL
  serial text NOT NULL
  board text NOT NULL
  product text NOT NULL
  model text NOT NULL
  arch text NOT NULL
  memory_mib bigint NOT NULL
  sms integer NOT NULL
  units integer NOT NULL
  mig_mode text NOT NULL
  reset_to_toggle boolean NOT NULL
  profiles jsonb NOT NULL
  policy text NOT NULL
  state text NOT NULL
  cordoned boolean NOT NULL DEFAULT false
  version bigint NOT NULL DEFAULT 1
  first_seen_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT gpu_mig_mode CHECK ((mig_mode = ANY (ARRAY['on'::text, 'off'::text, 'pending'::text])))
  CONSTRAINT gpu_node_fkey FOREIGN KEY (node) REFERENCES node(id)
  CONSTRAINT gpu_not_negative CHECK ((LEAST((idx)::bigint, memory_mib, (sms)::bigint, (units)::bigint) >= 0))
  CONSTRAINT gpu_pkey PRIMARY KEY (id)
  CONSTRAINT gpu_policy CHECK ((policy = ANY (ARRAY['auto'::text, 'whole'::text, 'mig'::text])))
  CONSTRAINT gpu_state CHECK ((state = ANY (ARRAY['ok'::text, 'quarantined'::text, 'lost'::text, 'retired'::text])))
  CONSTRAINT gpu_uuid UNIQUE (uuid)
  CONSTRAINT gpu_version CHECK ((version > 0))
  INDEX gpu_node USING btree (node, idx, id)
  GRANT SELECT TO api
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

TABLE join_token
  id text NOT NULL
  hash bytea NOT NULL
  pool text NOT NULL
  node_name text
  created_by text NOT NULL
  created_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone NOT NULL
  used_at timestamp with time zone
  used_by text
  CONSTRAINT join_token_hash UNIQUE (hash)
  CONSTRAINT join_token_hash_length CHECK ((length(hash) = 32))
  CONSTRAINT join_token_life CHECK (((expires_at > created_at) AND (expires_at <= (created_at + '01:00:00'::interval))))
  CONSTRAINT join_token_pkey PRIMARY KEY (id)
  CONSTRAINT join_token_pool_fkey FOREIGN KEY (pool) REFERENCES pool(name)
  CONSTRAINT join_token_used CHECK (((used_at IS NULL) = (used_by IS NULL)))
  CONSTRAINT join_token_used_by_fkey FOREIGN KEY (used_by) REFERENCES node(id)
  INDEX join_token_expires_at USING btree (expires_at)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node
  id text NOT NULL
  name text NOT NULL
  pool text NOT NULL
  state text NOT NULL
  state_reason text NOT NULL
  cordoned boolean NOT NULL DEFAULT false
  quarantined boolean NOT NULL DEFAULT false
  simulated boolean NOT NULL DEFAULT false
  boot_id text NOT NULL DEFAULT ''::text
  hostname text NOT NULL DEFAULT ''::text
  agent_version text NOT NULL DEFAULT ''::text
  runtime jsonb
  refusing_work text NOT NULL DEFAULT ''::text
  vcpus_milli bigint NOT NULL DEFAULT 0
  ram_mib bigint NOT NULL DEFAULT 0
  disk_mib bigint NOT NULL DEFAULT 0
  rack text
  zone text
  labels jsonb NOT NULL DEFAULT '{}'::jsonb
  version bigint NOT NULL DEFAULT 1
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  retired_at timestamp with time zone
  CONSTRAINT node_not_negative CHECK ((LEAST(vcpus_milli, ram_mib, disk_mib) >= 0))
  CONSTRAINT node_pkey PRIMARY KEY (id)
  CONSTRAINT node_pool_fkey FOREIGN KEY (pool) REFERENCES pool(name)
  CONSTRAINT node_retired CHECK (((state = 'retired'::text) = (retired_at IS NOT NULL)))
  CONSTRAINT node_state CHECK ((state = ANY (ARRAY['ready'::text, 'not_ready'::text, 'retired'::text])))
  CONSTRAINT node_version CHECK ((version > 0))
  UNIQUE INDEX node_name USING btree (name) WHERE (state <> 'retired'::text)
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_boot
  node text NOT NULL
  boot_id text NOT NULL
  seq bigint NOT NULL
  strikes integer NOT NULL DEFAULT 0
  superseded_at timestamp with time zone NOT NULL
  CONSTRAINT node_boot_node_fkey FOREIGN KEY (node) REFERENCES node(id)
  CONSTRAINT node_boot_pkey PRIMARY KEY (node, boot_id)
  INDEX node_boot_superseded_at USING btree (superseded_at)
  GRANT DELETE, INSERT, SELECT, UPDATE TO work

TABLE node_seen
  node text NOT NULL
  boot_id text NOT NULL
  seq bigint NOT NULL
  digest bytea NOT NULL
  facts bytea NOT NULL
  at timestamp with time zone NOT NULL
  cards jsonb NOT NULL
  counters jsonb NOT NULL DEFAULT '{}'::jsonb
  ignored bigint NOT NULL DEFAULT 0
  strikes integer NOT NULL DEFAULT 0
  CONSTRAINT node_seen_node_fkey FOREIGN KEY (node) REFERENCES node(id)
  CONSTRAINT node_seen_pkey PRIMARY KEY (node)
  CONSTRAINT node_seen_seq CHECK ((seq > 0))
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

TABLE pool
  id text NOT NULL
  name text NOT NULL
  region text NOT NULL
  authority text NOT NULL
  share_across_orgs boolean NOT NULL DEFAULT false
  default_card_policy text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT pool_authority CHECK ((authority = 'agent'::text))
  CONSTRAINT pool_default_card_policy CHECK ((default_card_policy = ANY (ARRAY['auto'::text, 'whole'::text, 'mig'::text])))
  CONSTRAINT pool_name UNIQUE (name)
  CONSTRAINT pool_pkey PRIMARY KEY (id)
  GRANT SELECT TO api
  GRANT DELETE, INSERT, SELECT, UPDATE TO work
