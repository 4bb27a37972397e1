package redact

import "reflect"

// Value redacts every string in what v points to: fields, elements and the
// values of maps. Lists of strings are taken as consecutive lines. It is the one
// place through which whatever a face says has passed.
func Value(v any) {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && !p.IsNil() {
		walk(p.Elem())
	}
}

func walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(Text(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i))
			}
		}
	case reflect.Slice:
		if lines, ok := reflect.TypeAssert[[]string](v); ok {
			copy(lines, Lines(lines))
			return
		}
		for i := range v.Len() {
			walk(v.Index(i))
		}
	case reflect.Map:
		walkMap(v)
	}
}

// walkMap also cleans the keys: a metric's name comes from a log.
func walkMap(v reflect.Value) {
	if v.Type().Key().Kind() != reflect.String {
		return
	}
	for _, k := range v.MapKeys() {
		key := reflect.New(k.Type()).Elem()
		key.SetString(Text(k.String()))
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(v.MapIndex(k))
		walk(e)
		if key.String() != k.String() {
			v.SetMapIndex(k, reflect.Value{})
		}
		v.SetMapIndex(key, e)
	}
}
