-- Who may call what. Functions belong to grain_owner, but the PL/Python ones, whose owner is a
-- superuser, and install(), which a superuser runs.

do $$
declare
    f record;
begin
    for f in
        select p.oid::regprocedure as signature, l.lanname
        from pg_catalog.pg_proc as p
        inner join pg_catalog.pg_language as l on l.oid = p.prolang
        where p.pronamespace = 'grain'::regnamespace
    loop
        execute format('revoke all on function %s from public', f.signature);
        if f.lanname = 'plpython3u' then
            execute format('grant execute on function %s to grain_owner', f.signature);
        elsif f.signature <> 'grain.install()'::regprocedure then
            execute format('alter function %s owner to grain_owner', f.signature);
        end if;
    end loop;
end;
$$;

grant execute on function
grain.tenant_uuid(text),
grain._default_tenant(),
grain._setting_tenant(text),
grain.use_tenant(text),
grain.chunk(text, text, text),
grain.count_tokens(text, text),
grain.split_text(text, integer, integer),
grain.embed(text, text),
grain.search(text, vector, integer, text, text, text, integer, integer, text, text),
grain.wait(text, interval),
grain.self_test(),
grain.version()
to grain_reader;

grant execute on function
grain._caller(),
grain._tenant(text),
grain._relation(text),
grain._name(regclass),
grain._source(text),
grain._table(bigint, text),
grain._key_columns(regclass, text),
grain._check_columns(regclass, text[], text, text[]),
grain._declare_source(
    text, text, text[], text, text, text, text, text, text, text, text, text, integer
),
grain._backfill(bigint, boolean),
grain._forget_source(bigint),
grain._on_row(),
grain._on_truncate(),
grain.track(text, text, text, text, text, text, text, text, text, text, text, boolean, integer),
grain.untrack(text),
grain.create_documents(text),
grain.create_rule(text, text, integer, integer, text, text, text, jsonb, text),
grain.reconcile(text),
grain.retry(text, text)
to grain_writer;

grant execute on function
grain.claim(text, text[], integer, integer, interval),
grain.complete(text, uuid[], bigint[], halfvec[]),
grain.complete_chunk(text, uuid, bigint),
grain.fail(text, uuid[], bigint[], text, text, interval, integer),
grain.heartbeat(text, uuid[], bigint[], interval),
grain.reap(),
grain.sweep(),
grain.models(),
grain.backlog(),
grain.build_index(text, integer),
grain.version()
to grain_worker;

grant execute on function
grain.create_model(text, integer, text, text, text, text, integer, text, numeric, boolean),
grain.set_endpoint(text, text),
grain.add_tokenizer(text, bytea)
to grain_admin;

grant execute on function
grain.questions(text),
grain.report(bigint, text),
grain.compare(bigint, bigint, boolean, text),
grain.ann_recall(bigint, integer, text, integer),
grain.explain_question(bigint, integer, bigint, integer, text)
to grain_reader;

grant execute on function
grain.add_question(text, text, text, int4range, uuid, text, text, text),
grain.drop_question(bigint, text),
grain.evaluate(text, bigint, integer[], integer, text)
to grain_writer;
