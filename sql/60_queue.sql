-- The queue: claim, complete and fail are short transactions; the provider is asked between them.
-- A lease moves run_at on, so that an expired one is due again by itself; 'infinity' parks a job.

create or replace function grain.claim(
    worker text,
    kinds text[] default array['chunk', 'embed'],
    max_items integer default 128,
    max_tokens integer default 100000,
    lease interval default '5 minutes'
)
returns table (
    tenant_id uuid,
    job_id bigint,
    kind text,
    attempts integer,
    source_id bigint,
    key text,
    model text,
    content_hash bytea,
    input text,
    token_count integer
)
language plpgsql
volatile
parallel unsafe
rows 100
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    tenant uuid;
    room integer := claim.max_items;
    budget bigint := claim.max_tokens;
    picked bigint[];
    leased record;
    handed bigint[];
begin
    if claim.worker is null or claim.lease is null or claim.lease <= interval '0' then
        raise exception 'a claim needs a worker and a lease'
            using errcode = '22023', hint = 'select * from grain.claim(''worker-1'', lease => ''5 minutes'');';
    end if;
    -- Two steps, as tenants live on different machines: whose work is due, then each one's share.
    for tenant in
        select due.tenant_id
        from (
            select j.tenant_id, j.priority, j.run_at
            from grain.job as j
            where j.run_at <= now() and j.kind = any(claim.kinds)
            order by j.priority desc, j.run_at
            limit 64
        ) as due
        group by due.tenant_id
        order by max(due.priority) desc, min(due.run_at), due.tenant_id
    loop
        -- Of equal jobs the first one only; an array, since a plan may run a sub-select more than once.
        picked := array(
            select j.job_id
            from grain.job as j
            where j.tenant_id = tenant and j.run_at <= now() and j.kind = any(claim.kinds)
                and not (j.kind = 'embed' and exists (
                    select from grain.job as twin
                    where twin.tenant_id = tenant and twin.kind = 'embed'
                        and twin.model_id = j.model_id and twin.content_hash = j.content_hash
                        and twin.job_id < j.job_id
                ))
            order by j.priority desc, j.run_at, j.job_id
            limit room
            for update skip locked
        );
        handed := '{}';
        for leased in
            select
                j.job_id, j.kind, j.attempts, j.source_id, j.key, m.name as model, j.content_hash,
                text.input, text.token_count,
                j.kind = 'embed' and text.input is null as idle
            from grain.job as j
            left join grain.model as m on m.model_id = j.model_id
            left join lateral (
                select
                    c.prefix || coalesce(c.context, '') || c.content as input,
                    coalesce(
                        c.token_count + char_length(c.prefix || coalesce(c.context, '')),
                        octet_length(c.prefix || coalesce(c.context, '') || c.content)
                    ) as token_count
                from grain.chunk as c
                inner join grain.generation as g on g.generation_id = c.generation_id
                where j.kind = 'embed' and c.tenant_id = tenant
                    and c.content_hash = j.content_hash and g.model_id = j.model_id
                    and not exists (
                        select from grain.embedding as e
                        where e.tenant_id = tenant and e.generation_id = c.generation_id
                            and e.content_hash = c.content_hash
                    )
                limit 1
            ) as text on true
            where j.tenant_id = tenant and j.job_id = any(picked)
            order by j.priority desc, j.run_at, j.job_id
        loop
            if leased.idle then
                delete from grain.job as j where j.tenant_id = tenant and j.job_id = leased.job_id;
                continue;
            end if;
            exit when budget < coalesce(leased.token_count, 0) and room < claim.max_items;
            budget := budget - coalesce(leased.token_count, 0);
            room := room - 1;
            handed := handed || leased.job_id;
            tenant_id := tenant;
            job_id := leased.job_id;
            kind := leased.kind;
            attempts := leased.attempts + 1;
            source_id := leased.source_id;
            key := leased.key;
            model := leased.model;
            content_hash := leased.content_hash;
            input := leased.input;
            token_count := leased.token_count;
            return next;
        end loop;
        update grain.job as j
        set
            attempts = j.attempts + 1,
            worker = claim.worker,
            lease_until = now() + claim.lease,
            run_at = now() + claim.lease
        where j.tenant_id = tenant and j.job_id = any(handed);
        exit when room <= 0 or budget <= 0;
    end loop;
end;
$$;

comment on function grain.claim(text, text[], integer, integer, interval) is
'Leases due jobs to a worker: at most max_items of them and, but for the first, max_tokens of input. A job that is not completed when its lease ends is due again.';

create or replace function grain._hold(worker text, tenant uuid, jobs bigint[])
returns bigint[]
language plpgsql
volatile
parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select j.job_id from grain.job as j
        where j.tenant_id = tenant and j.job_id = any(jobs) and j.worker = _hold.worker
        for update skip locked
    );
end;
$$;

comment on function grain._hold(text, uuid, bigint[]) is
'Locks those jobs that the worker still holds. One that somebody is just dropping is passed over, not waited for.';

create or replace function grain.complete(
    worker text,
    tenants uuid[],
    jobs bigint[],
    embeddings halfvec[] default null
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    this_tenant uuid;
    generation record;
    mine bigint[];
    done bigint;
    total bigint := 0;
begin
    if cardinality(tenants) is distinct from cardinality(jobs)
        or (embeddings is not null and cardinality(embeddings) <> cardinality(jobs))
    then
        raise exception 'complete() takes arrays of one length'
            using errcode = '2202E',
                hint = 'One tenant, one job and, for embed jobs, one embedding for each place.';
    end if;
    for this_tenant in select distinct t from unnest(tenants) as t order by t loop
        mine := array(
            select u.job from unnest(tenants, jobs) as u (tenant, job) where u.tenant = this_tenant
        );
        -- A vector depends on its text alone: it is right even when the lease has gone to another.
        for generation in
            select distinct g.generation_id
            from grain.job as j
            inner join grain.generation as g on g.model_id = j.model_id
            where j.tenant_id = this_tenant and j.job_id = any(mine) and j.kind = 'embed'
        loop
            insert into grain.embedding (tenant_id, generation_id, content_hash, embedding)
            select distinct on (j.content_hash) j.tenant_id, generation.generation_id, j.content_hash, u.embedding
            from unnest(jobs, embeddings) as u (job, embedding)
            inner join grain.job as j on j.tenant_id = this_tenant and j.job_id = u.job
            inner join grain.generation as g
                on g.generation_id = generation.generation_id and g.model_id = j.model_id
            where j.job_id = any(mine) and j.kind = 'embed' and u.embedding is not null
                and exists (
                    select from grain.chunk as c
                    where c.tenant_id = this_tenant and c.generation_id = generation.generation_id
                        and c.content_hash = j.content_hash
                )
            order by j.content_hash
            on conflict do nothing;
        end loop;
        mine := grain._hold(worker, this_tenant, mine);
        delete from grain.job as j where j.tenant_id = this_tenant and j.job_id = any(mine);
        get diagnostics done = row_count;
        total := total + done;
    end loop;
    return total;
end;
$$;

comment on function grain.complete(text, uuid[], bigint[], halfvec[]) is
'Stores the vectors of embed jobs and removes the jobs; the arrays run in parallel. Returns how many jobs the worker still held.';

create or replace function grain.complete_chunk(worker text, tenant uuid, job bigint)
returns boolean
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    held record;
    source record;
    relation regclass;
    fresh record;
    found_row boolean := false;
begin
    select j.* into held from grain.job as j
    where j.tenant_id = tenant and j.job_id = job and j.worker = complete_chunk.worker and j.kind = 'chunk'
    for update;
    if not found then
        return false;
    end if;
    select s.* into source from grain.source as s where s.source_id = held.source_id;
    relation := grain._table(source.source_id, source.name);
    perform grain._check_readable(relation);
    for fresh in
        execute format(
            'select %s from %s as t where %s', grain._read_sql(source, 't'), relation,
            grain._key_sql(source, relation, 't')
        ) using held.key
    loop
        continue when grain._row_tenant(source.name, source.tenant_column, fresh.tenant) <> tenant;
        found_row := true;
        perform grain._put_document(
            source.source_id, tenant, fresh.key, fresh.content, fresh.path, fresh.title, fresh.format, held.priority
        );
    end loop;
    if not found_row then
        perform grain._retract(source.source_id, tenant, held.key);
    end if;
    delete from grain.job as j where j.tenant_id = tenant and j.job_id = job;
    return true;
end;
$$;

comment on function grain.complete_chunk(text, uuid, bigint) is
'Does a chunk job: reads the row as it is now and makes its chunks true.';

create or replace function grain.fail(
    worker text,
    tenants uuid[],
    jobs bigint[],
    error_class text,
    message text,
    retry_after interval default null,
    max_attempts integer default 5
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid;
    mine bigint[];
    done bigint;
    total bigint := 0;
begin
    if error_class is null or error_class not in (
        'record-temporary', 'record-permanent', 'pipeline-temporary', 'pipeline-permanent'
    ) then
        raise exception 'there is no error class "%"', error_class
            using errcode = '22023',
                hint = 'It is record or pipeline, a hyphen, and temporary or permanent: record-permanent.';
    end if;
    for this_tenant in select distinct t from unnest(tenants) as t order by t loop
        mine := grain._hold(worker, this_tenant, array(
            select u.job from unnest(tenants, jobs) as u (tenant, job) where u.tenant = this_tenant
        ));
        -- What is wrong with the pipeline is not charged to the record.
        update grain.job as j
        set
            worker = null,
            lease_until = null,
            error_class = fail.error_class,
            error = left(fail.message, 2000),
            attempts = j.attempts - (fail.error_class like 'pipeline-%')::integer,
            run_at = case
                when fail.error_class = 'record-permanent'
                    or (fail.error_class = 'record-temporary' and j.attempts >= fail.max_attempts)
                    then 'infinity'
                when fail.retry_after is not null then now() + fail.retry_after
                when fail.error_class = 'record-temporary'
                    then now() + least(interval '10 minutes', interval '1 second' * 2 ^ least(j.attempts, 10))
                else now() + interval '10 seconds'
            end
        where j.tenant_id = this_tenant and j.job_id = any(mine)
            and not (j.kind = 'chunk' and exists (
                select from grain.job as newer
                where newer.tenant_id = this_tenant and newer.kind = 'chunk' and newer.source_id = j.source_id
                    and newer.key = j.key and newer.lease_until is null
            ));
        get diagnostics done = row_count;
        -- A chunk job that an edit has queued anew has a successor already.
        delete from grain.job as j
        where j.tenant_id = this_tenant and j.job_id = any(mine) and j.lease_until is not null;
        total := total + done;
    end loop;
    return total;
end;
$$;

comment on function grain.fail(text, uuid[], bigint[], text, text, interval, integer) is
'Gives jobs back with the reason. record-permanent parks them at once, record-temporary after max_attempts; pipeline errors wait for retry_after and are not charged.';

create or replace function grain.heartbeat(
    worker text, tenants uuid[], jobs bigint[], lease interval default '5 minutes'
)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    this_tenant uuid;
    mine bigint[];
    total bigint := 0;
begin
    for this_tenant in select distinct t from unnest(tenants) as t order by t loop
        mine := grain._hold(worker, this_tenant, array(
            select u.job from unnest(tenants, jobs) as u (tenant, job) where u.tenant = this_tenant
        ));
        update grain.job as j
        set lease_until = now() + heartbeat.lease, run_at = now() + heartbeat.lease
        where j.tenant_id = this_tenant and j.job_id = any(mine);
        total := total + cardinality(mine);
    end loop;
    return total;
end;
$$;

comment on function grain.heartbeat(text, uuid[], bigint[], interval) is
'Renews leases while a worker is at it; returns how many it still holds.';

create or replace function grain.reap()
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    reaped bigint;
begin
    delete from grain.job as j
    where j.kind = 'chunk' and j.lease_until <= now() and exists (
        select from grain.job as newer
        where newer.tenant_id = j.tenant_id and newer.kind = 'chunk' and newer.source_id = j.source_id
            and newer.key = j.key and newer.lease_until is null
    );
    update grain.job as j
    set worker = null, lease_until = null
    where j.lease_until <= now();
    get diagnostics reaped = row_count;
    return reaped;
end;
$$;

comment on function grain.reap() is
'Takes expired leases back. Their jobs are due in any case; this clears the names of workers that are gone.';

create or replace function grain.retry(source text default null, error_class text default null)
returns bigint
language plpgsql
volatile
parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    tenant uuid := grain._tenant();
    wanted bigint := (select o.source_id from grain._source(retry.source) as o where retry.source is not null);
    retried bigint;
begin
    update grain.job as j
    set run_at = now(), attempts = 0
    where j.tenant_id = tenant and j.error_class is not null and j.lease_until is null
        and (retry.error_class is null or j.error_class = retry.error_class)
        and (
            wanted is null or j.source_id = wanted
            or exists (
                select from grain.chunk as c
                inner join grain.generation as g on g.generation_id = c.generation_id
                where c.tenant_id = tenant and c.content_hash = j.content_hash
                    and g.model_id = j.model_id and g.source_id = wanted
            )
        );
    get diagnostics retried = row_count;
    return retried;
end;
$$;

comment on function grain.retry(text, text) is
'Makes this tenant''s failed jobs due again, the exhausted ones included; of one source or class where named. Returns how many.';

create or replace function grain.sweep()
returns table (vectors_dropped bigint, jobs_queued bigint)
language plpgsql
volatile
parallel unsafe
rows 1
security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
declare
    generation record;
    part record;
    dropped bigint;
    orphans bytea[];
begin
    vectors_dropped := 0;
    jobs_queued := 0;
    for generation in select g.generation_id, g.model_id, g.state from grain.generation as g loop
        for part in
            select e.tenant_id, array_agg(e.content_hash) as hashes
            from grain.embedding as e
            where e.generation_id = generation.generation_id
                and not exists (
                    select from grain.chunk as c
                    where c.tenant_id = e.tenant_id and c.generation_id = generation.generation_id
                        and c.content_hash = e.content_hash
                )
            group by e.tenant_id
        loop
            -- Lock, then look again in a statement of its own: one statement would not see a chunk
            -- that has come to use the vector in between.
            orphans := array(
                select e.content_hash from grain.embedding as e
                where e.tenant_id = part.tenant_id and e.generation_id = generation.generation_id
                    and e.content_hash = any(part.hashes)
                for update skip locked
            );
            delete from grain.embedding as e
            where e.tenant_id = part.tenant_id and e.generation_id = generation.generation_id
                and e.content_hash = any(orphans)
                and not exists (
                    select from grain.chunk as c
                    where c.tenant_id = part.tenant_id and c.generation_id = generation.generation_id
                        and c.content_hash = e.content_hash
                );
            get diagnostics dropped = row_count;
            vectors_dropped := vectors_dropped + dropped;
        end loop;
        if generation.state <> 'retired' then
            insert into grain.job (tenant_id, kind, model_id, content_hash, priority)
            select distinct c.tenant_id, 'embed', generation.model_id, c.content_hash, -10::smallint
            from grain.chunk as c
            where c.generation_id = generation.generation_id
                and not exists (
                    select from grain.embedding as e
                    where e.tenant_id = c.tenant_id and e.generation_id = generation.generation_id
                        and e.content_hash = c.content_hash
                )
                and not exists (
                    select from grain.job as j
                    where j.tenant_id = c.tenant_id and j.kind = 'embed'
                        and j.model_id = generation.model_id and j.content_hash = c.content_hash
                );
            get diagnostics dropped = row_count;
            jobs_queued := jobs_queued + dropped;
        end if;
    end loop;
    return next;
end;
$$;

comment on function grain.sweep() is
'Drops vectors that no chunk uses and queues chunks that have neither vector nor job. The worker calls it when it starts and every five minutes.';

create or replace function grain.models()
returns table (
    name text, provider text, endpoint text, api_key_env text, dimensions integer,
    send_dimensions boolean, tokenizer text, max_input_tokens integer, max_batch_items integer,
    max_batch_tokens integer
)
language plpgsql
stable
parallel safe
rows 10
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    select
        m.name, m.provider, m.endpoint, m.api_key_env, m.dimensions, m.send_dimensions, m.tokenizer,
        m.max_input_tokens, m.max_batch_items, m.max_batch_tokens
    from grain.model as m
    order by m.model_id;
end;
$$;

comment on function grain.models() is 'What a worker has to know of each model.';

create or replace function grain.backlog()
returns bigint
language plpgsql
stable
parallel safe
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return (select count(*) from grain.job as j where j.run_at < 'infinity');
end;
$$;

comment on function grain.backlog() is 'How many jobs are due, held or wait for another try, of all tenants.';
