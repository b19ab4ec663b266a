use ringview_core::Schema;
use ringview_expr::Projection;

#[test]
fn all() {
    for text in std::fs::read_to_string("/tmp/exprs.txt").unwrap().lines() {
        match Projection::bind(None, &[text], &Schema::new(vec![]).unwrap()) {
            Err(e) => println!("{text} | ERR {e}"),
            Ok(p) => match p.evaluate(vec![], 1) {
                Err(e) => println!("{text} | ERR {e}"),
                Ok(v) => println!("{text} | {} | {:?}", p.types()[0], v.columns[0]),
            },
        }
    }
}
