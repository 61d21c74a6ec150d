-- Row-level security: the second wall. The first is the tenant predicate in every function.
-- No FORCE: the functions that write and search belong to grain_owner, which has no login and no members.

alter table grain.document enable row level security;
alter table grain.chunk enable row level security;
alter table grain.embedding enable row level security;
alter table grain.job enable row level security;
alter table grain.question enable row level security;
alter table grain.evaluation enable row level security;

create policy tenant on grain.document for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));
create policy tenant on grain.chunk for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));
create policy tenant on grain.embedding for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));
create policy tenant on grain.job for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));
create policy tenant on grain.question for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));
create policy tenant on grain.evaluation for select
using (tenant_id = grain._setting_tenant(current_setting('grain.tenant_id', true)));

create policy every_tenant on grain.document for select to grain_admin using (true);
create policy every_tenant on grain.chunk for select to grain_admin using (true);
create policy every_tenant on grain.embedding for select to grain_admin using (true);
create policy every_tenant on grain.job for select to grain_admin using (true);
create policy every_tenant on grain.question for select to grain_admin using (true);
create policy every_tenant on grain.evaluation for select to grain_admin using (true);

grant select on
grain.model, grain.rule, grain.source, grain.generation,
grain.document, grain.chunk, grain.embedding, grain.job, grain.question, grain.evaluation
to grain_reader;
