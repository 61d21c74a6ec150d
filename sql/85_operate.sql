-- Operating: what is here, whether its walls stand, and the index over the vectors.

create or replace function grain.version()
returns text
language sql
immutable
parallel safe
return '@version@';

comment on function grain.version() is 'The version of these functions.';

create or replace function grain.build_index(source text, min_rows integer default 5000)
returns table (leaf text, vectors bigint, built boolean)
language plpgsql
volatile
parallel unsafe
rows 4
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    part record;
    vectors_schema name := grain._vector_schema();
begin
    for part in
        select c.relname, c.oid, m.dimensions, m.index_kind
        from grain.source as s
        inner join grain.generation as g on g.generation_id = s.live_generation_id
        inner join grain.model as m on m.model_id = g.model_id
        cross join lateral pg_partition_tree('grain.embedding_' || g.generation_id) as t
        inner join pg_class as c on c.oid = t.relid
        where t.isleaf and s.source_id = (select o.source_id from grain._source(build_index.source) as o)
        order by c.relname
    loop
        leaf := part.relname;
        built := false;
        execute format('select count(*) from grain.%I', part.relname) into vectors;
        if vectors >= min_rows and not grain._has_vector_index(part.oid) then
            execute format(
                'create index %1$I on grain.%2$I using hnsw ((embedding::%3$I.halfvec(%4$s)) %3$I.halfvec_cosine_ops)',
                part.relname || '_hnsw', part.relname, vectors_schema, part.dimensions
            );
            built := true;
        end if;
        return next;
    end loop;
end;
$$;

comment on function grain.build_index(text, integer) is
'Builds the approximate index of a source''s vectors, leaf by leaf, where a leaf has at least min_rows and none yet. Below that an exact scan is faster.';

create or replace function grain.wait(source text, timeout interval default '1 minute')
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    until timestamptz := clock_timestamp() + wait.timeout;
begin
    loop
        if not grain._is_pending(wait.source) then
            return true;
        elsif clock_timestamp() >= until then
            return false;
        end if;
        perform pg_sleep(0.1);
    end loop;
end;
$$;

comment on function grain.wait(text, interval) is
'Waits until each chunk of a source that this tenant has is embedded; false when the time is up first. Call it in a transaction of its own at read committed.';

create or replace function grain._is_pending(source text)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    tenant uuid := grain._tenant();
    live record;
begin
    select s.source_id, s.live_generation_id into live
    from grain.source as s
    where s.source_id = (select o.source_id from grain._source(_is_pending.source) as o);
    return exists (
        select from grain.job as j
        where j.tenant_id = tenant and j.kind = 'chunk' and j.source_id = live.source_id
            and j.run_at < 'infinity'
    ) or exists (
        select from grain.chunk as c
        where c.tenant_id = tenant and c.generation_id = live.live_generation_id
            and not exists (
                select from grain.embedding as e
                where e.tenant_id = tenant and e.generation_id = live.live_generation_id
                    and e.content_hash = c.content_hash
            )
    );
end;
$$;

comment on function grain._is_pending(text) is 'Whether a source has work that waits, for the tenant in force.';

create or replace function grain.self_test()
returns table (wall text, holds boolean, detail text)
language plpgsql
stable
parallel unsafe
rows 8
set search_path = pg_catalog, pg_temp
as $$
begin
    wall := 'every table that tenants own has row-level security';
    select string_agg(c.relname, ', ') into detail
    from pg_class as c
    inner join pg_attribute as a on a.attrelid = c.oid and a.attname = 'tenant_id'
    where c.relnamespace = 'grain'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity;
    holds := detail is null;
    return next;

    wall := 'every such table has a tenant policy, or is a partition that nobody is granted';
    select string_agg(c.relname, ', ') into detail
    from pg_class as c
    inner join pg_attribute as a on a.attrelid = c.oid and a.attname = 'tenant_id'
    where c.relnamespace = 'grain'::regnamespace and c.relkind in ('r', 'p')
        and not exists (
            select from pg_policy as p where p.polrelid = c.oid and p.polname = 'tenant'
        )
        and not (c.relispartition and not exists (
            select from aclexplode(c.relacl) as granted where granted.grantee <> c.relowner
        ));
    holds := detail is null;
    return next;

    wall := 'no role but grain_owner and superusers writes to a table';
    select string_agg(distinct format('%s on %s to %s', granted.privilege_type, c.relname, granted.grantee::regrole), ', ')
    into detail
    from pg_class as c
    cross join lateral aclexplode(c.relacl) as granted
    where c.relnamespace = 'grain'::regnamespace and c.relkind in ('r', 'p')
        and granted.grantee <> c.relowner and granted.privilege_type <> 'SELECT';
    holds := detail is null;
    return next;

    wall := 'every view runs with the rights of its reader';
    select string_agg(c.relname, ', ') into detail
    from pg_class as c
    where c.relnamespace = 'grain'::regnamespace and c.relkind = 'v'
        and not coalesce(c.reloptions, '{}') && array['security_invoker=true', 'security_invoker=on'];
    holds := detail is null;
    return next;

    wall := 'every SECURITY DEFINER function pins its search_path, temporary schema last';
    select string_agg(p.oid::regprocedure::text, ', ') into detail
    from pg_proc as p
    where p.pronamespace = 'grain'::regnamespace and p.prosecdef
        and not exists (
            select from unnest(p.proconfig) as setting
            where setting like 'search_path=%' and setting like '%pg_temp'
        );
    holds := detail is null;
    return next;

    wall := 'no SECURITY DEFINER function belongs to a superuser';
    select string_agg(p.oid::regprocedure::text, ', ') into detail
    from pg_proc as p
    inner join pg_roles as r on r.oid = p.proowner
    where p.pronamespace = 'grain'::regnamespace and p.prosecdef and r.rolsuper;
    holds := detail is null;
    return next;

    wall := 'no function may be called by everybody';
    select string_agg(p.oid::regprocedure::text, ', ') into detail
    from pg_proc as p
    where p.pronamespace = 'grain'::regnamespace
        and (p.proacl is null or exists (
            select from aclexplode(p.proacl) as granted where granted.grantee = 0
        ));
    holds := detail is null;
    return next;

    wall := 'PL/Python functions are for grain_owner alone';
    select string_agg(p.oid::regprocedure::text, ', ') into detail
    from pg_proc as p
    inner join pg_language as l on l.oid = p.prolang and l.lanname = 'plpython3u'
    cross join lateral aclexplode(p.proacl) as granted
    where p.pronamespace = 'grain'::regnamespace
        and granted.grantee not in (p.proowner, 'grain_owner'::regrole);
    holds := detail is null;
    return next;

    wall := 'grain_owner cannot log in and has no members';
    select concat_ws(', ',
        case when r.rolcanlogin then 'it can log in' end,
        (
            select 'members: ' || string_agg(m.member::regrole::text, ', ')
            from pg_auth_members as m
            inner join pg_roles as member on member.oid = m.member
            where m.roleid = r.oid and not member.rolsuper
        )
    ) into detail
    from pg_roles as r where r.rolname = 'grain_owner';
    detail := nullif(detail, '');
    holds := detail is null;
    return next;
end;
$$;

comment on function grain.self_test() is 'One row for each wall: whether it holds, and what breaks it.';
