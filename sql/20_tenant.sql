-- Tenants: a text names one everywhere, and one mapper makes a uuid of it.

create or replace function grain.tenant_uuid(tenant text)
returns uuid
language plpgsql
immutable
strict
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if tenant = '' then
        raise exception 'the tenant is empty'
            using errcode = '22023',
                detail = 'An empty text names no tenant.',
                hint = 'Name the tenant, or leave it unset for the default tenant: reset grain.tenant_id;';
    end if;
    -- Only the canonical spelling is the uuid itself: two spellings are two texts, hence two tenants.
    if tenant ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        return tenant::uuid;
    end if;
    return encode(substring(sha256(convert_to(tenant, 'UTF8')) from 1 for 16), 'hex')::uuid;
end;
$$;

comment on function grain.tenant_uuid(text) is
'The uuid of a tenant: a uuid in its canonical spelling is itself, any other text maps by the first 16 bytes of its sha256. An empty text is refused.';

create or replace function grain._default_tenant()
returns uuid
language sql
immutable
parallel safe
return '00000000-0000-0000-0000-000000000000'::uuid;

comment on function grain._default_tenant() is 'The tenant in force where none is named.';

create or replace function grain._setting_tenant(setting text)
returns uuid
language plpgsql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    if setting is null then
        return grain._default_tenant();
    elsif setting = '' then
        return null;
    end if;
    return grain.tenant_uuid(setting);
end;
$$;

comment on function grain._setting_tenant(text) is
'What the policies compare with: an unset setting is the default tenant, an empty one is no tenant at all.';

create or replace function grain._caller()
returns name
language sql
stable
parallel restricted
return case current_setting('role') when 'none' then session_user else current_setting('role')::name end;

comment on function grain._caller() is
'The role that called, seen from inside a SECURITY DEFINER function.';

create or replace function grain._tenant(tenant text default null)
returns uuid
language plpgsql
stable
parallel restricted
set search_path = pg_catalog, pg_temp
as $$
declare
    setting text := current_setting('grain.tenant_id', true);
    named uuid := grain.tenant_uuid(tenant);
    in_force uuid;
begin
    if setting = '' then
        raise exception 'grain.tenant_id is empty'
            using errcode = '22023',
                detail = 'An empty setting names no tenant, and is not the default tenant either.',
                hint = 'set grain.tenant_id = ''42'';  -- or, for the default tenant: set grain.tenant_id = '''
                    || grain._default_tenant() || ''';';
    end if;
    in_force := grain._setting_tenant(setting);
    if named is null or named = in_force then
        return in_force;
    end if;
    if in_force <> grain._default_tenant()
        and not pg_has_role(grain._caller(), 'grain_admin', 'usage')
    then
        raise exception 'this session may not leave its tenant'
            using errcode = '42501',
                detail = 'grain.tenant_id is set, and another tenant was named in the call.',
                hint = 'Leave the tenant out of the call, or reset grain.tenant_id first.';
    end if;
    return named;
end;
$$;

comment on function grain._tenant(text) is
'The tenant of a call: the one it names, else the one in force. Where one is in force, only grain_admin may name another.';

create or replace function grain.use_tenant(tenant text)
returns void
language plpgsql
volatile
parallel unsafe
as $$
begin
    if tenant is null then
        raise exception 'the tenant is null'
            using errcode = '22004',
                detail = 'use_tenant() takes the tenant''s name.',
                hint = 'select grain.use_tenant(''42'');';
    end if;
    perform grain.tenant_uuid(tenant);
    -- A setting that was never made falls back to '' at the end of the transaction, which names no tenant.
    if current_setting('grain.tenant_id', true) is null then
        perform set_config('grain.tenant_id', grain._default_tenant()::text, false);
    end if;
    execute format('set local grain.tenant_id = %L', tenant);
end;
$$;

comment on function grain.use_tenant(text) is
'Works for one tenant until the end of the transaction; a pooled connection comes back clean.';
