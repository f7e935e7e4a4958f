-- +goose Up
-- What an org uses of its limits: the sum over its counted members. The limit itself is
-- checked by the writer in the same transaction; it may be below the use, which blocks new
-- work only.
CREATE TABLE limit_usage (
  org              text PRIMARY KEY,
  gpue_micro       bigint NOT NULL DEFAULT 0,
  instances        bigint NOT NULL DEFAULT 0,
  queued_instances bigint NOT NULL DEFAULT 0,
  vcpus_milli      bigint NOT NULL DEFAULT 0,
  ram_mib          bigint NOT NULL DEFAULT 0,
  CONSTRAINT limit_usage_positive CHECK (gpue_micro >= 0 AND instances >= 0 AND queued_instances >= 0 AND vcpus_milli >= 0 AND ram_mib >= 0)
);
SELECT weir_tenant_table('limit_usage', 'org', 'SELECT');

-- What is used of a node. The capacity becomes max(reported, used) when the report changes, and
-- otherwise only shrinks towards that: a node that comes back smaller keeps what sits on it, is
-- marked shrunk, and takes nothing more until it fits again.
CREATE TABLE node_usage (
  node           text PRIMARY KEY,
  vcpus_used     bigint NOT NULL,
  vcpus_reported bigint NOT NULL,
  vcpus_capacity bigint NOT NULL,
  ram_used       bigint NOT NULL,
  ram_reported   bigint NOT NULL,
  ram_capacity   bigint NOT NULL,
  shrunk         boolean NOT NULL,
  CONSTRAINT node_usage_vcpus CHECK (vcpus_used BETWEEN 0 AND vcpus_capacity),
  CONSTRAINT node_usage_ram CHECK (ram_used BETWEEN 0 AND ram_capacity),
  CONSTRAINT node_usage_capacity CHECK (vcpus_capacity >= vcpus_reported AND ram_capacity >= ram_reported),
  CONSTRAINT node_usage_shrunk CHECK (shrunk = (vcpus_used > vcpus_reported OR ram_used > ram_reported))
);
SELECT weir_work_table('node_usage');

-- +goose Down
DROP TABLE node_usage, limit_usage;
