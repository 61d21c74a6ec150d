-- Roles. They belong to the whole cluster, so they are made only where they are missing.

do $$
declare
    role name;
begin
    foreach role in array array[
        'grain_owner', 'grain_reader', 'grain_writer', 'grain_worker', 'grain_admin'
    ]::name[]
    loop
        if not exists (select from pg_catalog.pg_roles where rolname = role) then
            execute format('create role %I nologin', role);
        end if;
    end loop;
    if not pg_catalog.pg_has_role('grain_writer', 'grain_reader', 'member') then
        grant grain_reader to grain_writer;
    end if;
    if not pg_catalog.pg_has_role('grain_admin', 'grain_writer', 'member') then
        grant grain_writer to grain_admin;
    end if;
    if not pg_catalog.pg_has_role('grain_admin', 'grain_worker', 'member') then
        grant grain_worker to grain_admin;
    end if;
end;
$$;

grant usage, create on schema grain to grain_owner;
grant usage on schema grain to grain_reader, grain_worker;
