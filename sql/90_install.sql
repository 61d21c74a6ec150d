-- Installing: the tables, types, views and policies that these functions work on. It is called
-- after the functions are there, by hand or by `pg-grain install`, and again after each upgrade.

create or replace function grain.install()
returns text
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $install$
declare
    pgvector text := (select e.extversion from pg_extension as e where e.extname = 'vector');
    vectors name := grain._vector_schema();
    trigrams name := (
        select n.nspname from pg_extension as e
        inner join pg_namespace as n on n.oid = e.extnamespace
        where e.extname = 'pg_trgm'
    );
    migrations constant text[] := @migration_names@;
    bodies constant text[] := @migration_bodies@;
    views constant text := @views@;
    applied integer := 0;
begin
    if not (select r.rolsuper from pg_roles as r where r.rolname = current_user) then
        raise exception 'grain.install() is run by a superuser'
            using errcode = '42501',
                detail = 'It hands its tables to grain_owner.',
                hint = 'set role postgres;';
    end if;
    if getdatabaseencoding() <> 'UTF8' then
        raise exception 'the database is not encoded in UTF8'
            using errcode = '55000',
                detail = 'Characters are counted and hashed as UTF-8.',
                hint = 'create database name encoding ''UTF8'' template template0;';
    end if;
    if pgvector is null or trigrams is null or not exists (
        select from pg_extension as e where e.extname = 'btree_gin'
    ) then
        raise exception 'an extension is missing'
            using errcode = '55000',
                detail = 'pg_grain needs vector, pg_trgm and btree_gin.',
                hint = 'create extension if not exists vector; create extension if not exists pg_trgm; create extension if not exists btree_gin;';
    end if;
    if string_to_array(regexp_replace(pgvector, '[^0-9.].*$', ''), '.')::integer[] < '{0,8,0}'::integer[] then
        raise exception 'pgvector % is too old', pgvector
            using errcode = '55000',
                detail = 'Filtered searches need the iterative index scans of 0.8.0.',
                hint = 'alter extension vector update;  -- after installing a newer release';
    elsif string_to_array(regexp_replace(pgvector, '[^0-9.].*$', ''), '.')::integer[] < '{0,8,4}'::integer[] then
        raise warning 'pgvector % has faults that 0.8.4 mends', pgvector
            using detail = 'Before 0.8.2 a parallel index build can overflow its memory (CVE-2026-3172); before 0.8.4 VACUUM can damage an HNSW index.',
                hint = 'Install pgvector 0.8.4 or newer, then: alter extension vector update;';
    end if;

    perform grain._freeze();
    grant usage on schema grain to grain_owner, grain_reader, grain_worker;
    grant create on schema grain to grain_owner;
    execute format(
        'grant usage on schema %I to grain_owner, grain_reader, grain_worker', vectors
    );
    -- Without a value to fall back to, a setting reads '' after the transaction that made it.
    execute format(
        'alter database %I set grain.tenant_id = %L', current_database(), grain._default_tenant()
    );
    if coalesce(current_setting('grain.tenant_id', true), '') = '' then
        perform set_config('grain.tenant_id', grain._default_tenant()::text, false);
    end if;

    set local role grain_owner;
    if to_regclass('grain.migration') is null then
        create table grain.migration (
            name text primary key,
            applied_at timestamptz not null default now()
        );
        comment on table grain.migration is 'The migrations that this database has.';
        comment on column grain.migration.name is 'Name of the migration.';
        comment on column grain.migration.applied_at is 'When it was applied.';
    end if;
    for step in 1 .. cardinality(migrations) loop
        if not exists (select from grain.migration as m where m.name = migrations[step]) then
            execute replace(replace(
                bodies[step], '"@vector@"', quote_ident(vectors)), '"@trgm@"', quote_ident(trigrams)
            );
            insert into grain.migration (name) values (migrations[step]);
            applied := applied + 1;
        end if;
    end loop;
    execute views;
    reset role;
    return format(
        'pg_grain %s: %s of %s migrations applied', grain.version(), applied, cardinality(migrations)
    );
end;
$install$;

comment on function grain.install() is
'Makes or upgrades the tables, views and policies. Run it after CREATE EXTENSION and after each ALTER EXTENSION UPDATE; running it again changes nothing.';
