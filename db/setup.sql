-- Run by the administrator for one schema; safe to repeat. @name@ is a quoted identifier,
-- @name_literal@ a quoted string.
DO $weir$
DECLARE
  r text;
  v text;
  super boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
  same boolean;
BEGIN
  FOR r, v IN VALUES (@owner_literal@, @owner_verifier@), (@api_literal@, @api_verifier@), (@work_literal@, @work_verifier@) LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = r) THEN
      EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION NOBYPASSRLS PASSWORD %L', r, v);
    ELSIF EXISTS (SELECT FROM pg_roles WHERE rolname = r AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb)) THEN
      RAISE EXCEPTION 'role % exists already with more rights than Weir gives it', r;
    ELSE
      -- Roles belong to the whole server: leaving them alone where nothing changed lets
      -- databases that share them be migrated at once. Only a superuser can compare.
      same := false;
      IF super THEN
        SELECT rolcanlogin AND rolpassword = v INTO same FROM pg_authid WHERE rolname = r;
      END IF;
      IF same IS NOT TRUE THEN
        EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', r, v);
      END IF;
    END IF;
  END LOOP;
  -- Giving a schema to another role, and later rights on it, needs membership in that role.
  IF NOT super AND NOT pg_has_role(current_user, @owner_literal@, 'MEMBER') THEN
    EXECUTE format('GRANT %I TO %I', @owner_literal@, current_user);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = @schema_literal@) THEN
    CREATE SCHEMA @schema@ AUTHORIZATION @owner@;
  ELSIF (SELECT nspowner::regrole::name FROM pg_namespace WHERE nspname = @schema_literal@) <> @owner_literal@ THEN
    RAISE EXCEPTION 'schema % exists already and belongs to another role', @schema_literal@;
  END IF;
  REVOKE ALL ON SCHEMA @schema@ FROM PUBLIC;
  GRANT USAGE ON SCHEMA @schema@ TO @api@, @work@;
  FOREACH r IN ARRAY ARRAY[@owner_literal@, @api_literal@, @work_literal@] LOOP
    EXECUTE format('ALTER ROLE %I IN DATABASE %I SET search_path = %I, public', r, current_database(), @schema_literal@);
  END LOOP;
  IF (SELECT pg_has_role(current_user, datdba, 'USAGE') FROM pg_database WHERE datname = current_database()) THEN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO @owner@, @api@, @work@', current_database());
  END IF;
END $weir$;
