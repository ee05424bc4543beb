package results

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	_ "github.com/glebarez/go-sqlite" // the driver "sqlite"; Akita brings the same one
)

// Error is a fault of a results file that its user must mend: it is missing, no
// results file, of another version, or of another study.
type Error struct {
	Path string
	Msg  string
}

// Error prints the file and what is wrong with it.
func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Study is what a results file says about itself.
type Study struct {
	Name        string
	Fingerprint string // of the study and the machines that it names
	Text        string // the study as it was understood, as JSON
	Version     string // Whisker's
	Points      int
	Axes        []Axis
	Complete    bool // every point is done or failed, and the file is in its final form
}

// File is an open results file.
type File struct {
	path  string
	db    *sql.DB
	names names
}

// source names a database for the driver. Readers wait for a writer's short
// transactions.
func source(path, mode string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	return u.String() + "?mode=" + mode + "&_pragma=busy_timeout(10000)"
}

func connect(path, mode string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source(path, mode))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // one writer, and pragmas hold for it
	return db, nil
}

// Create makes a results file without points. The file appears under its name
// only when it is whole.
func Create(path string, s *Study) (*File, error) {
	if err := create(path, func(tx *sql.Tx) error { return putStudy(tx, s, false) }); err != nil {
		return nil, err
	}
	return Open(path, true)
}

// create writes a new file beside path in one transaction and puts it there.
func create(path string, fill func(*sql.Tx) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return &Error{path, fmt.Sprintf("cannot be written: %v", reason(err))}
	}
	name := tmp.Name()
	defer os.Remove(name)
	if err := errors.Join(tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	db, err := connect(name, "rw")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fillNew(db, fill); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := db.Close(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return replace(name, path)
}

func fillNew(db *sql.DB, fill func(*sql.Tx) error) error {
	for _, pragma := range []string{"page_size = 4096", "journal_mode = MEMORY", "application_id = " + strconv.Itoa(applicationID),
		"user_version = " + strconv.Itoa(SchemaVersion)} {
		if _, err := db.Exec("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	return inTransaction(db, func(tx *sql.Tx) error {
		if _, err := tx.Exec(ddl); err != nil {
			return err
		}
		return fill(tx)
	})
}

// replace moves a finished file to its name, on disk before it is seen.
func replace(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(to)); err == nil {
		_ = dir.Sync() // not every file system can, and the rename stands without
		return dir.Close()
	}
	return nil
}

// Open opens a results file of this version.
func Open(path string, write bool) (*File, error) {
	mode := "ro"
	if write {
		mode = "rw"
	}
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	if write {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, &Error{path, fmt.Sprintf("cannot be written: %v", reason(err))}
		}
		f.Close()
	}
	if _, err := os.Stat(path + "-journal"); err == nil {
		mode = "rw" // a killed writer's last transaction must be undone first
	}
	db, err := connect(path, mode)
	if err != nil {
		return nil, err
	}
	f := &File{path, db, names{}}
	if err := f.checkVersion(); err != nil {
		db.Close()
		return nil, err
	}
	return f, nil
}

// checkHeader tells a SQLite file from anything else.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &Error{path, "there is no such results file; whisker sweep STUDY.yaml --out FILE makes one"}
		}
		return &Error{path, fmt.Sprintf("cannot be opened: %v", reason(err))}
	}
	defer f.Close()
	var magic [16]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "SQLite format 3\x00" {
		return &Error{path, "is no results file: it is not a SQLite database"}
	}
	return nil
}

func (f *File) checkVersion() error {
	var id, version int64
	if err := f.db.QueryRow("PRAGMA application_id").Scan(&id); err != nil {
		return &Error{f.path, fmt.Sprintf("cannot be read: %v", err)}
	}
	if id != applicationID {
		return &Error{f.path, "is a SQLite database, but no results file of whisker sweep"}
	}
	if err := f.db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		return &Error{f.path, fmt.Sprintf("cannot be read: %v", err)}
	}
	if version != SchemaVersion {
		return &Error{f.path, fmt.Sprintf("has schema version %d and this whisker reads and writes version %d: use the whisker that made it, or sweep into another file", version, SchemaVersion)}
	}
	return nil
}

// Path is the file's name.
func (f *File) Path() string { return f.path }

// Close closes the file.
func (f *File) Close() error { return f.db.Close() }

// reason drops the operation and path that the caller already names.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

func inTransaction(db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // the first error is the one to tell
		return err
	}
	return tx.Commit()
}
