"""Use an installed wheel as a new user would; run it where no checkout is importable."""

from pathlib import Path

import ringview as rv

assert ".venv/wheel-test" in Path(rv.__file__).as_posix(), rv.__file__

db = rv.Database()
db.create_table("sales", {"item": "string", "units": "int64"})
view = db.create_view("units", "SELECT item, SUM(units) AS units FROM sales GROUP BY item")
db.insert("sales", [{"item": "tea", "units": 3}, {"item": "rye", "units": 2}])
db.delete("sales", [{"item": "rye", "units": 2}])
assert view.to_arrow().to_pylist() == [{"item": "tea", "units": 3}], view.to_arrow()
print(f"ringview {rv.__version__}: the wheel installs and keeps a view fresh")
