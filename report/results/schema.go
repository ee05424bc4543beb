package results

// SchemaVersion is the version of the tables below. It is raised whenever a
// reader of the old tables would misread the new ones.
const SchemaVersion = 1

// applicationID marks a SQLite file as a results file ("WSKR").
const applicationID = 0x57534b52

// ddl makes an empty file. Metric names are kept once and joined by the view
// metrics: a study has hundreds of figures a point.
const ddl = `
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE axes (
  position INTEGER PRIMARY KEY,
  key      TEXT NOT NULL UNIQUE,
  "values" TEXT NOT NULL
);
CREATE TABLE machines (
  hash     TEXT NOT NULL,
  name     TEXT NOT NULL,
  cpu      TEXT NOT NULL,
  resolved TEXT NOT NULL,
  PRIMARY KEY (hash, name)
) WITHOUT ROWID;
CREATE TABLE points (
  point        INTEGER PRIMARY KEY,
  config_hash  TEXT NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('done', 'failed', 'lost')),
  message      TEXT NOT NULL,
  kernel       TEXT NOT NULL,
  kernel_hash  TEXT NOT NULL,
  machine      TEXT NOT NULL,
  machine_hash TEXT NOT NULL,
  version      TEXT NOT NULL,
  seed         INTEGER NOT NULL,
  run          TEXT NOT NULL,
  instructions BLOB NOT NULL
);
CREATE TABLE settings (
  point    INTEGER NOT NULL,
  position INTEGER NOT NULL,
  key      TEXT NOT NULL,
  value    TEXT NOT NULL,
  is_axis  INTEGER NOT NULL,
  PRIMARY KEY (point, position)
) WITHOUT ROWID;
CREATE TABLE metric_names (
  id        INTEGER PRIMARY KEY,
  component TEXT NOT NULL,
  metric    TEXT NOT NULL,
  unit      TEXT NOT NULL,
  UNIQUE (component, metric, unit)
);
CREATE TABLE metric_values (
  point INTEGER NOT NULL,
  id    INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (point, id)
) WITHOUT ROWID;
CREATE VIEW metrics AS
  SELECT v.point AS run, n.component, n.metric, n.unit, v.value
  FROM metric_values v JOIN metric_names n ON n.id = v.id
  ORDER BY v.point, v.id;
`
