package results

import (
	"database/sql"
	"errors"
)

// Finish writes the file anew in point order and puts it in the place of the
// old one, which is closed. The new file's bytes depend on the study and the
// outcomes alone: tables are filled in point order, in one transaction, by one
// connection, into an empty file.
func (f *File) Finish() error {
	s, err := f.Study()
	if err != nil {
		return err
	}
	points, err := f.Points()
	if err != nil {
		return err
	}
	states, err := f.States()
	if err != nil {
		return err
	}
	complete := len(points) == s.Points
	for _, p := range points {
		complete = complete && states[p] != Lost
	}
	err = create(f.path, func(tx *sql.Tx) error {
		if err := putStudy(tx, s, complete); err != nil {
			return err
		}
		known := names{}
		for _, p := range points {
			r, err := f.Get(p)
			if err != nil {
				return err
			}
			if err := putRecord(tx, r, known); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, f.Close())
}
