package mlflow

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strconv"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// db is a store in a SQLite file, which is only read.
type db struct {
	*sql.DB
	path, name string // name is what evidence calls it
}

// openDB opens a SQLite file; name is what evidence calls it. A file whose writer
// died in the middle of a change cannot be set right without writing: it is read
// as it lies.
func openDB(path, name string) (store, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, source.Reason("mlflow", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("mlflow: %s is no file: %w", path, source.ErrBadTarget)
	}
	d, err := connect(path, "mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if code := codeOf(err); code == sqlite3.SQLITE_READONLY || code == sqlite3.SQLITE_CANTOPEN {
		d, err = connect(path, "mode=ro&immutable=1")
	}
	if err != nil {
		return nil, reason(path, err)
	}
	return &db{d, path, name}, nil
}

func connect(path, options string) (*sql.DB, error) {
	d, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+options)
	if err != nil {
		return nil, err
	}
	d.SetMaxOpenConns(1)
	var n int
	// A view in a table's place could be a query without an end.
	if err := d.QueryRow("SELECT coalesce(sum(CASE type WHEN 'table' THEN name IN ('runs', 'metrics') WHEN 'view' THEN -9 ELSE 0 END), 0) FROM sqlite_master").Scan(&n); err != nil {
		d.Close() //nolint:errcheck // it was only read
		return nil, err
	}
	if n < 2 {
		d.Close() //nolint:errcheck // it was only read
		return nil, errNoStore
	}
	return d, nil
}

var errNoStore = errors.New("it has no tables of MLflow")

// codeOf is the primary code of SQLite's error, 0 for any other.
func codeOf(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

func reason(path string, err error) error {
	switch code := codeOf(err); {
	case errors.Is(err, errNoStore), code == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("mlflow: %s is no MLflow store: %w; name the file that sqlite:///… of the run's MLFLOW_TRACKING_URI names: %w", path, err, source.ErrBadTarget)
	case code == sqlite3.SQLITE_BUSY, code == sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("mlflow: %s is locked by a writer; try again: %w: %w", path, err, source.ErrUnreachable)
	case code == sqlite3.SQLITE_PERM, code == sqlite3.SQLITE_AUTH, code == sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("mlflow: %s: this user may not read it; run as its owner, or copy it to where you may: %w: %w", path, err, source.ErrDenied)
	case code == sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("mlflow: %s is damaged; `sqlite3 %s .recover` may save what is in it: %w: %w", path, path, err, source.ErrNoEvidence)
	}
	return fmt.Errorf("mlflow: %s: %w", path, err)
}

func (d *db) close() error { return d.Close() }

// find implements store.
func (d *db) find(ctx context.Context, want string) (best string, others []other, err error) {
	rows, err := d.QueryContext(ctx, `SELECT run_uuid, coalesce(name, '') FROM runs
		WHERE coalesce(lifecycle_stage, '') <> 'deleted' AND (?1 = '' OR run_uuid = ?1 OR name = ?1) ORDER BY start_time DESC LIMIT ?2`, want, source.MaxOthers+1)
	if err != nil {
		return "", nil, reason(d.name, err)
	}
	defer rows.Close() //nolint:errcheck // it was only read
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return "", nil, reason(d.name, err)
		}
		if best == "" {
			best = id
		} else {
			others = append(others, other{named(name, id), "sqlite:///" + d.path + "#" + id})
		}
	}
	switch err := rows.Err(); {
	case err != nil:
		return "", nil, reason(d.name, err)
	case best == "" && want != "":
		return "", nil, fmt.Errorf("mlflow: %s has no run %s: %w", d.name, want, source.ErrNotFound)
	case best == "":
		return "", nil, fmt.Errorf("mlflow: %s holds no run: %w", d.name, source.ErrNotFound)
	}
	return best, others, nil
}

// info implements store.
func (d *db) info(ctx context.Context, id string) (*info, error) {
	i := &info{id: id, from: d.name, params: map[string]string{}, tags: map[string]string{}}
	var name, status sql.NullString
	var start, end sql.NullInt64
	err := d.QueryRowContext(ctx, "SELECT name, status, start_time, end_time FROM runs WHERE run_uuid = ?", id).Scan(&name, &status, &start, &end)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("mlflow: %s has no run %s any more: %w", d.name, id, source.ErrNotFound)
	} else if err != nil {
		return nil, reason(d.name, err)
	}
	i.name, i.status, i.start, i.end = name.String, status.String, milliseconds(start.Int64), milliseconds(end.Int64)
	for table, out := range map[string]map[string]string{"params": i.params, "tags": i.tags} {
		rows, err := d.QueryContext(ctx, "SELECT key, value FROM "+table+" WHERE run_uuid = ? LIMIT "+strconv.Itoa(maxValues), id)
		if err != nil {
			return nil, reason(d.name, err)
		}
		for rows.Next() {
			var k, v sql.NullString
			if rows.Scan(&k, &v) == nil {
				out[k.String] = v.String
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, reason(d.name, err)
		}
	}
	return i, nil
}

const rowKey = "mlflow.row"

// history implements store. Rows are in the order in which they were logged: a
// look goes on behind the last row of the one before. The driver is asked itself:
// a third of the time would go into conversions that database/sql makes.
func (d *db) history(ctx context.Context, i *info, since run.Cursor, obs *run.Observation) error {
	last, _ := strconv.ParseInt(since[rowKey], 10, 64)
	conn, err := d.Conn(ctx)
	if err != nil {
		return reason(d.name, err)
	}
	defer conn.Close() //nolint:errcheck // it was only read
	err = conn.Raw(func(c any) error {
		asks, ok := c.(driver.QueryerContext)
		if !ok {
			return errors.New("the driver takes no questions")
		}
		rows, err := asks.QueryContext(ctx, `SELECT rowid, key, CASE WHEN is_nan THEN NULL ELSE value END, timestamp, step FROM metrics
			WHERE run_uuid = ? AND rowid > ? ORDER BY rowid LIMIT ?`, []driver.NamedValue{{Ordinal: 1, Value: i.id}, {Ordinal: 2, Value: last}, {Ordinal: 3, Value: int64(maxSamples + 1)}})
		if err != nil {
			return err
		}
		defer rows.Close() //nolint:errcheck // it was only read
		last, err = d.take(rows, last, obs)
		return err
	})
	obs.Next[rowKey] = strconv.FormatInt(last, 10)
	if err != nil && ctx.Err() == nil {
		obs.Gaps = append(obs.Gaps, run.Gap{What: d.name, Why: reason(d.name, err).Error(), Ask: "an undamaged copy of the store"})
	}
	return ctx.Err()
}

// take takes rows until the look has enough, and gives the last one's number.
func (d *db) take(rows driver.Rows, last int64, obs *run.Observation) (int64, error) {
	names := map[string]string{} // each is kept once
	row := make([]driver.Value, 5)
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return last, nil
		} else if err != nil {
			return last, err
		}
		if len(obs.Samples) >= maxSamples {
			obs.More = true
			return last, nil
		}
		number, _ := row[0].(int64)
		key, _ := row[1].(string)
		at, _ := row[3].(int64)
		step, _ := row[4].(int64)
		name, ok := names[key]
		if !ok {
			name = key
			names[name] = name
		}
		if last = number; obs.Samples == nil { // most looks see none
			obs.Samples = make([]run.Sample, 0, maxSamples)
		}
		obs.Samples = append(obs.Samples, run.Sample{
			Name: name, Step: step, Value: unmask(row[2]), At: milliseconds(at), Ref: run.Ref{File: d.name, Offset: number}, Tracker: "mlflow",
		})
	}
}

// unmask gives a value back what a database cannot hold: NaN, which is 0 with a
// mark, comes as NULL; infinities are the largest numbers.
func unmask(v driver.Value) float64 {
	const largest = 1.7976931348623157e308
	f, ok := v.(float64)
	if n, whole := v.(int64); whole {
		f, ok = float64(n), true
	}
	switch {
	case !ok:
		return math.NaN()
	case f >= largest:
		return math.Inf(1)
	case f <= -largest:
		return math.Inf(-1)
	}
	return f
}
