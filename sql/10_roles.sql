-- Roles. They belong to the whole cluster, so they are made only where they are missing; who installs
-- into another database in the same moment makes the same ones, which is no error.

do $$
declare
    role name;
    member name[];
begin
    foreach role in array array[
        'grain_owner', 'grain_reader', 'grain_writer', 'grain_worker', 'grain_admin'
    ]::name[]
    loop
        if not exists (select from pg_catalog.pg_roles where rolname = role) then
            begin
                execute format('create role %I nologin', role);
            exception when duplicate_object or unique_violation then
                null;
            end;
        end if;
    end loop;
    foreach member slice 1 in array array[
        ['grain_reader', 'grain_writer'], ['grain_writer', 'grain_admin'], ['grain_worker', 'grain_admin']
    ]::name[]
    loop
        if not pg_catalog.pg_has_role(member[2], member[1], 'member') then
            begin
                execute format('grant %I to %I', member[1], member[2]);
            exception when unique_violation then
                null;
            end;
        end if;
    end loop;
end;
$$;

grant usage, create on schema grain to grain_owner;
grant usage on schema grain to grain_reader, grain_worker;
