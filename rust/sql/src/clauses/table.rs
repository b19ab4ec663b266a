//! CREATE TABLE.
//!
//! Invariant and cost: those of the folder. Fields bound to `_` are read, or refused with advice, by `statement/table`.

use datafusion_sql::sqlparser::ast::{
    ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, HiveDistributionStyle, HiveFormat,
    IndexColumn, NullsDistinctOption, PrimaryKeyConstraint, Spanned, TableConstraint,
    UniqueConstraint,
};

use datafusion_sql::sqlparser::tokenizer::Span;

use super::query;
use super::unread::{Checked, LEAVE_OUT, READ, none_of, unread};

const REFRESHED: &str = "its rows would not stay fresh; write CREATE VIEW";

pub(super) fn of_create(create: &CreateTable) -> Checked {
    let CreateTable {
        or_replace: _,
        temporary: _,
        external: _,
        dynamic,
        global,
        if_not_exists: _,
        transient: _,
        volatile,
        iceberg,
        snapshot,
        name,
        columns,
        constraints,
        hive_distribution,
        hive_formats,
        table_options: _,
        file_format,
        location,
        query: _,
        without_rowid,
        like: _,
        clone: _,
        version,
        comment,
        on_commit: _,
        on_cluster,
        primary_key,
        order_by,
        partition_by: _,
        cluster_by,
        clustered_by,
        inherits: _,
        partition_of,
        for_values,
        strict,
        copy_grants,
        enable_schema_evolution,
        change_tracking,
        data_retention_time_in_days,
        max_data_extension_time_in_days,
        default_ddl_collation,
        with_aggregation_policy,
        with_row_access_policy,
        with_storage_lifecycle_policy,
        with_tags,
        external_volume,
        base_location,
        catalog,
        catalog_sync,
        storage_serialization_policy,
        target_lag,
        warehouse,
        refresh_mode,
        initialize,
        require_user,
        diststyle,
        distkey,
        sortkey,
        backup,
    } = create;
    let clauses = [
        (*dynamic, "DYNAMIC", REFRESHED),
        (target_lag.is_some(), "TARGET_LAG", REFRESHED),
        (warehouse.is_some(), "WAREHOUSE", LEAVE_OUT),
        (refresh_mode.is_some(), "REFRESH_MODE", REFRESHED),
        (initialize.is_some(), "INITIALIZE", REFRESHED),
        (global.is_some(), "a scope of a table", LEAVE_OUT),
        (*volatile, "VOLATILE", LEAVE_OUT),
        (*iceberg, "ICEBERG", LEAVE_OUT),
        (*snapshot, "SNAPSHOT", LEAVE_OUT),
        (file_format.is_some(), "STORED AS", LEAVE_OUT),
        (location.is_some(), "LOCATION", LEAVE_OUT),
        (*without_rowid, "WITHOUT ROWID", LEAVE_OUT),
        (version.is_some(), "a version of a table", LEAVE_OUT),
        (comment.is_some(), "COMMENT", LEAVE_OUT),
        (on_cluster.is_some(), "ON CLUSTER", LEAVE_OUT),
        (
            primary_key.is_some(),
            "PRIMARY KEY",
            "write it among the columns",
        ),
        (order_by.is_some(), "ORDER BY", LEAVE_OUT),
        (cluster_by.is_some(), "CLUSTER BY", LEAVE_OUT),
        (clustered_by.is_some(), "CLUSTERED BY", LEAVE_OUT),
        (partition_of.is_some(), "PARTITION OF", LEAVE_OUT),
        (for_values.is_some(), "FOR VALUES", LEAVE_OUT),
        (*strict, "STRICT", LEAVE_OUT),
        (*copy_grants, "COPY GRANTS", LEAVE_OUT),
        (
            enable_schema_evolution.is_some(),
            "ENABLE_SCHEMA_EVOLUTION",
            LEAVE_OUT,
        ),
        (change_tracking.is_some(), "CHANGE_TRACKING", LEAVE_OUT),
        (
            data_retention_time_in_days.is_some(),
            "DATA_RETENTION_TIME_IN_DAYS",
            LEAVE_OUT,
        ),
        (
            max_data_extension_time_in_days.is_some(),
            "MAX_DATA_EXTENSION_TIME_IN_DAYS",
            LEAVE_OUT,
        ),
        (
            default_ddl_collation.is_some(),
            "DEFAULT_DDL_COLLATION",
            LEAVE_OUT,
        ),
        (
            with_aggregation_policy.is_some(),
            "AGGREGATION POLICY",
            LEAVE_OUT,
        ),
        (
            with_row_access_policy.is_some(),
            "ROW ACCESS POLICY",
            LEAVE_OUT,
        ),
        (
            with_storage_lifecycle_policy.is_some(),
            "STORAGE LIFECYCLE POLICY",
            LEAVE_OUT,
        ),
        (with_tags.is_some(), "TAG", LEAVE_OUT),
        (external_volume.is_some(), "EXTERNAL_VOLUME", LEAVE_OUT),
        (base_location.is_some(), "BASE_LOCATION", LEAVE_OUT),
        (catalog.is_some(), "CATALOG", LEAVE_OUT),
        (catalog_sync.is_some(), "CATALOG_SYNC", LEAVE_OUT),
        (
            storage_serialization_policy.is_some(),
            "STORAGE_SERIALIZATION_POLICY",
            LEAVE_OUT,
        ),
        (*require_user, "REQUIRE USER", LEAVE_OUT),
        (diststyle.is_some(), "DISTSTYLE", LEAVE_OUT),
        (distkey.is_some(), "DISTKEY", LEAVE_OUT),
        (sortkey.is_some(), "SORTKEY", LEAVE_OUT),
        (backup.is_some(), "BACKUP", LEAVE_OUT),
    ];
    // Most of these words precede the name of the table.
    none_of(&clauses, Span::empty)?;
    match hive_distribution {
        HiveDistributionStyle::NONE => {}
        HiveDistributionStyle::PARTITIONED { columns: _ } => {
            return unread("PARTITIONED BY", LEAVE_OUT, name.span());
        }
        HiveDistributionStyle::SKEWED {
            columns: _,
            on: _,
            stored_as_directories: _,
        } => return unread("SKEWED BY", LEAVE_OUT, name.span()),
    }
    if let Some(HiveFormat {
        row_format,
        serde_properties,
        storage,
        location,
    }) = hive_formats
    {
        let clauses = [
            (row_format.is_some(), "ROW FORMAT", LEAVE_OUT),
            (
                serde_properties.is_some(),
                "WITH SERDEPROPERTIES",
                LEAVE_OUT,
            ),
            (storage.is_some(), "STORED AS", LEAVE_OUT),
            (location.is_some(), "LOCATION", LEAVE_OUT),
        ];
        none_of(&clauses, || name.span())?;
    }
    columns.iter().try_for_each(of_column)?;
    constraints.iter().try_for_each(of_constraint)
}

fn of_column(column: &ColumnDef) -> Checked {
    let ColumnDef {
        name: _,
        data_type: _,
        options,
    } = column;
    for ColumnOptionDef { name: _, option } in options {
        if let ColumnOption::PrimaryKey(key) = option {
            of_primary_key(key)?;
        }
        if let ColumnOption::Unique(key) = option {
            of_unique(key)?;
        }
    }
    READ
}

fn of_constraint(constraint: &TableConstraint) -> Checked {
    if let TableConstraint::PrimaryKey(key) = constraint {
        return of_primary_key(key);
    }
    if let TableConstraint::Unique(key) = constraint {
        return of_unique(key);
    }
    READ
}

fn of_primary_key(key: &PrimaryKeyConstraint) -> Checked {
    let PrimaryKeyConstraint {
        name: _,
        index_name: _,
        index_type: _,
        columns,
        index_options: _,
        characteristics,
    } = key;
    of_key_columns(columns)?;
    let late = (
        characteristics.is_some(),
        "DEFERRABLE",
        "a key holds at each statement; leave it out",
    );
    none_of(&[late], || key.span())
}

fn of_unique(key: &UniqueConstraint) -> Checked {
    let UniqueConstraint {
        name: _,
        index_name: _,
        index_type_display: _,
        index_type: _,
        columns,
        index_options: _,
        characteristics,
        nulls_distinct,
    } = key;
    of_key_columns(columns)?;
    match nulls_distinct {
        NullsDistinctOption::None | NullsDistinctOption::Distinct => {}
        NullsDistinctOption::NotDistinct => {
            return unread("NULLS NOT DISTINCT", LEAVE_OUT, Span::empty());
        }
    }
    let late = (
        characteristics.is_some(),
        "DEFERRABLE",
        "a key holds at each statement; leave it out",
    );
    none_of(&[late], || key.span())
}

fn of_key_columns(columns: &[IndexColumn]) -> Checked {
    for IndexColumn {
        column,
        operator_class,
    } in columns
    {
        query::of_keys(std::slice::from_ref(column))?;
        let class = (operator_class.is_some(), "an operator class", LEAVE_OUT);
        none_of(&[class], || column.expr.span())?;
    }
    READ
}
