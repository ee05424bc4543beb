package att

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// decode is json.Unmarshal with errors in the words of JSON, not in Go's.
func decode(b []byte, v any) error {
	err := json.Unmarshal(b, v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := ""
		if e.Field != "" {
			where = "key " + e.Field + ": "
		}
		return fmt.Errorf("%s%s stands where %s is expected", where, valueName(e.Value), kindName(e.Type))
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("it is no JSON, as byte %d shows: %w", e.Offset, err)
	}
	return err
}

// valueName is what encoding/json calls a value, with its article.
func valueName(v string) string {
	switch v {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	}
	return "a " + v // "number", or "number 1.5"
}

// kindName is what a value of a Go type is in JSON.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	}
	return "a whole number"
}
