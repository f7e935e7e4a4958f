-- Installed by the owner in every schema before its migrations; @schema@, @owner@, @api@
-- and @work@ are replaced by quoted identifiers.

-- weir_revoke clears every right on a table, so that passing it through another of the
-- three functions later leaves exactly that function's rights.
CREATE OR REPLACE FUNCTION @schema@.weir_revoke(tab text) RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $weir$
BEGIN
  EXECUTE format('REVOKE ALL ON @schema@.%I FROM PUBLIC, @api@, @work@', tab);
  EXECUTE format('DROP POLICY IF EXISTS weir_api ON @schema@.%I', tab);
  EXECUTE format('DROP POLICY IF EXISTS weir_work ON @schema@.%I', tab);
  EXECUTE format('ALTER TABLE @schema@.%I NO FORCE ROW LEVEL SECURITY', tab);
  EXECUTE format('ALTER TABLE @schema@.%I DISABLE ROW LEVEL SECURITY', tab);
END $weir$;

-- weir_sequences lets role use the sequences behind a table's serial columns. Identity
-- columns need no right of their own.
CREATE OR REPLACE FUNCTION @schema@.weir_sequences(tab text, grantee text) RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $weir$
DECLARE s regclass;
BEGIN
  FOR s IN SELECT d.objid::regclass FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
           WHERE d.refobjid = format('@schema@.%I', tab)::regclass AND d.deptype = 'a' LOOP
    EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %I', s, grantee);
  END LOOP;
END $weir$;

-- weir_tenant_table: rows belong to the org in column col. The api role sees and writes
-- the rows of the org in weir.org, or of all with weir.operator; work and owner (a
-- migration that moves data) see all. api_rights narrows what api may do at all.
CREATE OR REPLACE FUNCTION @schema@.weir_tenant_table(tab text, col text DEFAULT 'org', api_rights text DEFAULT 'SELECT, INSERT, UPDATE, DELETE') RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $weir$
DECLARE mine text;
BEGIN
  PERFORM @schema@.weir_revoke(tab);
  -- The sub-selects are evaluated once per statement. An unset or reset setting is NULL or
  -- empty and so matches no row.
  mine := format('%I = (SELECT NULLIF(current_setting(''weir.org'', true), '''')) OR (SELECT current_setting(''weir.operator'', true)) = ''on''', col);
  EXECUTE format('ALTER TABLE @schema@.%I ENABLE ROW LEVEL SECURITY', tab);
  EXECUTE format('ALTER TABLE @schema@.%I FORCE ROW LEVEL SECURITY', tab);
  EXECUTE format('CREATE POLICY weir_api ON @schema@.%I TO @api@ USING (%s) WITH CHECK (%s)', tab, mine, mine);
  EXECUTE format('CREATE POLICY weir_work ON @schema@.%I TO @work@, @owner@ USING (true) WITH CHECK (true)', tab);
  EXECUTE format('GRANT %s ON @schema@.%I TO @api@', api_rights, tab);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON @schema@.%I TO @work@', tab);
  PERFORM @schema@.weir_sequences(tab, @api_literal@);
  PERFORM @schema@.weir_sequences(tab, @work_literal@);
END $weir$;

-- weir_work_table: only background loops touch it.
CREATE OR REPLACE FUNCTION @schema@.weir_work_table(tab text) RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $weir$
BEGIN
  PERFORM @schema@.weir_revoke(tab);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON @schema@.%I TO @work@', tab);
  PERFORM @schema@.weir_sequences(tab, @work_literal@);
END $weir$;

-- weir_shared_table: no org owns its rows; requests read it, loops write it.
CREATE OR REPLACE FUNCTION @schema@.weir_shared_table(tab text) RETURNS void
LANGUAGE plpgsql SET search_path = @schema@, pg_temp AS $weir$
BEGIN
  PERFORM @schema@.weir_work_table(tab);
  EXECUTE format('GRANT SELECT ON @schema@.%I TO @api@', tab);
END $weir$;

REVOKE ALL ON FUNCTION @schema@.weir_revoke(text), @schema@.weir_sequences(text, text), @schema@.weir_tenant_table(text, text, text),
  @schema@.weir_work_table(text), @schema@.weir_shared_table(text) FROM PUBLIC;
