// Package report holds what a run answers, and writes it: one page of text,
// JSON, CSV. It imports no model package, and no model package imports it: sim
// fills the types here in.
//
// Every field of Run carries its JSON key, its unit and one sentence of
// meaning in struct tags. docs/json.md is generated from them, and a test
// holds that it is up to date, so the keys are documented and stable.
//
// Conventions: a dot in a documented key means nesting, rates are fractions of
// one, counts are integers, and a result without Host is the same bytes
// whenever the same run is repeated.
package report
