"""Catalogue queries of clients of PostgreSQL, in the clients' own text.

Each belongs to a client, and has the names that its rows must hold.
"""

from __future__ import annotations

# fmt: off
QUERIES: dict[str, tuple[str, str]] = {
    "jdbc_tables": (
        """
        SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE
        n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN CASE WHEN
        n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind WHEN
        'r' THEN 'SYSTEM TABLE' WHEN 'v' THEN 'SYSTEM VIEW' WHEN 'i' THEN 'SYSTEM INDEX' ELSE
        NULL END WHEN n.nspname = 'pg_toast' THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TOAST
        TABLE' WHEN 'i' THEN 'SYSTEM TOAST INDEX' ELSE NULL END ELSE CASE c.relkind WHEN 'r'
        THEN 'TEMPORARY TABLE' ELSE NULL END END WHEN false THEN CASE c.relkind WHEN 'r' THEN
        'TABLE' WHEN 'p' THEN 'PARTITIONED TABLE' WHEN 'i' THEN 'INDEX' WHEN 'v' THEN 'VIEW'
        ELSE NULL END ELSE NULL END AS TABLE_TYPE, d.description AS REMARKS, '' as TYPE_CAT, ''
        as TYPE_SCHEM, '' as TYPE_NAME, '' AS SELF_REFERENCING_COL_NAME, '' AS REF_GENERATION
        FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c LEFT JOIN
        pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 and d.classoid =
        'pg_class'::regclass) WHERE c.relnamespace = n.oid AND n.nspname LIKE 'public' AND
        (false OR ( c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <>
        'information_schema' ) OR ( c.relkind = 'v' AND n.nspname <> 'pg_catalog' AND n.nspname
        <> 'information_schema' ) ) ORDER BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME
        """,
        "r, s, v",
    ),
    "jdbc_columns": (
        """
        SELECT * FROM (SELECT n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull OR
        (t.typtype = 'd' AND t.typnotnull) AS
        attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY a.attrelid
        ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as
        attidentity,nullif(a.attgenerated, '') as attgenerated,pg_catalog.pg_get_expr(def.adbin,
        def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype FROM
        pg_catalog.pg_namespace n JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN
        pg_catalog.pg_attribute a ON (a.attrelid=c.oid) JOIN pg_catalog.pg_type t ON (a.atttypid
        = t.oid) LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum =
        def.adnum) LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum =
        dsc.objsubid) LEFT JOIN pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND
        dc.relname='pg_class') LEFT JOIN pg_catalog.pg_namespace dn ON (dc.relnamespace=dn.oid
        AND dn.nspname='pg_catalog') WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0
        AND NOT a.attisdropped AND n.nspname LIKE 'public' AND c.relname LIKE 'r') c WHERE true
        ORDER BY nspname,c.relname,attnum
        """,
        "id, a, x",
    ),
    "jdbc_keys": (
        """
        SELECT result.TABLE_CAT, result.TABLE_SCHEM, result.TABLE_NAME, result.COLUMN_NAME,
        result.KEY_SEQ, result.PK_NAME FROM (SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM,
        ct.relname AS TABLE_NAME, a.attname AS COLUMN_NAME,
        (information_schema._pg_expandarray(i.indkey)).n AS KEY_SEQ, ci.relname AS PK_NAME,
        information_schema._pg_expandarray(i.indkey) AS KEYS, a.attnum AS A_ATTNUM FROM
        pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid) JOIN
        pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON (
        a.attrelid = i.indrelid) JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE
        true AND n.nspname = 'public' AND ct.relname = 'r' AND i.indisprimary ) result where
        result.A_ATTNUM = (result.KEYS).x ORDER BY result.table_name, result.pk_name,
        result.key_seq
        """,
        "id",
    ),
    "jdbc_type": (
        """
        SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname,
        pg_type.oid FROM pg_catalog.pg_type LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r
        from pg_namespace as ns join ( select s.r, (current_schemas(false))[s.r] as nspname from
        generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r using (
        nspname ) ) as sp ON sp.nspoid = typnamespace WHERE typname = 'jsonb' ORDER BY sp.r,
        pg_type.oid DESC
        """,
        "",
    ),
    "grafana_tables": (
        """
        SELECT CASE WHEN quote_ident(table_schema) IN ( SELECT CASE WHEN trim(s[i]) = '"$user"'
        THEN user ELSE trim(s[i]) END FROM generate_series(
        array_lower(string_to_array(current_setting('search_path'),','),1),
        array_upper(string_to_array(current_setting('search_path'),','),1) ) as i,
        string_to_array(current_setting('search_path'),',') s ) THEN quote_ident(table_name)
        ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table" FROM
        information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema',
        'pg_catalog', '_timescaledb_cache', '_timescaledb_catalog', '_timescaledb_internal',
        '_timescaledb_config', 'timescaledb_information', 'timescaledb_experimental') ORDER BY
        CASE WHEN quote_ident(table_schema) IN ('public') THEN 0 ELSE 1 END, 1
        """,
        "r, s, v",
    ),
    "grafana_columns": (
        """
        SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM
        information_schema.columns WHERE quote_ident(table_name) = 'r'
        """,
        "id, a, x",
    ),
    "grafana_version": (
        """
        SELECT current_setting('server_version_num')::int/100 as version
        """,
        "1400",
    ),
    "metabase_tables": (
        """
        SELECT n.nspname AS schema, c.relname AS name, c.relkind AS type, d.description AS
        description, stat.n_live_tup AS estimated_row_count FROM pg_catalog.pg_class AS c INNER
        JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid LEFT JOIN
        pg_catalog.pg_description AS d ON ((c.oid = d.objoid) AND (d.objsubid = 0) AND
        (d.classoid = 'pg_class'::regclass)) LEFT JOIN pg_stat_user_tables AS stat ON
        ((n.nspname = stat.schemaname) AND (c.relname = stat.relname)) WHERE ((c.relnamespace =
        n.oid) AND (n.nspname !~ '^pg_') AND (n.nspname <> 'information_schema') AND c.relkind
        in ('r', 'p', 'v', 'f', 'm') AND (n.nspname IN ('public'))) ORDER BY type ASC, schema
        ASC, name ASC
        """,
        "r, s, v",
    ),
    "metabase_columns": (
        """
        SELECT c.column_name AS name, c.udt_name AS "database-type", c.ordinal_position - 1 AS
        "database-position", c.table_schema, c.table_name, pk.column_name IS NOT NULL AS "pk?",
        COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST(c.table_schema AS TEXT),
        CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position) AS field_comment
        FROM information_schema.columns AS c LEFT JOIN (SELECT tc.table_schema, tc.table_name,
        kc.column_name FROM information_schema.table_constraints AS tc INNER JOIN
        information_schema.key_column_usage AS kc ON (tc.constraint_name = kc.constraint_name)
        WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON (c.table_schema = pk.table_schema)
        AND (c.table_name = pk.table_name) AND (c.column_name = pk.column_name) WHERE
        c.table_schema !~ '^information_schema|catalog_history|pg_' AND (c.table_schema IN
        ('public')) ORDER BY table_schema
        """,
        "id, a, x, k, d, n",
    ),
    "metabase_privileges": (
        """
        with table_privileges as ( select NULL as role, t.schemaname as schema, t.objectname as
        table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname,
        '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as
        update from ( select schemaname, tablename as objectname from pg_catalog.pg_tables union
        select schemaname, viewname as objectname from pg_catalog.pg_views union select
        schemaname, matviewname as objectname from pg_catalog.pg_matviews ) t where t.schemaname
        !~ '^pg_' and t.schemaname <> 'information_schema' and
        pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage') ) select t.* from
        table_privileges t
        """,
        "r, s, v",
    ),
}
# fmt: on
