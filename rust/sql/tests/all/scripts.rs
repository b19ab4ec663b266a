//! Scripts: their statements, with their places, and any separators between them.

use ringview_core::{Error, Result, SqlProblem, Type};
use ringview_sql::{
    AlterColumns, Conflict, Constants, Dialect, Parameter, Parameters, Stated, Statement, script,
};

fn read(text: &str) -> Result<Vec<Stated>> {
    script(text, Dialect::DuckDb, &Parameters::default())
}

fn one(text: &str) -> Statement {
    let mut all = read(text).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0).statement
}

fn refusal(text: &str) -> (SqlProblem, String, Option<(u64, u64)>) {
    match read(text) {
        Err(Error::Sql {
            problem,
            message,
            position,
        }) => (problem, message, position.map(|at| (at.line, at.column))),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn semicolons_tell_statements_apart_but_in_quotes_and_comments() {
    let text =
        ";; SELECT ';' AS a -- no; end\n; /* ; */ BEGIN\n;\n  DELETE FROM \"a;b\" WHERE x = ';';";
    let all = read(text).unwrap();
    let lines: Vec<Option<u64>> = all.iter().map(|one| one.at.map(|at| at.line)).collect();
    assert_eq!(lines, [Some(1), Some(2), Some(4)]);
    assert!(matches!(all[0].statement, Statement::Select(_)));
    assert!(matches!(all[1].statement, Statement::Begin));
    let Statement::Delete(delete) = &all[2].statement else {
        panic!("{:?}", all[2]);
    };
    assert_eq!(delete.table.as_str(), "a;b");
}

#[test]
fn what_is_wrong_has_its_place_in_the_script() {
    for (text, at, words) in [
        ("SELECT 1;\nUPDATE r SET", (2, 10), "ends too early"),
        ("SELECT 1; SELEC 2", (1, 11), "did you mean SELECT"),
        (
            "BEGIN;\n\n INSERT INTOO r VALUES (1)",
            (3, 9),
            "did you mean INTO",
        ),
        ("SELECT 1; SELECT 'x", (1, 18), "a quote is left open"),
        (
            "SELECT 1;\n CREATE TABLE t (a INT, b UUID)",
            (2, 25),
            "UUID is not stored",
        ),
        ("SELECT 1;\n DROP VIEW a, b", (2, 2), "a statement for each"),
        ("DELETE FROM r WHERE a = 1 2", (1, 27), "end of statement"),
    ] {
        let (_, message, found) = refusal(text);
        assert_eq!(found, Some(at), "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(refusal(" -- nothing").2, None);
}

#[test]
fn a_name_is_found_as_it_is_spelt_before_it_is_found_without_case() {
    let Statement::Delete(delete) = one("DELETE FROM \"R\"") else {
        panic!("no DELETE");
    };
    let known = |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.into()).collect() };
    assert_eq!(delete.table.table(&known(&["r", "R"])).unwrap(), "R");
    assert_eq!(delete.table.table(&known(&["r", "s"])).unwrap(), "r");
    let missing = delete.table.table(&known(&["rr"])).unwrap_err().to_string();
    assert!(
        missing.contains("line 1, column 13") && missing.contains("did you mean \"rr\""),
        "{missing}"
    );
}

#[test]
fn a_view_keeps_its_own_text_with_its_own_parameters() {
    let given = Parameters {
        positional: [1, 2, 3].map(Parameter::Int).to_vec(),
        named: [("k".to_owned(), Parameter::Text("t".to_owned()))].into(),
    };
    let text = "DELETE FROM r WHERE a = ?; CREATE VIEW v AS\n  SELECT ? AS x, :k AS k, $2 AS y FROM r -- all\n WHERE a < $3;";
    let all = script(text, Dialect::DuckDb, &given).unwrap();
    let Statement::CreateView(view) = &all[1].statement else {
        panic!("{:?}", all[1]);
    };
    let kept = view.query.text().unwrap();
    assert_eq!(
        kept,
        "SELECT $1 AS x, :k AS k, $1 AS y FROM r -- all\n WHERE a < $2"
    );
}

#[test]
fn each_parameter_has_a_value_and_each_value_is_used() {
    let (problem, message, at) = refusal("SELECT 1; SELECT ?");
    assert_eq!(
        (problem, at),
        (SqlProblem::Value, Some((1, 18))),
        "{message}"
    );
    let given = Parameters {
        positional: vec![Parameter::Null; 2],
        ..Parameters::default()
    };
    let unused = script("SELECT ?", Dialect::DuckDb, &given).unwrap_err();
    assert!(unused.to_string().contains("no parameter $2"), "{unused}");
    assert!(script("SELECT ?; SELECT ?", Dialect::DuckDb, &given).is_ok());
}

#[test]
fn types_mean_what_their_dialect_means() {
    let types = |dialect: Dialect, name: &str| {
        let all = script(
            &format!("CREATE TABLE t (x {name})"),
            dialect,
            &Parameters::default(),
        );
        match all.map(|mut all| all.remove(0).statement) {
            Ok(Statement::CreateTable(table)) => Ok(table.schema.unwrap().fields()[0].ty.clone()),
            Ok(other) => panic!("{other:?}"),
            Err(problem) => Err(problem.to_string()),
        }
    };
    let decimal = |precision, scale| Type::Decimal { precision, scale };
    assert_eq!(types(Dialect::DuckDb, "FLOAT"), Ok(Type::Float32));
    assert_eq!(types(Dialect::Postgres, "FLOAT"), Ok(Type::Float64));
    assert_eq!(types(Dialect::Postgres, "FLOAT(24)"), Ok(Type::Float32));
    assert_eq!(types(Dialect::DuckDb, "DECIMAL"), Ok(decimal(18, 3)));
    assert_eq!(types(Dialect::Spark, "DECIMAL"), Ok(decimal(10, 0)));
    assert_eq!(types(Dialect::BigQuery, "NUMERIC"), Ok(decimal(38, 9)));
    assert_eq!(types(Dialect::Snowflake, "NUMBER(9, 2)"), Ok(decimal(9, 2)));
    for (dialect, name) in [
        (Dialect::Postgres, "NUMERIC"),
        (Dialect::DuckDb, "DECIMAL(39, 0)"),
        (Dialect::DuckDb, "DECIMAL(5, 6)"),
        (Dialect::DuckDb, "BLOB"),
        (Dialect::DuckDb, "INTEGER[]"),
        (Dialect::DuckDb, "STRUCT(a INT)"),
        (Dialect::Postgres, "TIMESTAMP(12)"),
        (Dialect::Postgres, "JSONB"),
    ] {
        let said = types(dialect, name).unwrap_err();
        assert!(said.contains("column \"x\""), "{said}");
    }
}

#[test]
fn rows_whose_key_is_there() {
    let conflict = |rest: &str| match one(&format!("INSERT {rest}")) {
        Statement::Insert(insert) => insert.conflict,
        other => panic!("{other:?}"),
    };
    assert!(matches!(conflict("INTO r VALUES (1)"), Conflict::Refuse));
    assert!(matches!(
        conflict("OR REPLACE INTO r VALUES (1)"),
        Conflict::Replace
    ));
    assert!(matches!(
        conflict("OR IGNORE INTO r VALUES (1)"),
        Conflict::Keep
    ));
    assert!(matches!(
        conflict("INTO r VALUES (1) ON CONFLICT DO NOTHING"),
        Conflict::Keep
    ));
    match conflict("INTO r VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.B") {
        Conflict::Set(columns) => assert_eq!(columns[0].as_str(), "b"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn changes_of_columns() {
    let change = |rest: &str| match one(&format!("ALTER TABLE r {rest}")) {
        Statement::Alter(alter) => alter.change,
        other => panic!("{other:?}"),
    };
    match change("ADD COLUMN IF NOT EXISTS c DECIMAL(5, 1) NOT NULL DEFAULT 1 + 1") {
        AlterColumns::Add {
            field,
            value: Some(_),
            if_not_exists: true,
            ..
        } => assert!(!field.nullable),
        other => panic!("{other:?}"),
    }
    assert!(matches!(
        change("ADD c INT"),
        AlterColumns::Add { value: None, .. }
    ));
    assert!(matches!(
        change("DROP COLUMN IF EXISTS c"),
        AlterColumns::Drop {
            if_exists: true,
            ..
        }
    ));
    assert!(matches!(
        change("RENAME a TO b"),
        AlterColumns::Rename { .. }
    ));
    assert!(matches!(
        change("RENAME TO b"),
        AlterColumns::RenameTable(_)
    ));
    let wider = |rest| match change(rest) {
        AlterColumns::Widen { to, .. } => to,
        other => panic!("{other:?}"),
    };
    assert_eq!(wider("ALTER COLUMN a TYPE BIGINT"), Type::Int64);
    assert_eq!(wider("ALTER a SET DATA TYPE DOUBLE"), Type::Float64);
}

#[test]
fn constants_of_one_kind_are_read_without_a_query() {
    let constants = |values: &str| match one(&format!("INSERT INTO r VALUES {values}")) {
        Statement::Insert(insert) => insert.rows.constants(),
        other => panic!("{other:?}"),
    };
    let texts = Constants::Text(vec![None, Some("it's".to_owned())]);
    assert_eq!(
        constants("(1, NULL, TRUE, NULL), (-(2), 'it''s', NULL, DEFAULT)"),
        Some(vec![
            Constants::Int(vec![Some(1), Some(-2)]),
            texts,
            Constants::Bool(vec![Some(true), None]),
            Constants::Null(2),
        ])
    );
    let decimals = Constants::Decimal(vec![Some(-150), None], 2);
    assert_eq!(constants("(-1.50), (NULL)"), Some(vec![decimals]));
    for query in [
        "(1), ('1')",
        "(1.5), (2.25)",
        "(1 + 1)",
        "(1e3)",
        "(DATE '2024-01-01')",
        "(- 'x')",
        "(1, 2), (3)",
    ] {
        assert_eq!(constants(query), None, "{query}");
    }
    let Statement::Insert(insert) = one("INSERT INTO r VALUES (1, 'x'), ('2', 3)") else {
        panic!("no INSERT");
    };
    let each = insert.rows.each_row().unwrap();
    assert_eq!(each.len(), 2);
    let second = [
        Constants::Text(vec![Some("2".to_owned())]),
        Constants::Int(vec![Some(3)]),
    ];
    assert_eq!(each[1].constants().as_deref(), Some(&second[..]));
}
